"""Whole small experiments on the embedded service, through the real SDK."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from analysis.errors import Refused
from analysis.losses import reference_losses
from audits.engine.gate import evaluate_gate
from audits.store.reader import check_files, open_run
from audits.store.schema import tables
from runner.loop import arms
from runner.loop import experiment as module
from runner.loop.launch import execute_on, prepare

# The SDK never closes the connection over which it fetches its configuration; whenever that is collected, it warns.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(scope="module")
def pilot(run_small, make_plan, tmp_path_factory):
    """A finished pilot of the small plan."""
    return run_small(make_plan(), "pilot", tmp_path_factory.mktemp("runs") / "pilot")


def _table(run, path):
    return pq.read_table(run / path, partitioning=None).to_pydict()


def _step(run, table, arm, step):
    return _table(run, f"{table}/arm={arm}/seed=0/step={step:06d}.parquet")


def test_a_pilot_is_whole_and_says_what_was_executed(pilot, make_plan):
    run = open_run(pilot)
    manifest = run.manifest
    assert (manifest.status, manifest.kind, manifest.pilot) == ("complete", "pilot", None)
    assert manifest.plan_sha256 == make_plan().sha256
    assert run.sealed.canonical == make_plan().canonical
    assert manifest.executed["evaluation"]["split"] == "validation"
    assert [arm["base_model"] for arm in manifest.executed["arms"]] == ["tiny-addition"] * 2
    assert len(manifest.executed["checkpoints"]) == 2
    assert manifest.finished_at > manifest.started_at
    assert manifest.backend["kind"] == "embedded"
    assert manifest.versions["tinker"]
    for table in tables().values():
        # No loss of this plan has candidates, no critic is measured, and scalars are what other tools logged.
        absent = {"candidates", "scalars", "state_values", "update_directions"}
        assert (check_files(run, table) is None) == (table.name in absent), table.name
    assert run.notes == ()


def test_a_pilot_is_evaluated_on_validation_items_only(pilot):
    splits = dict(zip(*(_table(pilot, "prompts.parquet")[name] for name in ("prompt_id", "split")), strict=True))
    base = _table(pilot, "evals/arm=base/seed=0/checkpoint=base.parquet")
    final = _table(pilot, "evals/arm=dppo/seed=0/checkpoint=final.parquet")
    assert base["item_id"] == final["item_id"]
    assert {splits[item] for item in base["item_id"]} == {"validation"}
    assert len(base["item_id"]) == 6


def test_every_sampled_token_is_a_loss_token_of_one_update(pilot):
    for step in range(2):
        tokens, rollouts = _step(pilot, "tokens", "dppo", step), _step(pilot, "rollouts", "dppo", step)
        assert len(tokens["step"]) == sum(rollouts["n_tokens"])
        pairs = list(zip(tokens["rollout_id"], tokens["position"], strict=True))
        assert len(set(pairs)) == len(pairs)
        groups = dict(zip(rollouts["rollout_id"], rollouts["group_id"], strict=True))
        updates_of_group = {}
        for rollout, update in zip(tokens["rollout_id"], tokens["update"], strict=True):
            updates_of_group.setdefault(groups[rollout], set()).add(update)
        assert all(len(updates) == 1 for updates in updates_of_group.values())
        assert {0, 1} == set.union(*updates_of_group.values())


def test_the_logged_loss_is_the_plans_loss_of_the_logged_tokens(pilot, make_plan):
    plan = make_plan().plan
    for arm in ("grpo", "dppo"):
        for step in range(2):
            tokens, updates = _step(pilot, "tokens", arm, step), _step(pilot, "updates", arm, step)
            which = np.array(tokens["update"])
            columns = [np.array(tokens[name]) for name in ("current_logprob", "sampler_logprob", "advantage")]
            for update in range(2):
                expected = reference_losses(plan.losses[arm], *(column[which == update] for column in columns))
                assert updates["loss"][update] == pytest.approx(expected.total, rel=1e-6, abs=1e-6)
                assert updates["n_loss_tokens"][update] == int((which == update).sum())
            assert json.loads(updates["loss_config"][0]) == plan.losses[arm].model_dump()


def test_the_optimiser_settings_are_the_plans(pilot, make_plan):
    sent = make_plan().plan.optimizer.model_dump(exclude={"name"})
    updates = _step(pilot, "updates", "grpo", 1)
    assert {name: set(updates[name]) for name in sent} == {name: {value} for name, value in sent.items()}
    assert updates["optim_step"] == [3, 4]
    assert updates["base_model"] == ["tiny-addition"] * 2


def test_only_the_second_update_drifts_from_the_sampler(pilot):
    for step in range(2):
        tokens = _step(pilot, "tokens", "dppo", step)
        gap = np.abs(np.array(tokens["current_logprob"]) - np.array(tokens["sampler_logprob"]))
        first = np.array(tokens["update"]) == 0
        assert gap[first].max() < 1e-3
        assert gap[~first].max() > 1e-2


def test_both_arms_share_the_first_steps_tokens_and_the_base_models_logprobs(pilot):
    grpo, dppo = (_step(pilot, "tokens", arm, 0) for arm in ("grpo", "dppo"))
    for name in ("rollout_id", "position", "token_id", "sampler_logprob", "advantage"):
        assert grpo[name] == dppo[name], name


def test_the_same_plan_and_seed_give_the_same_token_files_twice(pilot, run_small, make_plan, tmp_path):
    again = run_small(make_plan(), "pilot", tmp_path / "again")
    files = sorted(path.relative_to(pilot) for path in (pilot / "tokens").rglob("*.parquet"))
    assert len(files) == 4
    for path in files:
        assert (again / path).read_bytes() == (pilot / path).read_bytes(), path


def test_another_seed_gives_other_tokens(pilot, run_small, make_plan, tmp_path):
    arm = {"name": "grpo_seed1", "role": "baseline", "condition": "grpo", "seed": 1, "loss": "grpo"}
    treatment = {"name": "dppo_seed1", "role": "treatment", "condition": "dppo", "seed": 1, "loss": "dppo"}
    plan = make_plan(arms=[arm, treatment], decision_rule__seeds=[1], activation_gate__pilot_steps=1)
    other = run_small(plan, "pilot", tmp_path / "other")
    tokens = _table(other, "tokens/arm=grpo/seed=1/step=000000.parquet")
    assert tokens["token_id"] != _step(pilot, "tokens", "grpo", 0)["token_id"]


def _measured_limits(plan_data):
    """Limits that any drifting pilot meets: these tests are about the order of things, not about the figures."""
    return [
        {"metric": "policy_drift_abs_p_q90", "measures": "drift", "min": 1e-9, "arm": "treatment", "update": 1},
        {
            "metric": "executed_updates_per_batch",
            "measures": "updates",
            "min": plan_data,
            "max": plan_data,
            "arm": "all",
        },
    ]


def test_a_full_run_follows_its_passed_pilot_on_test_items(run_small, make_plan, tmp_path):
    plan = make_plan(activation_gate__checks=_measured_limits(2))
    pilot = run_small(plan, "pilot", tmp_path / "pilot")
    assert evaluate_gate(open_run(pilot), plan.plan).status == "pass"
    full = open_run(run_small(plan, "full", tmp_path / "full"))
    assert full.manifest.pilot.path == "../pilot"
    assert full.manifest.pilot.run_id == open_run(pilot).manifest.run_id
    splits = dict(zip(*(_table(full.path, "prompts.parquet")[name] for name in ("prompt_id", "split")), strict=True))
    items = _table(full.path, "evals/arm=grpo/seed=0/checkpoint=final.parquet")["item_id"]
    assert {splits[item] for item in items} == {"test"}
    assert len(items) == 8


def test_a_dead_gate_stops_the_full_run(run_small, make_plan, tmp_path, progress):
    dead = make_plan(rollout__updates_per_batch=1)
    pilot = run_small(dead, "pilot", tmp_path / "pilot")
    assert open_run(pilot).manifest.status == "complete"
    assert evaluate_gate(open_run(pilot), dead.plan).status == "fail"
    with pytest.raises(Refused, match="executed_updates_per_batch"):
        prepare(dead, "full", tmp_path / "full", None, progress)
    assert not (tmp_path / "full").exists()


class _Stop(BaseException):
    pass


@pytest.mark.parametrize(
    ("error", "status"), [(KeyboardInterrupt, "interrupted"), (RuntimeError, "failed"), (_Stop, "failed")]
)
def test_how_a_run_ended_stands_in_its_manifest(backend, make_plan, tmp_path, progress, monkeypatch, error, status):
    from contextlib import nullcontext

    def break_off(*_arguments):
        raise error

    monkeypatch.setattr(arms._Training, "_evaluate_final", break_off)
    launch = prepare(make_plan(activation_gate__pilot_steps=1), "pilot", tmp_path / "run", None, progress)
    with pytest.raises(error):
        execute_on(launch, nullcontext(backend), progress)
    run = open_run(tmp_path / "run")
    assert run.manifest.status == status
    assert run.manifest.finished_at is not None
    assert run.has("tokens")


def _start(plan, out, tmp_path):
    path = tmp_path / "plan.json"
    path.write_bytes(plan.canonical)
    root = Path(module.__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    environment.pop("TINKER_BASE_URL", None)
    arguments = [sys.executable, "-m", "runner.cli.main", "run", str(path), "--pilot", "--out", str(out)]
    return subprocess.Popen(arguments, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment, text=True)


@pytest.mark.slow
@pytest.mark.usefixtures("sdk")
@pytest.mark.parametrize(
    ("sent", "code", "status"), [(signal.SIGKILL, -9, "running"), (signal.SIGTERM, 130, "interrupted")]
)
def test_a_run_that_is_ended_from_outside_leaves_only_whole_files(make_plan, tmp_path, sent, code, status):
    out = tmp_path / "run"
    process = _start(make_plan(activation_gate__pilot_steps=500), out, tmp_path)
    with process, process.stderr as lines:
        for line in lines:
            if "step 2/500" in line:
                process.send_signal(sent)
                break
        else:
            pytest.fail("the run ended before its second step")
        lines.read()
    assert process.returncode == code
    run = open_run(out)
    assert run.manifest.status == status
    assert len(run.records("tokens")) >= 2
    for table in tables().values():
        check_files(run, table)
    listed = {record.path for record in run.files}
    data = {path.relative_to(out).as_posix() for path in out.rglob("*.parquet")}
    # A file that was renamed into place, but whose line was not yet written, is passed over by every reader.
    assert len(data - listed) <= 4
    assert not list(out.rglob("*.tmp")) or sent is signal.SIGKILL
