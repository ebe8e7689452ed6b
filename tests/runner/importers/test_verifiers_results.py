"""Results of verifiers 0.1: failed rollouts, repeated examples, other scores, and what was executed."""

import json
import shutil
from pathlib import Path

import pytest
from loaded_module import loaded_module

from analysis.errors import AuditError

DATA = Path(__file__).parents[2] / "data" / "verifiers_results"


def lines():
    return [json.loads(line) for line in (DATA / "results.jsonl").read_text().splitlines()]


def written(folder, records):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "results.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_a_rollout_is_a_sample_of_its_example_and_a_failed_one_has_no_score(importing):
    told = importing(DATA)
    assert importing.sql("SELECT item_id, sample, score, stop_reason, n_tokens FROM evals ORDER BY ALL") == [
        ("0", 0, 1.0, "max_turns_reached", 5), ("0", 1, 1.0, "max_turns_reached", 5),
        ("1", 0, 0.0, "max_turns_reached", 5), ("1", 1, None, "max_turns_reached", 5),
        ("2", 0, 1.0, "max_turns_reached", 5), ("2", 1, 1.0, "max_turns_reached", 5),
        ("3", 0, 0.0, "length", 5), ("3", 1, 0.0, "length", 5),
    ]  # fmt: skip
    assert importing.sql("SELECT error, completion FROM evals WHERE score IS NULL") == [
        ("Error('the provider answered 503')", None)
    ]
    assert "1 rollout with an error: no score, where the file has reward 0" in told


def test_metadata_beside_the_results_gives_the_settings(importing):
    importing(DATA)
    assert importing.manifest.arms[0].settings == {
        "model": "made-model", "evaluation.temperature": 0.7, "evaluation.max_tokens": 64,
        "evaluation.samples_per_item": 2,
    }  # fmt: skip
    assert importing.manifest.source["env_id"] == "made-env"
    assert [file["name"] for file in importing.manifest.source["files"]] == ["results.jsonl", "metadata.json"]


def test_fewer_lines_than_the_metadata_says_are_told(importing, tmp_path):
    path = written(tmp_path / "cut", lines()[:5])
    shutil.copy(DATA / "metadata.json", path.parent)
    assert "4 examples of 2 rollouts, and 5 lines stand there" in importing(path)


def test_another_metric_can_be_the_score(importing, audit, tmp_path):
    records = [record | {"reward": 2.5} for record in lines()]
    path = written(tmp_path / "weighted", records)
    assert "no score from 0 to 1" in audit.refuses("import", path, "--dry-run")
    audit("import", path, "--map", "score=correct_answer", "--out", importing.out)
    assert audit.code == 0, audit.err
    assert importing.sql("SELECT avg(score) FROM evals") == [(pytest.approx(4 / 7),)]
    message = audit.refuses("import", path, "--map", "score=format", "--dry-run")
    assert "line 1, item 0: has no metric format (metrics: correct_answer, length)" in message


def test_examples_of_several_tasks_are_told_apart(importing, tmp_path):
    records = [record | {"task": task} for task in ("gsm8k", "math") for record in lines()[::2]]
    importing(written(tmp_path, records))
    assert importing.sql("SELECT DISTINCT item_id FROM evals ORDER BY ALL LIMIT 2") == [("gsm8k/0",), ("gsm8k/1",)]
    assert importing.sql("SELECT max(sample) FROM evals") == [(0,)]


def test_lines_of_earlier_releases_with_texts_are_read(importing, tmp_path):
    record = {
        "example_id": 3, "prompt": "2 + 2?", "completion": "4", "task": "default", "reward": 1.0, "answer": "4",
        "error": None, "generation_ms": 3.0, "scoring_ms": 1.0, "total_ms": 4.0, "exact": 1.0,
    }  # fmt: skip
    assert "keys exact: not known" in importing(written(tmp_path, [record]))
    assert importing.sql("SELECT item_id, completion, question FROM evals JOIN prompts USING (prompt_id)") == [
        ("3", "4", "2 + 2?")
    ]


def test_several_turns_are_refused_with_the_item(importing, tmp_path):
    records = lines()
    records[2]["completion"] = [{"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}]
    with pytest.raises(AuditError, match="line 3, item 1: a rollout of 2 turns"):
        importing(written(tmp_path, records))


def test_two_evaluations_are_compared(importing, tmp_path, audit):
    written(tmp_path / "better", [record | {"reward": 1.0, "error": None} for record in lines()])
    written(tmp_path / "plain", [record | {"error": None} for record in lines()])
    audit(
        "import", "--arm", f"baseline={tmp_path / 'plain'}", "--arm", f"treatment={tmp_path / 'better'}",
        "--out", importing.out,
    )  # fmt: skip
    assert audit.code == 0, audit.err
    audit("decide", importing.out, "--format", "json")
    assert json.loads(audit.out)["criteria"][0]["estimate"] == pytest.approx(0.5)


@pytest.mark.formats
def test_what_verifiers_writes_afresh_is_imported(importing, tmp_path):
    pytest.importorskip("verifiers.utils.save_utils", reason="needs verifiers 0.1")
    module = loaded_module(DATA / "write.py")
    module.write(tmp_path)
    importing(tmp_path)
    assert importing.sql("SELECT count(*), count(score) FROM evals") == [(8, 7)]
