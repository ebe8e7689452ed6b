import json
import shutil
from pathlib import Path

import pytest
from loaded_module import loaded_module

from analysis.errors import AuditError
from audits.engine.audit import run_audit
from audits.store.reader import connect

EVAL = Path(__file__).parents[2] / "data" / "tinker_cookbook_eval"


@pytest.fixture
def run(tmp_path):
    """A copy of a run's folder that the cookbook's own functions wrote."""
    return Path(shutil.copytree(EVAL, tmp_path / "eval", ignore=shutil.ignore_patterns("*.py", "__pycache__")))


def rewrite(run, change):
    path = run / "sums" / "trajectories.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    change(records)
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))


def test_the_sample_is_what_the_cookbook_writes(tmp_path):
    pytest.importorskip("tinker_cookbook", reason="tinker-cookbook is not installed")
    module = loaded_module(EVAL / "write.py")
    module.write_eval(tmp_path)
    written = {path.relative_to(tmp_path): path.read_text() for path in tmp_path.rglob("*.json*")}
    assert len(written) == 3
    assert written == {path: (EVAL / path).read_text() for path in written}


def test_an_example_that_failed_has_its_error_and_no_score(importing, run):
    importing(run)
    columns = "score, correct, extracted, gold, stop_reason, error"
    assert importing.sql(f"SELECT {columns} FROM evals ORDER BY error NULLS FIRST, gold") == [
        (1.0, True, "2", "2", None, None), (0.0, False, "6", "5", None, None), (0.0, False, None, "6", "length", None),
        (1.0, True, "8", "8", None, None), (None, None, None, None, None, "timeout (10s)"),
    ]  # fmt: skip
    with connect(importing.run) as connection:
        assert run_audit(connection, importing.run, "evaluation_errors").check.status == "fail"


def test_settings_and_checkpoint_are_those_of_the_metadata(importing, run):
    importing(run)
    assert importing.manifest.arms[0].settings == {
        "base_model": "base", "evaluation.temperature": 0.6, "evaluation.max_tokens": 4
    }  # fmt: skip
    assert importing.manifest.source["checkpoint_name"] == "000001"
    assert [file["name"] for file in importing.manifest.source["files"]] == [
        "trajectories.jsonl", "result.json", "metadata.json"
    ]  # fmt: skip


def test_rows_of_one_example_are_its_samples_and_a_count_that_differs_is_told(importing, run):
    rewrite(run, lambda rows: rows.append({**rows[0], "reward": 0.0}))
    assert "result.json speaks of 5 examples, and 6 are here" in importing(run)
    assert importing.sql("SELECT sample, score FROM evals WHERE gold = '2' ORDER BY sample") == [(0, 1.0), (1, 0.0)]


def test_items_that_are_places_are_told(importing, run):
    rewrite(run, lambda rows: [row.update(example_id=str(row["idx"])) for row in rows])
    assert "items are named by their place" in importing(run)


def test_several_benchmarks_are_imported_one_at_a_time(importing, run):
    shutil.copytree(run / "sums", run / "more")
    with pytest.raises(AuditError, match=r"holds 2 benchmarks \(more, sums\); import one at a time"):
        importing(run)
    importing(run / "sums")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: rows[1].update(turns=rows[1]["turns"] * 2), "line 2: an episode of 2 turns"),
        (lambda rows: rows[1].update(turns=[]), "line 2: an example without an answer and without an error"),
        (lambda rows: rows[1].update(benchmark="other"), 'line 2: "benchmark" is \'other\', and "sums"'),
        (lambda rows: rows[1].update(example_id=""), 'line 2: "example_id" is'),
        (lambda rows: rows[1].update(reward=-1.0), "1 rows have no score from 0 to 1"),
    ],
)
def test_a_row_that_is_none_is_named(importing, run, change, said):
    rewrite(run, change)
    with pytest.raises(AuditError, match=said):
        importing(run)
