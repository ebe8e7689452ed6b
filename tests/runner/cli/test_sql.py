import csv
import io
import json

import pyarrow.parquet as pq
import pytest
from made_run import evals, right, write_outcomes, write_run


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
    audit("sql", run, QUERY, "--format", "parquet", "--out", tmp_path / "x.parquet")
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
        ["SELECT 1", "--format", "parquet"], ["SELECT 1", "--out", "x.parquet"], ["SELECT 1", "--memory", "x"],
        ["SELECT 1", "--seconds", "0"], ["SELECT 1", "--seconds", "1" + "0" * 30], ["SELECT 1", "--limit", "-1"],
        ["SELECT error('boo')"], ["SELECT 'x'::INTEGER"],
        ["SELECT 1 AS a, 2 AS a", "--format", "json"], ["SELECT 'infinity'::TIMESTAMP"],
        ["SELECT 1", "--format", "parquet", "--out", "none/x.parquet"],
        ["SELECT 1", "--format", "parquet", "--out", "."],
    ],
)  # fmt: skip
def test_each_fault_is_one_error_without_a_traceback(audit, run, arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    audit.refuses("sql", run, *arguments)


def test_a_result_is_not_written_into_the_run(audit, run):
    target = run / "evals/arm=baseline/seed=0/checkpoint=final.parquet"
    before = target.read_bytes()
    assert "inside the run" in audit.refuses("sql", run, "SELECT 1", "--format", "parquet", "--out", target)
    assert target.read_bytes() == before


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
