"""Every audit of the folder: what it owes, a run on which it passes and one on which it fails."""

import importlib

import pytest
from made_run import evals, right, write_outcomes, write_run

from audits.engine.audit import audit_ids, load_audit, run_audit
from audits.engine.derived import derived_ids
from audits.store.reader import connect, open_run
from audits.store.sandbox import query
from audits.store.schema import SQL_FOLDER, tables


def runs_of(audit_id):
    """The module `tests/audit_runs/<id>.py`: `passing(path)`, `failing(path, faulty)` and how many faults to try."""
    return importlib.import_module(f"audit_runs.{audit_id}")


CASES = [(audit_id, faulty) for audit_id in audit_ids() for faulty in sorted(runs_of(audit_id).FAULTS)]


def run_it(run, audit_id):
    with connect(run) as connection:
        return run_audit(connection, run, audit_id)


def test_there_are_audits_and_each_has_its_sql_and_no_sql_stands_alone():
    assert audit_ids()
    assert {path.stem for path in (SQL_FOLDER / "audits").glob("*.sql")} == set(audit_ids())


@pytest.mark.parametrize("audit_id", audit_ids())
def test_it_is_documented(audit_id):
    module = importlib.import_module(f"audits.{audit_id}")
    assert len(module.__doc__ or "") > 60
    assert len(module.AUDIT.title) > 10
    assert len(module.AUDIT.mend) > 10
    named = [name for entry in module.AUDIT.requires for name in entry.split(" or ")]
    assert named or module.AUDIT.derived
    for table, _, column in (name.partition(".") for name in named):
        assert table in tables()
        assert not column or column in {found.name for found in tables()[table].columns}
    assert set(module.AUDIT.derived) <= set(derived_ids())
    assert (SQL_FOLDER / "audits" / f"{audit_id}.sql").read_text(encoding="utf-8").startswith("-- ")


@pytest.mark.parametrize("audit_id", audit_ids())
def test_it_passes_on_a_good_run_and_says_how_many_rows_it_examined(audit_id, tmp_path):
    findings = run_it(open_run(runs_of(audit_id).passing(tmp_path / "run")), audit_id)
    assert (findings.check.status, findings.check.value, findings.rows) == ("pass", 0.0, ())
    assert findings.check.rows_examined > 0
    assert findings.check.reason is findings.check.mend is None


@pytest.mark.parametrize(("audit_id", "faulty"), CASES)
def test_it_fails_on_a_bad_run_counts_the_rows_and_its_query_gives_them_again(audit_id, faulty, tmp_path):
    run = open_run(runs_of(audit_id).failing(tmp_path / "run", faulty))
    findings = run_it(run, audit_id)
    assert findings.check.status == "fail"
    assert findings.check.value == len(findings.rows) >= faulty
    assert findings.check.mend
    assert f"{len(findings.rows):,} offending" in findings.check.reason
    with query(run, findings.check.sql) as relation:
        assert tuple(relation.fetchall()) == findings.rows


def test_a_row_level_audit_is_tried_with_one_fault_and_with_500_in_1000_rows():
    for audit_id in audit_ids():
        assert runs_of(audit_id).FAULTS in ({1}, {1, 500}), audit_id


@pytest.mark.parametrize("audit_id", audit_ids())
def test_without_its_evidence_it_is_inconclusive_and_never_passes(audit_id, tmp_path):
    run = open_run(write_run(tmp_path / "run", tokens_of=None))
    findings = run_it(run, audit_id)
    inapplicable = load_audit(audit_id).applies(run)
    wanted = "not_applicable" if inapplicable else "inconclusive"
    assert (findings.check.status, findings.check.value, findings.check.rows_examined) == (wanted, None, 0)
    assert (inapplicable or "does not have") in findings.check.reason


def test_pairing_examines_final_evaluations_only(tmp_path):
    run = write_outcomes(tmp_path / "run", {"treatment": [evals(right(3), checkpoint="base")]})
    findings = run_it(open_run(run), "pairing")
    assert (findings.check.status, findings.check.rows_examined) == ("inconclusive", 0)
    assert "no row to examine" in findings.check.reason


def test_pairing_finds_a_fault_in_any_seed(tmp_path):
    run = write_outcomes(
        tmp_path / "run", {"treatment": [evals(right(3)), evals(right(3, 19))], "baseline": [evals(right(4))]}
    )
    assert [row[:4] for row in run_it(open_run(run), "pairing").rows] == [("missing", "item-019", "treatment", 1)]
