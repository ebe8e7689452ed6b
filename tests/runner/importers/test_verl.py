import importlib.util
import json
import shutil
from pathlib import Path

import pytest
from loaded_module import loaded_module

from analysis.errors import AuditError
from audits.engine.audit import run_audit
from audits.store.reader import connect

LOG = Path(__file__).parents[2] / "data" / "verl"


@pytest.fixture
def log(tmp_path):
    """A copy of what verl's own functions wrote."""
    return Path(shutil.copytree(LOG, tmp_path / "log", ignore=shutil.ignore_patterns("*.py", "*.md", "__pycache__")))


def rewrite(path, change):
    records = [json.loads(line) for line in path.read_text().splitlines()]
    change(records)
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))


def status(importing, audit_id):
    with connect(importing.run) as connection:
        return run_audit(connection, importing.run, audit_id).check.status


@pytest.mark.formats
def test_the_sample_is_what_verl_writes(tmp_path):
    for tool in ("verl", "orjson"):
        if importlib.util.find_spec(tool) is None:
            pytest.skip(f"{tool} is not installed")
    module = loaded_module(LOG / "write.py")
    module.write_log(tmp_path)
    written = {path.relative_to(tmp_path): path.read_text() for path in tmp_path.rglob("*.*")}
    assert len(written) == 7
    assert written == {path: (LOG / path).read_text() for path in written}


def test_a_folder_gives_rollouts_validations_and_figures(importing, log):
    told = importing(log)
    assert importing.sql("SELECT step, list(reward ORDER BY rollout_id) FROM rollouts GROUP BY step ORDER BY step") == [
        (1, [1.0, -1.0, 1.0, -1.0]), (2, [1.0, 1.0, -1.0, 1.0])
    ]  # fmt: skip
    assert importing.sql("SELECT checkpoint, sum(score) FROM evals GROUP BY ALL ORDER BY ALL") == [
        ("final", 3.0), ("step000000", 1.0), ("step000001", 2.0)
    ]  # fmt: skip
    assert importing.sql("SELECT step, value FROM scalars WHERE name = 'critic/score/mean' ORDER BY step") == [
        (1, 0.5), (2, -0.25)
    ]  # fmt: skip
    assert importing.sql("SELECT DISTINCT split FROM prompts ORDER BY split") == [("train",), ("validation",)]
    assert "the last, of step 2, is final" in told
    assert "files console.txt: not read" in told


def test_rollouts_of_one_input_are_a_group_and_nothing_else_is_made_up(importing, log):
    importing(log / "rollout")
    groups = "SELECT group_id, count(*), count(DISTINCT prompt_id) FROM rollouts GROUP BY ALL ORDER BY 1"
    assert importing.sql(groups) == [(0, 4, 1), (1, 4, 1)]
    assert importing.sql("SELECT count(n_tokens), count(advantage), count(stop_reason) FROM rollouts") == [(0, 0, 0)]
    assert [status(importing, name) for name in ("truncation", "group_advantages", "token_rows")] == [
        "inconclusive"
    ] * 3
    assert status(importing, "zero_signal") == "pass"


def test_a_stated_data_row_is_the_group(importing, log):
    def same_input(rows):
        for number, row in enumerate(rows):
            row.update(input="x", gts="1", uid=f"row{number // 2}_{number % 2}_0")

    rewrite(log / "rollout" / "1.jsonl", same_input)
    importing(log / "rollout" / "1.jsonl")
    assert importing.sql("SELECT list(group_id ORDER BY rollout_id) FROM rollouts") == [([0, 0, 1, 1],)]


def test_the_console_says_what_the_file_logger_says(importing, log, tmp_path):
    importing(log / "figures.jsonl")
    query = "SELECT step, name, value FROM scalars ORDER BY ALL"
    of_file = importing.sql(query)
    importing.out = tmp_path / "console"
    importing(log / "console.txt")
    assert importing.sql(query) == of_file
    assert len(of_file) == 7


def test_a_console_line_that_is_cut_off_is_no_number(importing, log):
    path = log / "console.txt"
    path.write_text(path.read_text()[:-3])
    with pytest.raises(AuditError, match=r"console\.txt, line 4: the last line has no end"):
        importing(path)


def test_one_input_several_times_is_one_item_with_samples(importing, log):
    rewrite(log / "validation" / "2.jsonl", lambda rows: rows.append({**rows[0], "score": 0.0}))
    assert "inputs that stand several times in a validation: 1" in importing(log / "validation" / "2.jsonl")
    assert importing.sql("SELECT sample, score FROM evals WHERE gold = '42' ORDER BY sample") == [(0, 1.0), (1, 0.0)]


def test_a_grade_of_minus_one_is_no_share_and_another_key_can_be_taken(importing, log):
    path = log / "validation" / "2.jsonl"
    rewrite(path, lambda rows: rows[0].update(score=-1.0, reward=-1.0, acc=False))
    with pytest.raises(AuditError, match=r"line 1: .score. is -1, .*--map score=acc"):
        importing(path)
    importing(path, mapping=[("score", "acc")])
    assert importing.sql("SELECT score FROM evals WHERE gold = '42'") == [(0.0,)]


def test_a_dump_without_a_reward_is_one_of_rollouts_unless_it_is_named(importing, log, tmp_path):
    for path in (log / "validation").iterdir():
        rewrite(path, lambda rows: [row.pop("reward") for row in rows])
    with pytest.raises(AuditError, match=r"several folders hold rollouts; .* --map rollouts=validation"):
        importing(log)
    importing(log, mapping=[("evals", "validation")])
    assert importing.sql("SELECT count(DISTINCT checkpoint) FROM evals") == [(3,)]
    importing.out = tmp_path / "one"
    importing(log / "validation", mapping=[("evals", ".")])
    assert importing.sql("SELECT count(DISTINCT checkpoint) FROM evals") == [(3,)]


def test_old_dumps_without_a_gold_have_no_prompts(importing, log):
    for path in (log / "validation").iterdir():
        rewrite(path, lambda rows: [row.pop("gts") for row in rows])
    importing(log / "validation")
    assert importing.sql("SELECT count(gold), count(prompt_id) FROM evals") == [(0, 0)]
    assert importing.sql("SELECT count(*) FROM prompts") == [(0,)]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: rows[1].update(step=3), 'line 2: "step" is 3, and 2, as the file\'s name says'),
        (lambda rows: rows[1].update(uid="a_0_1"), "line 2: a session of several outputs"),
        (lambda rows: rows[1].update(score=None), 'line 2: "score" is None'),
        (lambda rows: rows[0].pop("output"), "line 1: no row of a dump"),
    ],
)
def test_a_row_that_is_none_names_its_line(importing, log, change, said):
    path = log / "validation" / "2.jsonl"
    rewrite(path, change)
    with pytest.raises(AuditError, match=said):
        importing("verl", path)


def test_a_choice_that_there_is_not_is_refused(importing, log):
    with pytest.raises(AuditError, match=r"verl has evals, rollouts, score to choose"):
        importing(log, mapping=[("reward", "acc")])
    with pytest.raises(AuditError, match=r"holds no dump .*rollout, validation"):
        importing(log, mapping=[("evals", "val")])
