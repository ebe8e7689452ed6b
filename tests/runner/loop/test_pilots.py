"""Which pilot allows a full run; the gate itself has its own tests."""

import json

import pytest

from analysis.errors import AuditError, Refused
from audits.engine import standing
from audits.engine.check import Check, CheckReport, Limit
from audits.store.manifest import ArmRecord, Manifest
from audits.store.writer import RunWriter
from runner.loop import pilots
from runner.loop.launch import load_plan, prepare


def _pilot(folder, sealed, *, kind="pilot", status="complete", started_at="2026-01-01T00:00:00+00:00"):
    arms = [ArmRecord(arm=a.condition, seed=a.seed, role=a.role, name=a.name) for a in sealed.plan.arms]
    manifest = Manifest(
        run_id=folder.name, kind=kind, status=status, arms=arms, started_at=started_at, plan_sha256=sealed.sha256
    )
    RunWriter.create(folder, manifest, sealed)
    return folder


def _gate(monkeypatch, status):
    check = Check(
        "dppo_masked_token_fraction", status, 0.0002, Limit(min=0.001), "share", "d", "dppo", 10, reason="too few"
    )
    report = CheckReport("pilot", status, (check,))
    monkeypatch.setattr(standing, "evaluate_gate", lambda run, plan, today: report)


def test_the_newest_pilot_of_this_plan_is_taken(make_plan, tmp_path):
    sealed, other = make_plan(), make_plan(title="another")
    _pilot(tmp_path / "a", sealed, started_at="2026-01-02T00:00:00+00:00")
    _pilot(tmp_path / "b", sealed, started_at="2026-01-01T00:00:00+00:00")
    _pilot(tmp_path / "c", other, started_at="2026-01-03T00:00:00+00:00")
    _pilot(tmp_path / "d", sealed, kind="full", started_at="2026-01-04T00:00:00+00:00")
    (tmp_path / "e").mkdir()
    (tmp_path / "e" / "run.json").write_text("{", encoding="utf-8")
    assert pilots.find_pilot(sealed, tmp_path) == tmp_path / "a"


def test_without_a_pilot_a_full_run_is_refused(make_plan, tmp_path, progress):
    with pytest.raises(Refused, match="--pilot") as refusal:
        prepare(make_plan(), "full", tmp_path / "full", None, progress)
    assert refusal.value.exit_code == 4


@pytest.mark.parametrize("status", ["fail", "inconclusive"])
def test_a_gate_that_did_not_pass_names_its_check(make_plan, tmp_path, monkeypatch, status):
    sealed = make_plan()
    _gate(monkeypatch, status)
    with pytest.raises(Refused, match=rf"{status}: dppo_masked_token_fraction \(dppo\): 0.0002.*too few"):
        pilots.require_passed_pilot(sealed, _pilot(tmp_path / "pilot", sealed))


def test_a_passed_gate_is_linked_with_its_hash(make_plan, tmp_path, monkeypatch, progress):
    sealed = make_plan()
    _pilot(tmp_path / "pilot", sealed)
    _gate(monkeypatch, "pass")
    link = prepare(sealed, "full", tmp_path / "full", None, progress).pilot
    assert (link.run_id, link.path, link.status) == ("pilot", "../pilot", "pass")
    assert len(link.gate_sha256) == 64
    assert any("pilot" in note for note in progress.notes)
    _gate(monkeypatch, "warn")
    assert prepare(sealed, "full", tmp_path / "full", None, progress).pilot.gate_sha256 != link.gate_sha256


def test_a_pilot_speaks_for_its_own_plan_only_and_only_when_complete(make_plan, tmp_path, monkeypatch):
    sealed = make_plan()
    _gate(monkeypatch, "pass")
    with pytest.raises(Refused, match="speaks for its own only"):
        pilots.require_passed_pilot(sealed, _pilot(tmp_path / "other", make_plan(title="another")))
    with pytest.raises(Refused, match="interrupted, not complete"):
        pilots.require_passed_pilot(sealed, _pilot(tmp_path / "cut", sealed, status="interrupted"))
    with pytest.raises(Refused, match="full run, not a pilot"):
        pilots.require_passed_pilot(sealed, _pilot(tmp_path / "full", sealed, kind="full"))


def test_a_required_preflight_must_be_there_and_pass(make_plan, tmp_path, monkeypatch):
    sealed = make_plan(preflights__restoration={"required": True})
    pilot = _pilot(tmp_path / "pilot", sealed)
    _gate(monkeypatch, "pass")
    with pytest.raises(Refused, match="requires the restoration preflight"):
        pilots.require_passed_pilot(sealed, pilot)
    result = pilot / "preflight" / "restoration.json"
    result.parent.mkdir()
    for status, allowed in (("fail", False), ("inconclusive", False), ("pass", True)):
        result.write_text(json.dumps({"status": status, "plan_sha256": sealed.sha256}), encoding="utf-8")
        if allowed:
            assert pilots.require_passed_pilot(sealed, pilot).run_id == "pilot"
        else:
            with pytest.raises(Refused, match=f"the restoration preflight is {status}"):
                pilots.require_passed_pilot(sealed, pilot)
    result.write_text(json.dumps({"status": "pass", "plan_sha256": "0" * 64}), encoding="utf-8")
    with pytest.raises(Refused, match="another plan's"):
        pilots.require_passed_pilot(sealed, pilot)
    result.write_text("{", encoding="utf-8")
    with pytest.raises(AuditError, match="not a preflight result"):
        pilots.require_passed_pilot(sealed, pilot)


def test_without_a_gate_no_pilot_is_needed(make_plan, tmp_path, progress):
    sealed = make_plan(activation_gate={"applicable": False, "reason": "no treatment switch", "checks": []})
    assert prepare(sealed, "full", tmp_path / "full", None, progress).pilot is None


def test_a_used_directory_is_refused_before_anything_runs(make_plan, tmp_path, progress):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "note.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(AuditError, match="not empty"):
        prepare(make_plan(), "pilot", tmp_path / "full", None, progress)


def test_a_plan_is_a_file_or_a_shipped_id(make_plan, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo").mkdir()
    assert load_plan("demo").plan.base_model == "tiny-addition"
    (tmp_path / "mine.json").write_bytes(make_plan(title="mine").canonical)
    assert load_plan("mine.json").plan.title == "mine"
    with pytest.raises(AuditError, match="shipped plan"):
        load_plan(str(tmp_path / "absent.json"))
