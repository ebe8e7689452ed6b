"""Watched metrics: an unexpected movement is a warning with its onset, both arms shown."""

import json
import math

import numpy as np
import pytest
from made_run import gate_check, made_plan, rewrite, rollouts, write_run
from random_run import token_columns, write_rows

from audits.engine import gate as gate_module
from audits.engine.drift import drift_report
from audits.engine.gate import evaluate_gate
from audits.engine.metric import load_metric
from audits.engine.standing import gate_sha256
from audits.engine.watch import watch_asks, watched_metrics
from audits.store.reader import open_run


def plan_of(steps, metric="dppo_masked_token_fraction"):
    plan = made_plan(activation_gate__pilot_steps=steps, rollout__rollout_batches=steps)
    plan["activation_gate"]["checks"] = [gate_check(plan, metric)]
    return plan


def pilot(path, first, *, arms=("dppo", "grpo"), seeds=(0,), plan=None):
    """Write a pilot whose first update is off by first[arm, step] nats, whose second moves nothing far enough."""
    rows = {}
    for arm in arms:
        for seed in seeds:
            for step, gap in enumerate(first[arm]):
                sampler = np.full(8, -2.0)
                both = np.r_[sampler, sampler]
                current = np.r_[sampler + gap * np.array([1, -1] * 4), sampler + 0.01]
                update, advantage = np.repeat([0, 1], 8), np.tile([1.0, -1.0], 8)
                rows["tokens", arm, seed, step] = token_columns(step, update, both, current, advantage)
    return write_and_open(path, rows, plan or plan_of(len(first["dppo"])))


def write_and_open(path, rows, plan):
    write_rows(path / "run", rows, plan)
    return open_run(path / "run")


def steady(n):
    return np.full(n, 0.014)


def watched(run, metric_id="first_update_mismatch"):
    report = evaluate_gate(run, run.sealed.plan)
    return report, {check.arm: check for check in report.checks if check.id == metric_id}


def test_no_clip_ever_and_a_rising_mismatch_is_a_failed_gate_with_both_causes_named(audit, tmp_path):
    # Every peer that was tried calls such a run healthy.
    rising = np.linspace(0.014, 0.81, 200)
    run = pilot(tmp_path, {"dppo": rising, "grpo": steady(200)}, plan=plan_of(200, "grpo_clip_fraction"))
    assert audit("gate", run.path, "--format", "json").code == 1
    found = json.loads(audit.out)
    checks = {(check["id"], check["arm"]): check for check in found["checks"]}
    clip = checks["grpo_clip_fraction", "dppo"]
    assert (found["status"], clip["status"], clip["value"], clip["numerator"]) == ("fail", "fail", 0, 0)
    assert clip["reason"].startswith("the rule did not fire: the largest |ratio - 1| in the clipped direction")
    assert clip["reason"].endswith("was 0.0101")
    moved, other = (checks["first_update_mismatch", arm] for arm in ("dppo", "grpo"))
    assert (moved["status"], other["status"], other["value"]) == ("warn", "pass", pytest.approx(0.014, rel=1e-5))
    assert moved["limit"] in (None, {"max": None, "min": None, "one_of": None})
    assert "seed 0: rose out of its earlier range from step 22 on" in moved["reason"]
    assert "the median of its first 8 steps was 0.028" in moved["reason"]
    assert "0.102 at the onset, 0.806 at the end" in moved["reason"]


def test_a_movement_is_a_warning_with_its_cause_and_its_onset(audit, tmp_path):
    run = pilot(tmp_path, {"dppo": np.r_[steady(8), [0.5] * 4], "grpo": steady(12)})
    _, found = watched(run)
    assert (found["dppo"].status, found["grpo"].status) == ("warn", "pass")
    assert "stale sampler weights" in found["dppo"].mend
    audit("gate", run.path)
    assert "stale sampler weights" in audit.out
    assert "rose out of its earlier range from step 8 on" in audit.out
    assert found["dppo"].definition == "abs_logprob_difference_mean@sampler/loss_tokens"


