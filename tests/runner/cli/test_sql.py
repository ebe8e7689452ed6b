import csv
import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from made_run import change_json, evals, right, write_outcomes, write_run


@pytest.fixture
def run(tmp_path):
    return write_outcomes(tmp_path / "run", {"baseline": [evals(right(2, 3))]})


QUERY = "SELECT item_id, score FROM evals ORDER BY item_id"


def test_each_format_holds_the_rows(audit, run, tmp_path):
    assert audit("sql", run, QUERY).code == 0
    assert "item-000" in audit.out
    assert "(3 rows)" in audit.out
    audit("sql", run, QUERY, "--format", "json")
    assert json.loads(audit.out)[2] == {"item_id": "item-002", "score": 0.0}
    audit("sql", run, QUERY, "--format", "csv")
    assert list(csv.reader(io.StringIO(audit.out)))[1] == ["item-000", "1.0"]
    audit("sql", run, QUERY, "--export", tmp_path / "x.parquet")
    assert audit.out == ""
    assert pq.read_table(tmp_path / "x.parquet").num_rows == 3


def test_a_table_is_cut_and_says_so(audit, run):
    audit("sql", run, QUERY, "--limit", "2")
    assert "item-002" not in audit.out
    assert "more than 2 rows" in audit.out


@pytest.mark.parametrize(
    "arguments",
    [
        ["DELETE FROM evals"], ["SELECT"], ["SELECT nonsense"], ["SELECT * FROM tokens"], [""], ["SELECT 1; SELECT 2"],
        [], ["SELECT 1", "--shell"], ["SELECT 1", "--export", "x"], ["SELECT 1", "--memory", "x"],
        ["--shell", "--export", "x"], ["SELECT 1", "none"], ["none", "SELECT 1"], ["SELECT '\udcff'"],
        ["SELECT 1", "--seconds", "0"], ["SELECT 1", "--seconds", "1" + "0" * 30], ["SELECT 1", "--limit", "-1"],
        ["SELECT error('boo')"], ["SELECT 'x'::INTEGER"],
        ["SELECT 1 AS a, 2 AS a", "--format", "json"], ["SELECT 'infinity'::TIMESTAMP"],
        ["SELECT 1", "--export", "none/x.parquet"], ["SELECT 1", "--export", "folder.parquet"], ["--export", "."],
    ],
)  # fmt: skip
def test_each_fault_is_one_error_without_a_traceback(audit, run, arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.parquet").mkdir()
    audit.refuses("sql", run, *arguments)


def test_a_result_is_not_written_into_the_run(audit, run):
    target = run / "evals/arm=baseline/seed=0/checkpoint=final.parquet"
    before = target.read_bytes()
    assert "inside the run" in audit.refuses("sql", run, "SELECT 1", "--export", target)
    assert "inside the run" in audit.refuses("sql", run, "--export", run / "tables")
    assert target.read_bytes() == before
    assert not (run / "tables").exists()


def test_a_slow_query_is_stopped_in_every_format(audit, run):
    slow = "SELECT sum(a.range * b.range) AS x FROM range(10000000) a, range(10000000) b"
    for format in ("table", "json", "csv"):
        assert "time" in audit.refuses("sql", run, slow, "--seconds", "1", "--format", format)


def test_control_characters_of_a_model_are_shown_and_not_obeyed(audit, tmp_path):
    run = write_outcomes(tmp_path / "run", {"baseline": [evals([1.0], completion="\x1b]0;x\x07\u202e")]})
    audit("sql", run, 'SELECT completion, 1 AS "\x1b[31m" FROM evals')
    assert not {"\x1b", "\x07", "\u202e"} & set(audit.out)


def test_an_empty_result_keeps_its_columns(audit, tmp_path):
    run = write_run(tmp_path / "run")
    audit("sql", run, "SELECT step, entropy FROM tokens WHERE false")
    assert "entropy" in audit.out
    assert "(0 rows)" in audit.out


@pytest.fixture
def runs(run, tmp_path, monkeypatch):
    write_run(tmp_path / "runs/pilot")
    write_outcomes(tmp_path / "runs/other", {"baseline": [evals(right(1, 2))]})
    monkeypatch.chdir(tmp_path)
    return [path.as_posix() for path in sorted((tmp_path / "runs").iterdir())]


def test_several_runs_are_asked_at_once_and_what_some_never_logged_is_said(audit, run, runs):
    audit("sql", run, *runs, "SELECT run, count(*) AS n FROM evals GROUP BY run ORDER BY run", "--format", "json")
    assert json.loads(audit.out) == [{"run": "other", "n": 2}, {"run": "run", "n": 3}]
    assert "evals has no rows of pilot" in audit.err


def test_what_stands_beside_the_runs_is_passed_over_and_a_run_that_does_not_exist_is_not(audit, runs, tmp_path):
    (tmp_path / "runs/state").mkdir()
    (tmp_path / "runs/notes.txt").write_text("mine")
    named = [*runs, "runs/state", "runs/notes.txt"]
    audit("sql", *named, "SELECT DISTINCT run FROM evals", "--format", "csv")
    assert audit.out == "run\nother\n"
    assert audit.err.count("passed over") == 2
    assert "runs/gone" in audit.refuses("sql", *named, "runs/gone", "SELECT 1")
    assert "runs/state" in audit.refuses("sql", "runs/state", "SELECT 1")


def test_the_newest_run_is_asked_when_none_is_named(audit, runs):
    change_json(Path("runs/other/run.json"), started_at="2026-01-03T00:00:00+00:00")
    audit("sql", "SELECT DISTINCT run FROM evals", "--format", "csv")
    assert audit.out == "run\nother\n"
    assert "the newest" in audit.err


def test_a_forgotten_query_is_not_taken_from_the_last_run(audit, runs):
    assert "is a directory" in audit.refuses("sql", *runs)


def test_every_table_of_several_runs_is_exported(audit, run, runs, tmp_path):
    audit("sql", run, *runs, "--export", tmp_path / "out")
    assert audit.out == ""
    assert set(pq.read_table(tmp_path / "out/evals.parquet")["run"].to_pylist()) == {"run", "other"}
    assert set(pq.read_table(tmp_path / "out/loss_tokens.parquet")["run"].to_pylist()) == {"pilot"}


@pytest.fixture
def graded(tmp_path):
    """An import whose completions and gold answers give derived answers, which no audit has looked at."""
    return write_outcomes(tmp_path / "graded", {"baseline": [evals([1.0], completion="#### 18", gold="18")]})


def test_a_derived_table_that_no_audit_left_is_derived_for_the_query_that_names_it(audit, run, graded):
    audit("sql", graded, run, "SELECT run, count(*) AS n FROM Derived_Answers GROUP BY run", "--format", "csv")
    assert audit.out == "run,n\ngraded,1\n"
    assert "derived_answers has no rows of run: it cannot be derived there: needs" in audit.err
    assert (graded / "derived/answers.parquet").is_file()


def test_a_run_that_cannot_be_written_to_is_derived_in_memory(audit, graded, monkeypatch):
    monkeypatch.setattr("audits.engine.derived.write_derived", lambda *_: False)
    audit("sql", graded, "SELECT count(*) AS n FROM derived_answers", "--format", "csv")
    assert audit.out == "n\n1\n"


def test_a_derived_table_that_cannot_be_derived_says_what_the_run_lacks(audit, run):
    said = audit.refuses("sql", run, "SELECT * FROM derived_answers")
    assert "needs evals.completion" in said
    assert "Did you mean" not in said


def test_an_export_holds_the_derived_tables_of_runs_that_were_never_audited(audit, run, graded, tmp_path):
    audit("sql", run, graded, "--export", tmp_path / "out")
    assert set(pq.read_table(tmp_path / "out/derived_answers.parquet")["run"].to_pylist()) == {"graded"}
    assert "derived_answers, derived_canaries of run cannot be derived: needs" in audit.err
