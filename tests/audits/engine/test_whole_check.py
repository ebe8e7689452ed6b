"""`audit check`: one exit code over files, gate, preflights, audits and verdict."""

import dataclasses

import pytest
from made_run import evals, made_plan, right, write_experiment, write_outcomes, write_run

from analysis.errors import AuditError
from audits.engine import whole_check
from audits.engine.check import Check, CheckReport
from audits.engine.whole_check import check_run
from audits.store.reader import open_run

VALIDATED = {"grpo": right(0), "dppo": right(20)}
SAME = {"grpo": right(3), "dppo": right(3)}


@pytest.fixture
def audits(monkeypatch):
    """Lets the integrity audits answer with one status."""

    def answer(status):
        found = Check(
            id="made", status=status, value=1.0, limit=None, unit="rows", definition="x@y/z", arm=None, rows_examined=1
        )
        report = CheckReport("run", status, (found,))
        monkeypatch.setattr(whole_check, "integrity_report", lambda run, **_: report)

    return answer


@pytest.mark.parametrize(
    ("scores", "status", "code"),
    [
        (VALIDATED, "pass", 0),
        (VALIDATED, "warn", 0),
        (VALIDATED, "waived", 0),
        (VALIDATED, "fail", 1),
        (VALIDATED, "inconclusive", 4),
        ({"grpo": right(20), "dppo": right(0)}, "pass", 1),
        ({"grpo": right(20), "dppo": right(0)}, "inconclusive", 1),
        (SAME, "pass", 4),
        (SAME, "fail", 1),
    ],
)
def test_a_failure_comes_before_missing_evidence_and_both_before_the_verdict(audits, tmp_path, scores, status, code):
    run = write_experiment(tmp_path, scores=scores)
    audits(status)
    assert check_run(open_run(run)).exit_code == code


def test_void_comes_before_a_failure(audits, tmp_path):
    run = write_run(tmp_path / "full", kind="full", scores=VALIDATED)
    audits("fail")
    whole = check_run(open_run(run))
    assert (whole.decision.verdict, whole.exit_code) == ("void", 4)
    assert "no pilot is linked" in next(check.reason for check in whole.report.checks if check.id == "verdict")


def test_the_gate_is_the_pilot_s_and_says_so_and_the_audits_are_the_run_s_own(audits, tmp_path):
    run = write_experiment(tmp_path)
    audits("pass")
    checks = check_run(open_run(run)).report.checks
    assert {check.run for check in checks if check.id.startswith("dppo_masked")} == {str(tmp_path / "pilot")}
    assert {check.run for check in checks if check.id in {"made", "verdict", "manifest"}} == {None}


def test_a_pilot_is_checked_without_a_verdict(audits, tmp_path):
    audits("pass")
    whole = check_run(open_run(write_run(tmp_path / "pilot", scores=SAME)))
    assert (whole.decision, whole.exit_code) == (None, 0)
    assert not [check for check in whole.report.checks if check.id == "verdict" or check.run]


def test_a_required_preflight_without_a_result_is_missing_evidence(audits, tmp_path):
    plan = made_plan(preflights__restoration={"required": True})
    audits("pass")
    whole = check_run(open_run(write_run(tmp_path / "pilot", plan)))
    (absent,) = [check for check in whole.report.checks if check.id == "restoration"]
    assert (absent.status, whole.exit_code) == ("inconclusive", 4)


def test_outcomes_without_a_plan_are_decided_by_the_default_rule(audits, tmp_path):
    run = write_outcomes(tmp_path / "run", {"treatment": [evals(right(20))], "baseline": [evals(right(0))]})
    audits("pass")
    whole = check_run(open_run(run))
    assert (whole.decision.registered, whole.exit_code) == (False, 0)


def test_a_broken_pairing_stops_everything(audits, tmp_path):
    run = write_outcomes(tmp_path / "run", {"treatment": [evals(right(3, 19))], "baseline": [evals(right(4))]})
    audits("pass")
    with pytest.raises(AuditError, match="pairing is broken"):
        check_run(open_run(run))


def test_the_verdict_stands_among_the_checks_with_its_interval(audits, tmp_path):
    audits("pass")
    whole = check_run(open_run(write_experiment(tmp_path)))
    (verdict,) = [check for check in whole.report.checks if check.id == "verdict"]
    assert (verdict.status, verdict.value) == ("pass", "validated")
    assert dataclasses.asdict(whole.decision.criteria[0])["estimate"] == 1.0
    assert "primary: 1 [" in verdict.notes[0]
