"""Advantages against rewards: which fault is named, what is tolerated, and that a mended run passes."""

import numpy as np
import pytest
from made_groups import SIZE, grouped_rollouts, mixed_rewards, write_groups
from made_run import STARTED_AT, rewrite

from audits.engine.audit import run_audit
from audits.store.manifest import ArmRecord, Manifest
from audits.store.reader import connect, open_run
from audits.store.writer import RunWriter

N_GROUPS = 12


def audit_of(path):
    run = open_run(path)
    with connect(run) as connection:
        return run_audit(connection, run, "group_advantages")


def run_with(path, change, *, plan=True, steps=1, rewards_of=lambda step: mixed_rewards(N_GROUPS, step)):
    """Write a run whose rollout columns were changed in the treatment; without a plan, an imported one."""

    def columns(arm, step):
        made = grouped_rollouts(step, rewards_of(step))
        if arm == "dppo":
            change(made, rewards_of(step))
        return made

    if plan:
        return write_groups(path, columns, steps)
    arms = [ArmRecord(arm="dppo", seed=0, role="treatment", name="dppo")]
    manifest = Manifest(run_id="imported", kind="imported", status="complete", arms=arms, started_at=STARTED_AT)
    writer = RunWriter.create(path, manifest, None)
    for step in range(steps):
        writer.write_step("dppo", 0, step, {"rollouts": columns("dppo", step)})
    return path


def faults_of(found):
    names = found.columns
    return [dict(zip(names, row, strict=True)) for row in found.rows]


def advantage(compute):
    """Return a change that replaces the advantages by compute(rewards), of the rewards' shape."""

    def change(columns, rewards):
        columns["advantage"] = compute(rewards).ravel().tolist()

    return change


def centred(rewards):
    return rewards - rewards.mean(axis=1, keepdims=True)


def over_strides(rewards):
    """Take the flat rewards as interleaved: rollout i belongs to prompt i modulo the number of groups."""
    interleaved = rewards.ravel().reshape(rewards.shape[1], rewards.shape[0])
    return interleaved - interleaved.mean(axis=0, keepdims=True)


NAMED = {
    "batch": (advantage(lambda r: r - r.mean()), "wrong grouping", "whole batch"),
    "strides": (advantage(over_strides), "wrong grouping", "every n-th rollout"),
    "std": (advantage(lambda r: centred(r) / (r.std(axis=1, keepdims=True) + 1e-4)), "scaled", "standard deviation of"),
    "std n-1": (advantage(lambda r: centred(r) / r.std(axis=1, keepdims=True, ddof=1)), "scaled", "(n - 1)"),
    "leave one out": (advantage(lambda r: centred(r) * SIZE / (SIZE - 1)), "scaled", "mean of the others"),
    "tenfold": (advantage(lambda r: 10 * centred(r)), "scaled", "10 times"),
    "turned": (advantage(lambda r: -centred(r)), "sign turned", "-1 times"),
    "raw reward": (advantage(lambda r: r), "not centred", "baseline 0 instead of the group mean"),
    "zero": (advantage(lambda r: 0 * r), "does not follow", "advantage 0"),
    "other group": (advantage(lambda r: np.roll(centred(r), 1, axis=1) + 0.01 * r), "does not follow", "rollout"),
}


@pytest.mark.parametrize("name", NAMED)
def test_the_fault_is_named(name, tmp_path):
    change, fault, detail = NAMED[name]
    found = audit_of(run_with(tmp_path / "run", change))
    assert found.check.status == "fail"
    of_interest = [row for row in faults_of(found) if row["fault"] == fault]
    assert len(of_interest) >= N_GROUPS // 2, found.check.reason
    assert all(row["arm"] == "dppo" and row["severity"] == "fail" for row in of_interest)
    assert detail in of_interest[0]["detail"]


def test_centring_over_a_prompt_in_all_steps_is_a_wrong_grouping(tmp_path):
    both = np.stack([mixed_rewards(N_GROUPS, step) for step in (0, 1)])
    mean = both.mean(axis=(0, 2))[:, None]
    found = audit_of(run_with(tmp_path / "run", advantage(lambda rewards: rewards - mean), steps=2))
    assert "wrong grouping" in found.check.reason
    assert any("all steps together" in row["detail"] for row in faults_of(found))


def test_samples_that_lie_interleaved_and_were_centred_as_neighbours_are_a_wrong_grouping(tmp_path):
    def change(columns, rewards):
        columns["group_id"] = [number % N_GROUPS for number in range(rewards.size)]
        columns["prompt_id"] = [f"p{group}" for group in columns["group_id"]]

    found = audit_of(run_with(tmp_path / "run", change))
    assert any("neighbouring rollout ids" in row["detail"] for row in faults_of(found))