@pytest.mark.parametrize(("gap", "status"), [(0.0012, "warn"), (0.0008, "pass")])
def test_what_is_smaller_than_the_header_s_movement_is_none(tmp_path, gap, status):
    run = pilot(tmp_path, {"dppo": np.r_[steady(8), [0.014 + gap] * 4], "grpo": steady(12)})
    assert watched(run)[1]["dppo"].status == status


def test_a_mismatch_that_falls_is_no_warning(tmp_path):
    run = pilot(tmp_path, {"dppo": np.r_[np.full(8, 0.5), steady(4)], "grpo": steady(12)})
    assert watched(run)[1]["dppo"].status == "pass"


def test_too_few_steps_are_not_applicable_and_say_how_many_it_takes(tmp_path):
    found = watched(pilot(tmp_path, {"dppo": np.r_[steady(8), 0.5, 0.5], "grpo": steady(10)}))[1]["dppo"]
    assert (found.status, found.reason) == (
        "not_applicable",
        "a movement needs 11 steps of a seed to be seen, 10 were logged",
    )


def test_as_many_steps_as_it_takes_are_enough_to_pass(tmp_path):
    found = watched(pilot(tmp_path, {"dppo": steady(11), "grpo": steady(11)}))[1]
    assert {check.status for check in found.values()} == {"pass"}


def test_an_arm_that_was_never_logged_is_inconclusive(tmp_path):
    _, found = watched(pilot(tmp_path, {"dppo": steady(12)}, arms=("dppo",)))
    assert (found["dppo"].status, found["grpo"].status, found["grpo"].value) == ("pass", "inconclusive", None)
    assert "no row of arm grpo on update 0 in table tokens" in found["grpo"].reason


def test_rows_that_are_no_numbers_fail_and_show_no_figure(tmp_path):
    run = pilot(tmp_path, {"dppo": np.r_[steady(11), math.nan], "grpo": steady(12)})
    found = watched(run)[1]["dppo"]
    assert (found.status, found.value) == ("fail", None)
    assert "8 of 96 rows are NaN" in found.reason


def test_steps_beyond_the_gate_s_and_seeds_beside_the_plan_s_are_not_watched(tmp_path):
    first = {"dppo": np.r_[steady(12), [0.5] * 8], "grpo": steady(20)}
    assert watched(pilot(tmp_path, first, plan=plan_of(12)))[1]["dppo"].status == "pass"
    assert watched(pilot(tmp_path / "whole", first))[1]["dppo"].status == "warn"


def drifting(path, ratios):
    """Write a run of one arm whose second update has these log ratios at each step."""
    rows = {}
    for step, own in enumerate(ratios):
        update, sampler = np.repeat([0, 1], len(own)), np.full(2 * len(own), -1500.0)
        current = sampler + np.r_[np.zeros(len(own)), own]
        rows["tokens", "dppo", 0, step] = token_columns(step, update, sampler, current, np.ones(2 * len(own)))
    return write_and_open(path, rows, made_plan())


def test_steps_whose_figure_overflows_are_passed_over_and_the_onset_keeps_its_step(tmp_path):
    calm, apart, overflow = np.zeros(4), np.array([0.0, 0.0, 0.0, 3.0]), np.full(4, 900.0)
    steps = [calm, calm, overflow, *[calm] * 6, apart, overflow, apart, apart]
    report = drift_report(drifting(tmp_path, steps), None).checks
    (found,) = (check for check in report.checks if check.id == "effective_sample_size")
    assert found.status == "warn"
    assert "fell out of its earlier range from step 9 on" in found.reason
    assert "1 at" not in found.reason.split("range [")[1]
    assert report.status == "warn"
    assert "2 of 13 steps have no figure" in found.reason


@pytest.mark.parametrize("log_ratio", [900.0, -900.0])
def test_figures_that_overflow_are_a_warning_though_nothing_is_left_to_move(tmp_path, log_ratio):
    collapsed = [*[np.zeros(4)] * 9, *[np.full(4, log_ratio)] * 3]
    report = drift_report(drifting(tmp_path, collapsed), None).checks
    (found,) = (check for check in report.checks if check.id == "effective_sample_size")
    assert found.status == "warn"
    assert "3 of 12 steps have no figure: their logged numbers are finite" in found.reason


