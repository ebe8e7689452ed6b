"""The predicted cost of a full run against the budget."""

import datetime
import math

import pytest
from made_run import arms_of, made_plan, sealed

from audits.store.manifest import Manifest
from audits.store.writer import RunWriter
from runner.loop.preflight import feasibility
from runner.loop.probes.service import Preparation

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
BEGUN = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)


@pytest.fixture
def predicted(tmp_path, progress):
    """Predict from a pilot whose arms ran one after the other: `step_seconds` an arm, evaluations of 2 s."""

    def predict(step_seconds, budget, *, required=True, side_by_side=False, evaluation=2.0, curve=None):
        plan = made_plan(
            budget=budget, preflights__feasibility={"required": required, "settings": {}},
            rollout__rollout_batches=30, task__test_items=20, task__validation_items=10,
            evaluation__curve=curve,
        )  # fmt: skip
        seal, run = sealed(plan), tmp_path / "pilot"
        manifest = Manifest(run_id="pilot", kind="pilot", status="complete", arms=arms_of(plan),
                            started_at=BEGUN.isoformat(), plan_sha256=seal.sha256)  # fmt: skip
        writer, clock = RunWriter.create(run, manifest, seal), BEGUN + datetime.timedelta(seconds=4)
        _write(writer, "base", -1, [("eval", clock, evaluation)])
        for record in arms_of(plan):
            at = BEGUN + datetime.timedelta(seconds=10) if side_by_side else clock
            for step, seconds in enumerate(step_seconds):
                half = datetime.timedelta(seconds=seconds / 2)
                _write(writer, record.arm, step, [("sample", at, seconds / 2), ("train", at + half, seconds / 2)])
                at += 2 * half
            clock = at
            _write(writer, record.arm, -1, [("eval", at, evaluation)])
        return {item.metric: item for item in feasibility.run(Preparation(seal, run, None, {}, progress))}

    return predict


def _write(writer, arm, step, phases):
    columns = {
        "step": [step] * len(phases),
        "phase": [phase for phase, _, _ in phases],
        "started_at": [at for _, at, _ in phases],
        "seconds": [seconds for _, _, seconds in phases],
    }
    writer.write_step(arm, 0, step, {"phases": columns})


def test_equal_steps_are_counted_out(predicted):
    found = predicted([3.0, 3.0, 3.0], {"gpu_hours": 1.0, "max_wall_minutes": 10.0})
    # 60 steps of 3 s, 3 evaluations of 20 items at 0.2 s, 4 s of start-up.
    assert found["wall_minutes"].value == pytest.approx((180 + 12 + 4) / 60)
    assert found["gpu_hours"].value == pytest.approx(196 / 3600)
    assert {item.status for item in found.values()} == {"pass"}
    assert found["wall_minutes"].n == 6


def test_arms_side_by_side_take_half_the_wall_time(predicted):
    found = predicted([3.0, 3.0, 3.0], {"gpu_hours": 1.0, "max_wall_minutes": 10.0}, side_by_side=True)
    assert found["wall_minutes"].value == pytest.approx((90 + 12 + 4) / 60)


def test_an_interval_above_the_budget_fails_and_says_both(predicted):
    found = predicted([3.0, 3.3, 2.7], {"gpu_hours": 0.01, "max_wall_minutes": 10.0})
    assert (found["gpu_hours"].status, found["wall_minutes"].status) == ("fail", "pass")
    assert "above the budget of 0.01" in found["gpu_hours"].reason
    assert found["gpu_hours"].mend


def test_an_interval_that_holds_the_budget_warns(predicted):
    found = predicted([1.0, 3.0, 5.0], {"gpu_hours": 1.0, "max_wall_minutes": 4.0})
    assert found["wall_minutes"].status == "warn"
    assert "holds the budget of 4" in found["wall_minutes"].reason


@pytest.mark.parametrize(("required", "status"), [(True, "inconclusive"), (False, "not_applicable")])
def test_without_a_budget_there_is_nothing_to_pass(predicted, required, status):
    found = predicted([3.0, 3.0], None, required=required)
    assert found["wall_minutes"].status == status
    assert "no budget" in found["wall_minutes"].reason
    assert "predicted" in found["wall_minutes"].reason


def test_the_method_and_the_source_are_stated(predicted):
    found = predicted([3.0, 3.0], {"gpu_hours": 1.0, "max_wall_minutes": 10.0})["wall_minutes"]
    assert "log-normal" in found.reference
    assert any("pilot" in note for note in found.notes)
    assert any(note.startswith("interval") for note in found.notes)


def test_without_a_pilot_a_few_steps_are_timed_and_nothing_stays(make_plan, backend, progress, tmp_path):
    plan = make_plan(budget={"gpu_hours": 1.0, "max_wall_minutes": 60.0})
    found = {item.metric: item for item in
             feasibility.run(Preparation(plan, tmp_path / "pilot", backend, {}, progress))}  # fmt: skip
    assert found["wall_minutes"].n == 3 * 2
    assert math.isfinite(found["wall_minutes"].value)
    assert not (tmp_path / "pilot").exists()


def test_the_points_of_a_curve_are_counted(predicted):
    found = predicted([3.0, 3.0], {"gpu_hours": 1.0, "max_wall_minutes": 10.0}, curve={"every_steps": 12, "items": 5})
    # The base model and steps 12, 24 and 30 of both arms: 7 points of 5 items at 0.2 s more.
    assert found["wall_minutes"].value == pytest.approx((180 + 12 + 7 + 4) / 60)