def test_two_groups_of_one_prompt_centred_together_are_a_wrong_grouping(tmp_path):
    def change(columns, rewards):
        columns["prompt_id"] = [f"p{group // 2}" for group in columns["group_id"]]
        pairs = rewards.reshape(N_GROUPS // 2, -1)
        columns["advantage"] = (pairs - pairs.mean(axis=1, keepdims=True)).ravel().tolist()

    found = audit_of(run_with(tmp_path / "run", change))
    assert any("has several groups" in row["detail"] for row in faults_of(found))


def test_scaling_is_a_failure_of_a_planned_run_and_a_warning_of_an_imported_one(tmp_path):
    def change(columns, rewards):
        columns["advantage"] = (centred(rewards) / rewards.std(axis=1, keepdims=True)).ravel().tolist()

    assert audit_of(run_with(tmp_path / "planned", change)).check.status == "fail"
    assert audit_of(run_with(tmp_path / "imported", change, plan=False)).check.status == "warn"


def test_a_wrong_grouping_is_a_failure_without_a_plan_too(tmp_path):
    change = advantage(lambda rewards: rewards - rewards.mean())
    assert audit_of(run_with(tmp_path / "imported", change, plan=False)).check.status == "fail"


@pytest.mark.parametrize("error", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("column", ["reward", "advantage"])
def test_a_number_that_is_none_is_one_finding_and_spoils_no_other_group(error, column, tmp_path):
    def change(columns, rewards):
        columns[column][5] = error

    found = audit_of(run_with(tmp_path / "run", change))
    (row,) = faults_of(found)
    assert (row["fault"], row["group_id"], "first rollout 5" in row["detail"]) == ("not finite", 1, True)


def test_an_advantage_that_was_not_logged_is_missing_evidence_and_the_rest_of_its_group_is_judged(tmp_path):
    def without(columns, rewards):
        columns["advantage"][5] = None
        columns["prompt_id"] = [None] * rewards.size

    found = audit_of(run_with(tmp_path / "run", without, plan=False))
    assert [(row["fault"], row["severity"], row["group_id"]) for row in faults_of(found)] == [
        ("no advantage", "inconclusive", 1)
    ]

    def wrong_too(columns, rewards):
        without(columns, rewards)
        columns["advantage"][6] += 0.3

    assert audit_of(run_with(tmp_path / "wrong", wrong_too, plan=False)).check.status == "fail"


def test_several_prompts_in_a_group_and_a_group_of_another_size_than_planned(tmp_path):
    def change(columns, rewards):
        columns["prompt_id"][0] = "'; DROP TABLE rollouts; --\0"
        columns["group_id"][-1] = N_GROUPS - 2
        last = np.array(columns["reward"][-2 * SIZE :])
        parts = [last[:SIZE], last[SIZE:-1]]
        joined = np.append(parts[0], last[-1])
        columns["advantage"][-2 * SIZE : -SIZE] = (joined[:-1] - joined.mean()).tolist()
        columns["advantage"][-SIZE:-1] = (parts[1] - parts[1].mean()).tolist()
        columns["advantage"][-1] = joined[-1] - joined.mean()

    found = faults_of(audit_of(run_with(tmp_path / "run", change)))
    assert [(row["fault"], row["group_id"], row["detail"]) for row in found] == [
        ("group size", N_GROUPS - 2, "5 rollouts, 4 planned"),
        ("group size", N_GROUPS - 1, "3 rollouts, 4 planned"),
        ("several prompts in one group", 0, "2 prompts in 4 rollouts"),
        ("several prompts in one group", N_GROUPS - 2, "2 prompts in 5 rollouts"),
    ]


def test_constant_groups_and_single_rollouts_with_advantage_0_are_no_finding(tmp_path):
    path = run_with(tmp_path / "run", lambda *_: None, rewards_of=lambda step: np.full((N_GROUPS, SIZE), -0.1))
    assert audit_of(path).check.status == "pass"
    alone = run_with(
        tmp_path / "alone", lambda *_: None, plan=False, rewards_of=lambda step: np.arange(3.0).reshape(3, 1)
    )
    assert audit_of(alone).check.status == "pass"


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9, 1e200])
def test_float32_advantages_pass_at_any_scale_of_the_rewards_and_an_error_of_a_tenth_does_not(scale, tmp_path):
    rewards = scale * (mixed_rewards(N_GROUPS) + np.random.default_rng(1).random((N_GROUPS, SIZE)))
    short = np.float32 if scale < 1e30 else np.float64
    good = run_with(
        tmp_path / "good", advantage(lambda r: centred(r).astype(short).astype(float)), rewards_of=lambda step: rewards
    )
    assert audit_of(good).check.status == "pass"

    def spoil(columns, _):
        columns["advantage"][0] += 0.1 * scale

    assert audit_of(run_with(tmp_path / "bad", spoil, rewards_of=lambda step: rewards)).check.status == "fail"


def test_four_decimals_are_tolerated_in_an_imported_run_only(tmp_path):
    rewards = np.random.default_rng(2).random((N_GROUPS, 3))

    def rounded(columns, _):
        columns["advantage"] = np.round(columns["advantage"], 4).tolist()
        columns["reward"] = np.round(columns["reward"], 4).tolist()

    imported = run_with(tmp_path / "imported", rounded, plan=False, rewards_of=lambda step: rewards)
    assert audit_of(imported).check.status == "pass"
    assert "does not follow" in audit_of(run_with(tmp_path / "run", rounded, rewards_of=lambda _: rewards)).check.reason


def test_a_run_mended_by_hand_passes_and_the_note_says_how_far_the_advantages_are_off(tmp_path):
    path = run_with(tmp_path / "run", advantage(lambda r: r))
    found = audit_of(path)
    assert found.check.status == "fail"
    assert "dppo: 48 rollouts in 12 groups; largest difference" in found.check.notes[0]

    def mend(table):
        mended = centred(table["reward"].to_numpy().reshape(N_GROUPS, SIZE)).ravel()
        return table.set_column(table.schema.get_field_index("advantage"), table.schema.field("advantage"), [mended])

    rewrite(path, "rollouts/arm=dppo/seed=0/step=000000.parquet", mend)
    assert audit_of(path).check.status == "pass"
