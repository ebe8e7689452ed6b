"""All audits of a run together: waivers, evidence, and what is asked for by name."""

import json

import pyarrow.parquet as pq
import pytest
from made_run import evals, made_plan, right, write_experiment, write_outcomes

from analysis.errors import AuditError
from audits.engine.audit import audit_ids
from audits.engine.integrity import integrity_report, offending_rows
from audits.store import reader
from audits.store.reader import connect, open_run


@pytest.fixture
def broken(tmp_path):
    """A run in which one arm misses an item."""
    return write_outcomes(tmp_path / "run", {"treatment": [evals(right(3, 19))], "baseline": [evals(right(4))]})


def pairing(run, **options):
    (check,) = integrity_report(open_run(run), only=["pairing"], **options).checks
    return check


def test_every_audit_answers(broken):
    report = integrity_report(open_run(broken))
    assert tuple(check.id for check in report.checks) == audit_ids()
    assert report.status == "fail"


def test_an_unknown_audit_is_an_error_that_names_a_near_one(broken):
    with pytest.raises(AuditError, match="pairing"):
        integrity_report(open_run(broken), only=["pairng"])


def test_the_offending_rows_are_left_in_the_run_with_the_query_that_gives_all(broken):
    check = pairing(broken, evidence=True)
    file = pq.read_table(broken / check.evidence)
    assert file.column("item_id").to_pylist() == ["item-019"]
    assert file.schema.metadata[b"runaudit.total_rows"] == b"1"
    assert b"SELECT" in file.schema.metadata[b"runaudit.query"]
    assert "evidence: every row" in check.notes


def test_without_being_asked_for_no_evidence_is_left(broken):
    assert pairing(broken).evidence is None
    assert not (broken / "evidence").exists()


def test_where_the_run_cannot_be_written_to_the_check_says_so(broken, monkeypatch):
    def refuse(*_):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("audits.engine.integrity.write_evidence", refuse)
    check = pairing(broken, evidence=True)
    assert check.evidence is None
    assert "no evidence was left: the run cannot be written to (Read-only file system)" in check.notes


def test_a_waiver_covers_a_finding_and_one_row_more_is_not_covered(broken):
    waiver = {"check": "pairing", "value": 1.0, "reason": "known", "owner": "Ada", "expires": "2999-01-01"}
    (broken / "policy.json").write_text(json.dumps({"waivers": [waiver]}))
    assert pairing(broken).status == "waived"
    (broken / "policy.json").write_text(json.dumps({"waivers": [waiver | {"value": 0.5}]}))
    assert pairing(broken).status == "fail"


def test_a_waiver_of_the_gate_is_not_called_idle_here(broken):
    waiver = {"check": "ratio_max", "value": 1.0, "reason": "known", "owner": "Ada", "expires": "2999-01-01"}
    (broken / "policy.json").write_text(json.dumps({"waivers": [waiver]}))
    assert integrity_report(open_run(broken), only=["pairing"]).reasons == ()


def test_all_rows_can_be_read_though_few_are_kept(tmp_path):
    run = write_outcomes(tmp_path / "run", {"treatment": [evals(right(1, 1))], "baseline": [evals(right(4, 3000))]})
    with offending_rows(open_run(run), "pairing") as reader:
        assert reader.read_all().num_rows == 2999


def test_rows_that_cannot_be_asked_for_are_an_error_and_not_none(tmp_path, broken):
    run = write_outcomes(tmp_path / "other", {"treatment": [evals(right(3), checkpoint="base")]})
    with pytest.raises(AuditError, match="no row to examine"), offending_rows(open_run(run), "pairing"):
        pass
    with pytest.raises(AuditError, match="pairing"), offending_rows(open_run(broken), "pairng"):
        pass


def test_tables_in_many_small_files_are_read_once_and_the_audits_find_the_same(tmp_path, monkeypatch):
    run = open_run(write_experiment(tmp_path, made_plan()))
    found = []
    for many_files in (1, 1000):
        monkeypatch.setattr(reader, "MANY_FILES", many_files)
        with connect(run) as connection:
            found.append(integrity_report(run))
            sql = "SELECT table_name FROM duckdb_tables() WHERE table_name LIKE 'held_%'"
            assert (len(connection.execute(sql).fetchall()) > 2) == (many_files == 1)
    assert found[0] == found[1]
    assert any(check.status == "pass" for check in found[0].checks)