def test_an_arm_without_a_first_update_is_inconclusive_and_names_the_update(tmp_path):
    columns = token_columns(0, 1, [-1.0], [-1.0], [1.0])
    run = write_and_open(tmp_path, {("tokens", "dppo", 0, 0): columns}, plan_of(1))
    found = watched(run)[1]["dppo"]
    assert (found.status, found.reason) == (
        "inconclusive",
        "no row of arm dppo on update 0 in table tokens; it is written by `audit run`",
    )


def test_a_watched_metric_whose_threshold_no_plan_gives_is_not_asked(tmp_path):
    run = drifting(tmp_path, [np.zeros(2)] * 3)
    metrics = [load_metric(name) for name in ("effective_sample_size", "kl_k3", "zero_variance_group_fraction")]
    asks = watch_asks(run, metrics, {"dppo": None, "grpo": (0,)}, {})
    # kl_k3 has no watch line, and rollouts were not logged.
    assert [(ask.metric.id, ask.arm) for ask in asks] == [
        ("effective_sample_size", "dppo"),
        ("effective_sample_size", "grpo"),
    ]


def test_the_gate_watches_the_mismatch_and_drift_watches_more():
    in_gate, in_drift = ({metric.id for metric in watched_metrics(in_gate=only)} for only in (True, False))
    assert "first_update_mismatch" in in_gate < in_drift
    assert "effective_sample_size" in in_drift - in_gate


@pytest.mark.parametrize(("mixed", "status"), [(0, "warn"), (1, "not_applicable")])
def test_a_level_that_deserves_a_warning_needs_no_movement(tmp_path, mixed, status):
    # Of 3 groups a step `mixed` have two rewards; the header warns where nearly all of them have one.
    plan = plan_of(2)
    write_run(tmp_path / "run", plan)
    found = watched(open_run(with_groups(tmp_path / "run", mixed)), "zero_variance_group_fraction")[1]
    assert {check.status for check in found.values()} == {status}
    assert found["dppo"].value == pytest.approx(1 - mixed / 3)
    if status == "warn":
        assert found["dppo"].reason.startswith("1 is above 0.8: ")


def with_groups(path, mixed):
    """Replace the rollouts of each step by three groups of two, of which `mixed` have different rewards."""
    rewards = np.array([[1.0, 0.0]] * mixed + [[1.0, 1.0]] * (3 - mixed)).ravel()
    columns = rollouts(0, rewards) | {"group_id": np.repeat([0, 1, 2], 2)}
    for file in sorted((path / "rollouts").rglob("*.parquet")):
        step = int(file.stem.removeprefix("step="))
        rewrite(path, file.relative_to(path).as_posix(), lambda table, step=step: replaced(table, columns, step))
    return path


def replaced(table, columns, step):
    import pyarrow as pa

    return pa.table({**columns, "step": [step] * len(columns["reward"])}, schema=table.schema)


def test_what_else_a_version_watches_leaves_the_digest_of_a_gate_alone(tmp_path, monkeypatch):
    run = open_run(write_run(tmp_path / "run"))
    watching = evaluate_gate(run, run.sealed.plan)
    monkeypatch.setattr(gate_module, "watched_metrics", lambda *, in_gate: [])
    alone = evaluate_gate(run, run.sealed.plan)
    assert len(watching.checks) > len(alone.checks)
    assert gate_sha256(watching) == gate_sha256(alone)


def test_a_figure_of_a_second_update_does_not_apply_to_a_log_with_one(tmp_path):
    """Tools that take one update a batch would otherwise never see a drift without missing evidence."""
    rows = {
        ("tokens", arm, 0, step): token_columns(step, 0, np.full(4, -2.0), np.full(4, -2.1), np.ones(4))
        for arm in ("dppo", "grpo") for step in range(3)
    }  # fmt: skip
    run = write_and_open(tmp_path, rows, plan_of(3))
    found = [check for check in drift_report(run, run.sealed.plan).checks.checks if check.id == "effective_sample_size"]
    assert [check.status for check in found] == ["not_applicable"] * 2
    assert "the figure is of update 1 of a batch (0-based), and 1 was executed" in found[0].reason
