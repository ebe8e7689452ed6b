"""Which preflights run, where their results go, and what they allow."""

import json

import pytest

from analysis.errors import AuditError, Refused
from analysis.plan.model import Preflights
from audits.engine import standing
from audits.engine.check import Check, CheckReport
from audits.store.preflights import read_results
from runner.loop.launch import prepare
from runner.loop.preflight import restoration
from runner.loop.preflights import choose_preflights, preflight_ids, require_place

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
REQUIRED = {"required": True}


@pytest.fixture
def passed_gate(monkeypatch):
    check = Check("dppo_masked_token_fraction", "pass", 0.02, None, "share", "d", "dppo", 10)
    monkeypatch.setattr(standing, "evaluate_gate", lambda run, plan, today: CheckReport("pilot", "pass", (check,)))


@pytest.fixture
def without_optimizer(monkeypatch):
    """The optimiser's behaviour has tests of its own, and takes some seconds."""
    monkeypatch.setattr(restoration, "optimizer_comparisons", lambda *_: iter(()))


@pytest.fixture
def place(make_plan, tmp_path):
    """A plan that requires two preflights, in a file, and where its runs go."""
    sealed = make_plan(preflights__restoration=REQUIRED, preflights__feasibility=REQUIRED,
                       budget={"gpu_hours": 1.0, "max_wall_minutes": 60.0})  # fmt: skip
    (tmp_path / "plan.json").write_bytes(sealed.canonical)
    return sealed, tmp_path / "plan.json", tmp_path / "runs" / "pilot"


def test_the_files_are_the_preflights_a_plan_can_require():
    assert preflight_ids() == sorted(Preflights.model_fields)


def test_what_runs_is_what_was_named_else_what_is_required_else_all(make_plan):
    required = make_plan(preflights__restoration=REQUIRED)
    assert choose_preflights(required, []) == ["restoration"]
    assert choose_preflights(required, ["feasibility", "correctness"]) == ["correctness", "feasibility"]
    assert choose_preflights(make_plan(), []) == preflight_ids()
    with pytest.raises(AuditError, match=r"no preflight 'speed'.*Known: correctness"):
        choose_preflights(required, ["speed"])


@pytest.mark.parametrize("preflight_first", [True, False])
def test_pilot_and_preflight_work_in_either_order_and_allow_the_full_run(
    audit, place, backend, run_small, passed_gate, without_optimizer, progress, preflight_first
):
    sealed, plan, pilot = place
    command = ("preflight", plan, "--out", pilot, "--service", backend.url)
    if preflight_first:
        assert audit(*command).code == 0, audit.err
        run_small(sealed, "pilot", pilot)
    else:
        run_small(sealed, "pilot", pilot)
        with pytest.raises(Refused, match=r"requires the restoration preflight, and the pilot .* holds no result"):
            prepare(sealed, "full", pilot.parent / "full", pilot, progress)
        assert audit(*command).code == 0, audit.err
    results = read_results(pilot)
    assert set(results) == {"restoration", "feasibility"}
    for name, result in results.items():
        assert (result.id, result.status, result.plan_sha256) == (name, "pass", sealed.sha256)
        assert result.service["url"] == backend.url
        assert result.versions["runaudit"]
        assert result.started_at.endswith("+00:00")
        assert set(result.git) >= {"commit"}
    source = "timed steps" if preflight_first else "the pilot"
    assert any(source in note for note in results["feasibility"].comparisons[0].notes)
    assert prepare(sealed, "full", pilot.parent / "full", pilot, progress).pilot.status == "pass"


def test_a_failed_preflight_refuses_the_full_run_and_names_the_path(audit, make_plan, tmp_path, backend, run_small,
                                                                    passed_gate, progress):  # fmt: skip
    sealed = make_plan(preflights__feasibility=REQUIRED, budget={"gpu_hours": 1.0, "max_wall_minutes": 60.0},
                       rollout__rollout_batches=10**7)  # fmt: skip
    (tmp_path / "plan.json").write_bytes(sealed.canonical)
    pilot = run_small(sealed, "pilot", tmp_path / "pilot")
    assert audit("preflight", tmp_path / "plan.json", "--out", pilot, "--service", backend.url).code == 1
    assert "fail" in audit.out
    assert "wall_minutes" in audit.out
    with pytest.raises(Refused, match="feasibility preflight is fail: budget, wall_minutes: the whole") as error:
        prepare(sealed, "full", tmp_path / "full", pilot, progress)
    assert error.value.exit_code == 4


def test_formats_for_programs_hold_every_comparison(audit, place, backend, without_optimizer):
    _, plan, pilot = place
    arguments = ("preflight", plan, "--out", pilot, "--service", backend.url, "--only", "restoration", "--format")
    printed = json.loads(audit(*arguments, "json").out)
    assert printed["status"] == "pass"
    assert [check["id"] for check in printed["checks"]] == [
        "restoration/initial_state/dppo_seed0/logprob",
        "restoration/saved_state/restored/logprob",
        "restoration/saved_state/one_update_later/logprob",
        "restoration/optimizer/name",
        "restoration/service/identity",
    ]
    assert set(read_results(pilot)) == {"restoration"}


def test_results_do_not_go_into_another_plan_s_pilot_or_a_full_run(make_plan, run_small, tmp_path):
    sealed, other = make_plan(), make_plan(title="another")
    pilot = run_small(sealed, "pilot", tmp_path / "pilot")
    require_place(sealed, pilot)
    require_place(sealed, tmp_path / "absent")
    with pytest.raises(AuditError, match="holds a pilot run of plan"):
        require_place(other, pilot)
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "note.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(AuditError, match="not empty"):
        require_place(sealed, tmp_path / "used")


def test_a_service_that_is_not_there_is_the_user_s_to_start(audit, place):
    _, plan, pilot = place
    said = audit.refuses("preflight", plan, "--out", pilot, "--service", "http://127.0.0.1:9")
    assert "nothing answers there" in said
    assert not pilot.exists()
