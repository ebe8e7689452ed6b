"""`audit run`: what it answers before and after an experiment; the experiment itself has tests of its own."""

import json

import pytest
from made_run import change_json, made_plan, sealed, write_run

from runner.loop import launch
from runner.loop.experiment import BudgetReached
from runner.loop.options import RunOptions


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(made_plan()))
    return path


@pytest.fixture
def executed(monkeypatch):
    """Stand in for the experiment; `executed.ends_with` is raised."""

    class Executed:
        ends_with = None

        def __call__(self, prepared, service, progress, options):
            self.launch, self.options = prepared, options
            if self.ends_with is not None:
                raise self.ends_with
            return prepared.out

    stand_in = Executed()
    monkeypatch.setattr(launch, "execute", stand_in)
    monkeypatch.setattr(launch, "unresolved_names", lambda plan: ())
    return stand_in


def _begun(tmp_path, **changes):
    """A pilot that was begun by this very code."""
    run = write_run(tmp_path / "run", status="interrupted")
    versions = {**launch.versions(), "source_sha256": launch.source_sha256()}
    change_json(run / "run.json", versions=versions, git=launch.git_state(tmp_path), **changes)
    return run


def test_every_switch_reaches_the_run(audit, plan, executed, tmp_path):
    words = ["--concurrency", 3, "--save-every", 4, "--retries", 5, "--retry-seconds", 60, "--result-seconds", 70]
    audit("run", plan, "--pilot", "--out", tmp_path / "run", "--service", "embedded", *words, "--gpus", 2)
    assert audit.code == 0, audit.err
    options = executed.options
    assert (options.concurrency, options.save_every, options.gpus) == (3, 4, 2.0)
    assert (options.patience.retries, options.patience.seconds, options.patience.result_seconds) == (5, 60.0, 70.0)
    audit("run", plan, "--pilot", "--out", tmp_path / "run", "--service", "embedded")
    assert executed.options == RunOptions()
    assert executed.launch.before is None


def test_a_run_in_the_way_is_not_written_to_and_the_way_on_is_named(audit, plan, executed, tmp_path):
    run = _begun(tmp_path)
    before = sorted(run.rglob("*"))
    said = audit.refuses("run", plan, "--pilot", "--out", run, "--service", "embedded")
    assert "--resume" in said
    assert sorted(run.rglob("*")) == before


def test_resuming_a_complete_run_says_so_and_is_no_error(audit, plan, executed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = _begun(tmp_path, status="complete")
    audit("run", plan, "--pilot", "--out", run, "--service", "embedded", "--resume")
    assert (audit.code, audit.out.count("was complete already")) == (0, 1)
    assert not hasattr(executed, "launch")


def test_the_named_sweep_reaches_the_run_and_a_resumed_run_keeps_its_own(audit, executed, tmp_path):
    content = made_plan(sweep={"learning_rates": {"grpo": [1e-4], "dppo": [1e-4]}})
    plan = tmp_path / "swept.json"
    plan.write_text(json.dumps(content))
    folder = tmp_path / "elsewhere" / "sweep"
    folder.mkdir(parents=True)
    said = {"plan_sha256": sealed(content).sha256, "split": "validation", "rates": []}
    (folder / "sweep.json").write_text(json.dumps({**said, "chosen": {"learning_rate": None}}))
    words = ["run", plan, "--pilot", "--out", tmp_path / "run", "--service", "embedded", "--sweep", folder]
    audit(*words)
    assert audit.code == 0, audit.err
    assert executed.launch.sweep.link.path == "../elsewhere/sweep"
    assert "leave --sweep out" in audit.refuses(*words, "--resume")


def test_another_pilot_for_a_run_that_has_one_is_refused_and_not_passed_over(audit, plan, executed, tmp_path):
    words = ["--resume", "--pilot-run", tmp_path / "other"]
    said = audit.refuses("run", plan, "--out", tmp_path / "full", "--service", "embedded", *words)
    assert "leave --pilot-run out" in said
    assert not hasattr(executed, "launch")


def test_the_exit_code_says_why_it_ended(audit, plan, executed, tmp_path):
    words = ["run", plan, "--pilot", "--out", tmp_path / "run", "--service", "embedded"]
    executed.ends_with = KeyboardInterrupt()
    assert "--resume goes on" in audit.refuses(*words, code=130)
    executed.ends_with = BudgetReached("runs/x: stopped by the plan's budget")
    assert "stopped by the plan's budget" in audit.refuses(*words, code=4)


def test_another_kind_or_plan_is_refused_before_a_pilot_is_looked_for(audit, plan, executed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = _begun(tmp_path)
    said = audit.refuses("run", plan, "--out", run, "--service", "embedded", "--resume", code=4)
    assert "kind: pilot when it was begun, full here" in said
    other = tmp_path / "other.json"
    other.write_text(json.dumps({**made_plan(), "title": "another"}))
    said = audit.refuses("run", other, "--pilot", "--out", run, "--service", "embedded", "--resume", code=4)
    assert "plan (sha256)" in said
