import json
from pathlib import Path

import pytest

from analysis.errors import AuditError

SAMPLE = Path(__file__).parents[2] / "data" / "gsm8k" / "solutions.jsonl"
WHOLE = Path(__file__).parents[4] / "shared" / "data" / "gsm8k" / "example_model_solutions.jsonl"


@pytest.fixture
def changed(importing, tmp_path):
    """Import the sample with its records changed in place."""

    def changed(change):
        records = [json.loads(line) for line in SAMPLE.read_text().splitlines()]
        change(records)
        path = tmp_path / "changed.jsonl"
        path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
        return importing("gsm8k-solutions", path)

    return changed


def test_each_model_is_an_arm_of_its_own_name_until_a_role_is_given(importing):
    importing(SAMPLE, arms=[("baseline", "6b_finetuning")])
    assert [(arm.arm, arm.role) for arm in importing.manifest.arms] == [
        ("baseline", "baseline"), ("6b_verification", "other"), ("175b_finetuning", "other"),
        ("175b_verification", "other"),
    ]  # fmt: skip


def test_text_label_gold_and_question_are_the_files_and_nothing_is_added(importing):
    importing(SAMPLE)
    first = json.loads(SAMPLE.read_text().splitlines()[0])
    query = "SELECT * EXCLUDE (arm, seed) FROM evals WHERE arm = '175b_verification' AND item_id = 'gsm8k-test-0000'"
    ((_, _, _, score, correct, extracted, gold, completion, *_),) = importing.sql(query)
    assert (completion, correct, score) == (first["175b_verification"]["solution"], True, 1.0)
    assert (gold, extracted) == ("18", None)
    ((question, token_ids),) = importing.sql(
        "SELECT question, token_ids FROM evals JOIN prompts USING (prompt_id) "
        "WHERE arm = '6b_finetuning' AND item_id = 'gsm8k-test-0000'"
    )
    assert (question, token_ids) == (first["question"], None)


def test_solutions_without_an_answer_line_are_counted(changed):
    def cut(records):
        records[0]["6b_finetuning"]["solution"] = "I do not know"

    assert "2 of 32 solutions have no answer line" in changed(cut)  # one is cut off as published


def test_the_gold_is_the_last_answer_line(changed, importing):
    changed(lambda records: records[0].update(ground_truth="A: 4 is wrong\nso\nA:  18 \n"))
    assert importing.sql("SELECT DISTINCT gold FROM evals WHERE item_id = 'gsm8k-test-0000'") == [("18",)]


def test_a_key_that_stands_twice_in_one_object_is_refused(importing, tmp_path):
    path = tmp_path / "twice.jsonl"
    text = SAMPLE.read_text()
    path.write_text(text.replace('"is_correct": false', '"is_correct": true, "is_correct": false', 1))
    with pytest.raises(AuditError, match=r'line 1: .*key "is_correct" stands twice'):
        importing(path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda r: r.append(r[0]), "line 9: the question stands twice, first in .*line 1"),
        (lambda r: r[3].pop("6b_finetuning"), 'line 4: there is no "6b_finetuning"'),
        (lambda r: r[2]["6b_finetuning"].update(is_correct=1), "line 3, 6b_finetuning.*true or false"),
        (lambda r: r[2]["6b_finetuning"].pop("solution"), 'line 3, 6b_finetuning: there is no "solution"'),
        (lambda r: r[1].update(ground_truth="so it is 3"), "line 2.*no answer line"),
        (lambda r: r[0].update(question=None), 'line 1: "question" is None'),
    ],
)
def test_a_fault_names_its_line(changed, change, said):
    with pytest.raises(AuditError, match=said):
        changed(change)


def test_hostile_text_comes_out_as_it_went_in(changed, importing):
    hostile = "a\x00b\u2028\"'; DROP TABLE evals; --\x1b[31m" + "x" * 1_000_000
    changed(lambda records: records[0]["6b_finetuning"].update(solution=hostile))
    query = "SELECT completion FROM evals WHERE arm = '6b_finetuning' AND item_id = 'gsm8k-test-0000'"
    assert importing.sql(query) == [(hostile,)]


def test_an_arm_that_is_not_there_names_the_nearest(importing):
    with pytest.raises(AuditError, match='did you mean "6b_finetuning"'):
        importing(SAMPLE, arms=[("baseline", "6b_finetunin")])


@pytest.mark.skipif(not WHOLE.is_file(), reason="the whole file is not part of the repository")
def test_the_whole_file_gives_the_published_counts(importing):
    told = importing(WHOLE)
    counts = importing.sql("SELECT arm, sum(score)::INT, count(*) FROM evals GROUP BY arm ORDER BY 2")
    assert counts == [
        ("6b_finetuning", 286, 1319), ("175b_finetuning", 458, 1319), ("6b_verification", 515, 1319),
        ("175b_verification", 742, 1319),
    ]  # fmt: skip
    assert "11 of 5,276 solutions have no answer line" in told
