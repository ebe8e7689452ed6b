"""The plan's budget: what counts, and that a run stops before it is spent, with everything kept."""

import json
from contextlib import nullcontext

import pytest

from analysis.plan.model import Budget
from audits.store.reader import open_run
from runner.loop import launch as module
from runner.loop.budget import BudgetClock, Pace
from runner.loop.experiment import BudgetReached
from runner.loop.launch import execute_on, prepare
from runner.loop.options import RunOptions
from runner.loop.progress import Elapsed
from runner.loop.setting import Conduct

# The SDK never closes the connection over which it fetches its configuration; whenever that is collected, it warns.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

TWO_HOURS = Budget(gpu_hours=2.0, max_wall_minutes=120.0)


@pytest.mark.parametrize(
    ("budget", "gpus", "cap"),
    [
        (TWO_HOURS, 1.0, 7200.0),
        (TWO_HOURS, 2.0, 3600.0),
        (TWO_HOURS, 0.5, 7200.0),
        (Budget(gpu_hours=0.0, max_wall_minutes=10.0), 1.0, 600.0),
        (None, 1.0, None),
    ],
)
def test_the_tighter_cap_counts(budget, gpus, cap):
    assert BudgetClock(budget, gpus, lambda: 0.0).cap_seconds == cap


def test_what_the_pilot_and_earlier_attempts_took_counts_too():
    clock = BudgetClock(TWO_HOURS, 1.0, lambda: 3000.0, spent_before=600.0)
    assert clock.share_used == 0.5
    assert clock.allows(3600.0)
    assert not clock.allows(3600.1)


def test_without_a_budget_everything_fits():
    clock = BudgetClock(None, 1.0, lambda: 1e9)
    assert clock.allows(1e9)
    assert clock.share_used is None


def test_the_longest_of_each_kind_of_work_is_what_the_next_may_take():
    pace = Pace()
    for seconds in (1.0, 3.0, 2.0):
        pace.note("step", seconds)
    assert pace.longest("step") == 3.0
    assert pace.longest("evaluation") == 0.0


class _Hurried(Elapsed):
    """A clock that a test moves on."""

    moved = 0.0

    @property
    def seconds(self):
        return _Hurried.moved


def test_a_run_stops_before_its_budget_is_spent_and_keeps_what_it_has(
    backend, make_plan, progress, tmp_path, monkeypatch
):
    plan = make_plan(budget={"gpu_hours": 2.0, "max_wall_minutes": 10.0}, activation_gate__pilot_steps=3)
    original = Conduct.note_step

    def hurry(self, report):
        original(self, report)
        _Hurried.moved = 599.99 if report.step == 1 else 60.0

    monkeypatch.setattr(_Hurried, "moved", 1.0)
    monkeypatch.setattr(module, "Elapsed", _Hurried)
    monkeypatch.setattr(Conduct, "note_step", hurry)
    launch = prepare(plan, "pilot", tmp_path / "run", None, progress)
    with pytest.raises(BudgetReached, match=r"stopped by the plan's budget: 10\.0 of 10\.0 minutes") as stopped:
        execute_on(launch, nullcontext(backend), progress, RunOptions(concurrency=1))
    assert stopped.value.exit_code == 4
    run = open_run(tmp_path / "run")
    assert run.manifest.status == "stopped_by_budget"
    assert run.manifest.wall_seconds == 599.99
    assert {record.path.rsplit("/", 1)[-1] for record in run.records("tokens")} == {
        "step=000000.parquet",
        "step=000001.parquet",
    }
    assert not any("final" in record.path for record in run.records("evals"))
    lines = [json.loads(line) for line in (tmp_path / "run" / "progress.jsonl").read_text().splitlines()]
    assert [line["budget_used"] for line in lines if line["event"] == "step"] == [1.0 / 600.0, 60.0 / 600.0]
    # Nothing is left of the budget, and going on says so at once.
    before = (tmp_path / "run" / "files.jsonl").read_bytes()
    again = prepare(plan, "pilot", tmp_path / "run", None, progress, resume=True)
    with pytest.raises(BudgetReached):
        execute_on(again, nullcontext(backend), progress, RunOptions(concurrency=1))
    assert (tmp_path / "run" / "files.jsonl").read_bytes() == before
