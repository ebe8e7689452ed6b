"""What an audit's answer means: requirements, severities, notes, and rows that are too many to keep."""

import pytest
from made_run import evals, made_plan, right, write_outcomes, write_run

from audits.engine import audit as engine
from audits.engine.audit import Audit, AuditSql, needs_plan, run_audit
from audits.store.reader import connect, open_run

SELECT = "SELECT item_id FROM evals WHERE score = 0 ORDER BY ALL"


@pytest.fixture
def made(monkeypatch):
    """Runs an audit that stands in no file."""

    def run(path, rows=SELECT, notes=None, **declared):
        audit = Audit(**({"title": "t", "requires": ("evals",), "examines": "evals", "mend": "mend it"} | declared))
        monkeypatch.setattr(engine, "load_audit", lambda _: audit)
        monkeypatch.setattr(engine, "audit_sql", lambda _: AuditSql(rows, notes))
        opened = open_run(path)
        with connect(opened) as connection:
            return run_audit(connection, opened, "made")

    return run


@pytest.fixture
def outcomes(tmp_path):
    return write_outcomes(tmp_path / "run", {"treatment": [evals(right(3, 5))], "baseline": [evals(right(5, 5))]})


@pytest.mark.parametrize(
    ("severities", "status"),
    [
        (("warn", "warn"), "warn"),
        (("warn", "fail"), "fail"),
        (("inconclusive", "warn"), "inconclusive"),
        (("inconclusive", "fail"), "fail"),
    ],
)
def test_the_worst_severity_of_a_row_is_the_status(made, outcomes, severities, status):
    rows = " UNION ALL ".join(f"SELECT '{severity}' AS severity" for severity in severities)
    found = made(outcomes, rows)
    assert (found.check.status, found.check.value, found.check.mend) == (status, 2.0, "mend it")


def test_a_row_without_a_severity_is_a_failure_and_an_unknown_one_is_a_bug(made, outcomes):
    assert made(outcomes).check.status == "fail"
    with pytest.raises(ValueError, match="severity"):
        made(outcomes, "SELECT 'pass' AS severity")


def test_the_reason_counts_the_kinds_of_fault(made, outcomes):
    rows = (
        "SELECT CASE WHEN range < 1500 THEN 'twice' ELSE 'missing' END AS fault, range FROM range(2000) ORDER BY range"
    )
    found = made(outcomes, rows)
    assert found.check.reason == "2,000 offending rows: 1,500 twice, 500 missing"


def test_all_rows_are_counted_and_the_first_thousand_kept_in_order(made, outcomes):
    found = made(outcomes, "SELECT range AS number FROM range(200000) ORDER BY number DESC")
    assert found.check.value == 200000.0
    assert len(found.rows) == found.table.num_rows == 1000
    assert found.rows[0] == (199999,)
    assert found.rows[-1] == (199000,)


def test_a_column_that_was_never_logged_is_missing_evidence(made, outcomes):
    found = made(outcomes, requires=("evals.completion",))
    assert found.check.status == "inconclusive"
    assert found.check.reason == (
        "needs evals.completion, which this run does not have "
        "(audit run writes it; audit import where the source has it)"
    )


def test_either_of_two_is_enough_and_neither_is_missing_evidence(made, outcomes):
    assert made(outcomes, requires=("rollouts.completion or evals.score",)).check.status == "fail"
    found = made(outcomes, requires=("rollouts.completion or evals.completion",))
    assert found.check.status == "inconclusive"
    assert "rollouts" in found.check.reason
    assert "evals" in found.check.reason


def test_too_few_rows_are_inconclusive_whatever_they_show(made, outcomes):
    assert made(outcomes, minimum_rows=10).check.status == "fail"
    found = made(outcomes, minimum_rows=11)
    assert (found.check.status, found.check.rows_examined) == ("inconclusive", 10)
    assert "at least 11 are needed" in found.check.reason


def test_no_row_examined_is_never_a_pass(made, outcomes):
    found = made(outcomes, "SELECT 1 WHERE false", examines="evals WHERE checkpoint = 'base'")
    assert (found.check.status, found.check.value) == ("inconclusive", None)
    assert found.check.sql is found.check.rows_command is None


def test_what_was_measured_stands_beside_a_pass_too(made, outcomes):
    found = made(outcomes, "SELECT 1 WHERE false", notes="SELECT count(*) || ' rows' FROM evals")
    assert (found.check.status, found.check.notes) == ("pass", ("10 rows",))
    assert found.check.mend is None


def test_an_audit_of_what_was_planned_does_not_apply_to_a_run_without_a_plan(made, outcomes, tmp_path):
    found = made(outcomes, applies=needs_plan)
    assert (found.check.status, found.check.rows_examined) == ("not_applicable", 0)
    assert "no plan is sealed" in found.check.reason
    planned = write_run(tmp_path / "planned", made_plan(), scores={"grpo": right(3), "dppo": right(3)})
    assert made(planned, applies=needs_plan).check.status == "fail"


def test_the_blocks_of_a_file_are_told_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "SQL_FOLDER", tmp_path)
    (tmp_path / "audits").mkdir()
    file = tmp_path / "audits" / "x.sql"
    file.write_text("-- Rows that are wrong.\n-- rows: one an item\nSELECT 1\n-- notes:\nSELECT 2\n")
    assert engine.audit_sql("x") == AuditSql("SELECT 1", "SELECT 2")
    file.write_text("-- Rows that are wrong.\nSELECT 1\n")
    assert engine.audit_sql("x") == AuditSql("-- Rows that are wrong.\nSELECT 1", None)


def test_of_a_table_that_is_not_there_the_columns_are_not_named_and_the_writers_said_once(made, outcomes):
    found = made(outcomes, requires=("tokens.entropy or updates or tokens.is_loss_token",))
    assert (
        found.check.reason
        == "needs table tokens or table updates, which this run does not have (audit run writes them)"
    )
