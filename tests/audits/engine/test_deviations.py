"""Where a run left its plan, as its own record tells."""

import json

import pytest
from made_run import change_json, evals, made_plan, right, write_experiment, write_outcomes

from audits.engine.deviations import SETTINGS_AUDIT, deviations, setting_differences
from audits.engine.integrity import integrity_report
from audits.store.reader import open_run

WAIVER = {
    "check": "zero_logprob_fraction", "arm": "dppo", "status": "fail", "value": 0.25, "reason": "known and harmless",
    "owner": "A. Reviewer", "expires": "2026-02-01",
}  # fmt: skip


@pytest.fixture
def full(tmp_path):
    return write_experiment(tmp_path)


def told(run):
    return [(item.run, item.kind, item.what) for item in deviations(open_run(run))]


def test_a_run_as_planned_has_none(full):
    assert told(full) == []
    assert told(full.parent / "pilot") == []


def test_a_waiver_names_owner_reason_and_end_in_run_and_pilot(full):
    for run in (full, full.parent / "pilot"):
        (run / "policy.json").write_text(json.dumps({"waivers": [WAIVER]}), encoding="utf-8")
    own, pilots = deviations(open_run(full))
    assert (own.run, pilots.run) == ("run", "pilot")
    assert own.what == "zero_logprob_fraction (dppo), fail at 0.25, is accepted"
    assert (own.reason, own.owner, own.until) == ("known and harmless", "A. Reviewer", "2026-02-01")
    assert (own.kind, own.source) == ("waiver", "policy.json")


def test_interruptions_faults_status_and_uncommitted_code_are_told(full):
    change_json(
        full / "run.json", status="interrupted", service_faults=1, git={"commit": "0" * 40, "dirty": True},
        resumed=[{"at": "2026-01-02T04:00:00+00:00", "was": "interrupted"}, {}],
    )  # fmt: skip
    change_json(full.parent / "pilot" / "run.json", service_faults=3)
    assert told(full) == [
        ("run", "unfinished run", "the run is interrupted, not complete"),
        ("run", "interruption", "resumed after it was interrupted, at 2026-01-02T04:00:00+00:00"),
        ("run", "interruption", "resumed, at an unknown time"),
        ("run", "service faults", "1 service fault borne and tried again"),
        ("run", "uncommitted code", "the working tree held changes that no commit has"),
        ("pilot", "service faults", "3 service faults borne and tried again"),
    ]


def test_a_plan_that_replaces_another_says_which(tmp_path):
    full = write_experiment(tmp_path, made_plan(supersedes="a" * 64))
    assert told(full) == [("run", "superseded plan", f"the sealed plan replaces the plan with sha256 {'a' * 64}")]


def test_a_list_of_files_that_was_torn_is_told(full):
    with (full / "files.jsonl").open("a") as file:
        file.write('{"path": "tok')
    ((run, kind, what),) = told(full)
    assert (run, kind) == ("run", "unread")
    assert "never finished" in what


def test_imported_outcomes_have_no_plan_to_leave(tmp_path):
    arms = {name: [evals(right(3))] for name in ("treatment", "baseline")}
    assert told(write_outcomes(tmp_path / "run", arms)) == []


def test_settings_that_ran_otherwise_come_before_those_that_nobody_logged(full):
    run = open_run(full)
    report = integrity_report(run, only=[SETTINGS_AUDIT])
    found = setting_differences(run, report)
    assert len(found) == report.checks[0].value
    unknown = [item.executed is None for item in found]
    assert unknown == sorted(unknown)
    (group_size,) = [item for item in found if item.setting == "rollout.group_size" and item.arm == "dppo"]
    assert (group_size.planned, group_size.executed, group_size.seed) == ("8", "2", 0)


def test_where_the_audit_found_nothing_the_logs_are_not_read_again(full, monkeypatch):
    run = open_run(full)
    report = integrity_report(run, only=["pairing"])
    monkeypatch.setattr("audits.engine.deviations.connect", None)
    assert setting_differences(run, report) == ()
