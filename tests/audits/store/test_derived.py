"""Derived tables lie beside the log, and speak only of the run that they were computed from."""

import pyarrow as pa
import pyarrow.parquet
import pytest
from made_run import change_json, evals, right, write_outcomes

from analysis.errors import AuditError
from audits.store.derived import derived_files, write_derived
from audits.store.reader import open_run
from audits.store.sandbox import query

TABLE = pa.table({"number": [1, 2, 3]})


@pytest.fixture
def path(tmp_path):
    return write_outcomes(tmp_path / "run", {"treatment": [evals(right(3))]})


def test_a_derived_table_can_be_asked_for_by_sql(path):
    assert write_derived(open_run(path), "made", TABLE)
    with query(open_run(path), "SELECT run, sum(number) FROM derived_made GROUP BY run") as answer:
        assert answer.fetchall() == [("run", 6)]


def test_once_the_run_is_another_it_is_passed_over(path):
    write_derived(open_run(path), "made", TABLE)
    change_json(path / "run.json", run_id="another")
    assert derived_files(open_run(path)) == {}
    with pytest.raises(AuditError, match="derived_made"), query(open_run(path), "SELECT * FROM derived_made"):
        pass


@pytest.mark.parametrize("content", [b"{}", b"\xff"])
def test_once_the_sweep_that_it_rests_on_is_another_it_is_passed_over(path, content):
    write_derived(open_run(path), "made", TABLE)
    assert list(derived_files(open_run(path))) == ["made"]
    (path / "sweep.json").write_bytes(content)
    assert derived_files(open_run(path)) == {}


def test_a_table_that_names_no_run_and_a_file_that_is_none_are_passed_over(path):
    folder = path / "derived"
    folder.mkdir()
    pa.parquet.write_table(TABLE, folder / "foreign.parquet")
    (folder / "broken.parquet").write_bytes(b"PAR1")
    assert derived_files(open_run(path)) == {}


def test_a_folder_that_is_a_link_gets_nothing(path, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (path / "derived").symlink_to(elsewhere)
    with pytest.raises(AuditError, match="is a link"):
        write_derived(open_run(path), "made", TABLE)
    assert derived_files(open_run(path)) == {}
    assert list(elsewhere.iterdir()) == []


def test_where_the_run_cannot_be_written_to_nothing_is_kept_and_nothing_breaks(path, monkeypatch):
    def refuse(*_, **__):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("pathlib.Path.mkdir", refuse)
    assert not write_derived(open_run(path), "made", TABLE)
