"""Steps that trained on nothing: from rollouts, from tokens, and from the figures that another tool logged."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from made_groups import grouped_rollouts, mixed_rewards, write_groups
from made_run import STARTED_AT, active_tokens, rewrite, write_run

from audits.engine.audit import run_audit
from audits.store.manifest import ArmRecord, Manifest
from audits.store.reader import connect, open_run
from audits.store.sandbox import query
from audits.store.writer import RunWriter

SAMPLE = Path(__file__).parents[1] / "data" / "tinker-rl-lab" / "arithmetic_groups.jsonl"
FRAC_MIXED = "env/all/by_group/frac_mixed"


def audit_of(path):
    run = open_run(path)
    with connect(run) as connection:
        return run_audit(connection, run, "zero_signal")


def imported(path):
    arms = [ArmRecord(arm="published", seed=0, role="other", name="published")]
    manifest = Manifest(run_id="imported", kind="imported", status="complete", arms=arms, started_at=STARTED_AT)
    return RunWriter.create(path, manifest, None)


def write_figures(path, rows):
    """Write (step, name, value) as another tool's figures of one arm."""
    step, name, value = zip(*rows, strict=True)
    imported(path).write_scalars("published", 0, {"step": step, "name": name, "value": value})
    return path


def figures_of(file):
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [(line["step"], key, line[key]) for line in lines for key in line if isinstance(line[key], int | float)]


@pytest.mark.parametrize("without", [1, 500])
def test_each_step_without_a_mixed_group_is_a_warning(without, tmp_path):
    rows = [(step, FRAC_MIXED, 0.0 if step < without else 0.25) for step in range(1000)]
    found = audit_of(write_figures(tmp_path / "run", rows))
    assert (found.check.status, found.check.value, found.check.rows_examined) == ("warn", float(without), 1000)
    assert {row[0] for row in found.rows} == {"step without a signal"}
    assert f"published: {without} of 1,000 steps without a mixed group" in found.check.notes[0]


def test_constant_groups_are_counted_by_step_and_by_arm(tmp_path):
    def rollouts_of(arm, step):
        rewards = mixed_rewards(3, step)
        rewards[: 2 + step] = 1.0
        return grouped_rollouts(step, rewards)

    found = audit_of(write_groups(tmp_path / "run", rollouts_of, steps=2))
    assert [(row[0], row[2], row[4]) for row in found.rows] == [
        ("step without a signal", "dppo", 1),
        ("step without a signal", "grpo", 1),
    ]
    assert "3 of 3 groups have one reward" in found.rows[0][-1]
    assert found.check.notes[0] == "dppo: 1 of 2 steps without a mixed group; 5 of 6 groups have one reward (0.833)"


def test_a_training_run_without_any_signal_is_a_failure_whatever_the_other_seed_did(tmp_path):
    writer = imported(tmp_path / "run")
    writer.write_step("published", 0, 0, {"rollouts": grouped_rollouts(0, mixed_rewards(2))})
    writer.write_step("published", 1, 0, {"rollouts": grouped_rollouts(0, np.zeros((2, 4)))})
    found = audit_of(tmp_path / "run")
    assert found.check.status == "fail"
    assert [(row[0], row[3]) for row in found.rows] == [("never a signal", 1), ("step without a signal", 1)]


def test_one_mixed_group_is_a_signal_and_groups_of_one_are_none(tmp_path):
    rewards = np.zeros((8, 4))
    rewards[5, 2] = 1e-12
    path = write_groups(tmp_path / "run", lambda arm, step: grouped_rollouts(step, rewards))
    assert audit_of(path).check.status == "pass"
    alone = write_groups(
        tmp_path / "alone", lambda arm, step: grouped_rollouts(step, np.random.default_rng(0).random((8, 1)))
    )
    assert audit_of(alone).check.status == "fail"


def test_an_update_whose_tokens_all_have_advantage_0_is_a_warning_beside_a_mixed_step(tmp_path):
    def tokens_of(arm, seed, step):
        columns = active_tokens(arm, seed, step)
        if (arm, step) == ("dppo", 1):
            columns["advantage"] = [
                0.0 if update else value for update, value in zip(columns["update"], columns["advantage"], strict=True)
            ]
        return columns

    found = audit_of(write_run(tmp_path / "run", tokens_of=tokens_of))
    assert found.check.status == "warn"
    assert found.rows == (
        ("update without a signal", "warn", "dppo", 0, 1, "1 of 2 updates had loss tokens of advantage 0 only"),
    )


def test_a_reward_that_is_no_number_does_not_make_a_group_constant(tmp_path):
    path = write_groups(tmp_path / "run", lambda arm, step: grouped_rollouts(step, np.full((1, 4), np.nan)))
    assert audit_of(path).check.status == "pass"


def test_60_of_100_iterations_of_a_published_run_had_no_mixed_group(tmp_path):
    found = audit_of(write_figures(tmp_path / "run", figures_of(SAMPLE)))
    assert (found.check.status, found.check.value, found.check.rows_examined) == ("warn", 60.0, 100)
    assert [row[4] for row in found.rows][:4] == [7, 11, 13, 16]
    assert "frac_mixed" in found.rows[0][-1]
    assert "60 of 100 steps without a mixed group" in found.check.notes[0]
    with query(open_run(tmp_path / "run"), found.check.sql) as again:
        assert tuple(again.fetchall()) == found.rows


def test_logged_rollouts_stand_before_the_figure_of_another_tool(tmp_path):
    writer = imported(tmp_path / "run")
    writer.write_step("published", 0, 0, {"rollouts": grouped_rollouts(0, mixed_rewards(2))})
    writer.write_scalars("published", 0, {"step": [0, 1], "name": [FRAC_MIXED] * 2, "value": [0.0, 0.0]})
    found = audit_of(tmp_path / "run")
    assert [(row[0], row[4]) for row in found.rows] == [("step without a signal", 1)]


def test_figures_without_the_one_that_is_needed_are_nothing_to_examine(tmp_path):
    found = audit_of(write_figures(tmp_path / "run", [(0, "optim/lr", 1e-4)]))
    assert (found.check.status, found.check.rows_examined) == ("inconclusive", 0)
    assert "no row to examine" in found.check.reason


def test_a_figure_that_is_no_number_is_inconclusive(tmp_path):
    found = audit_of(write_figures(tmp_path / "run", [(0, FRAC_MIXED, math.nan), (1, FRAC_MIXED, 0.5)]))
    assert (found.check.status, [row[0] for row in found.rows]) == ("inconclusive", ["not a number"])


def test_a_run_mended_by_hand_passes(tmp_path):
    path = write_groups(tmp_path / "run", lambda arm, step: grouped_rollouts(step, np.zeros((2, 4))))
    assert audit_of(path).check.status == "fail"
    for arm in ("grpo", "dppo"):
        rewrite(
            path,
            f"rollouts/arm={arm}/seed=0/step=000000.parquet",
            lambda table: table.set_column(
                table.schema.get_field_index("reward"), table.schema.field("reward"), [mixed_rewards(2).ravel()]
            ),
        )
    assert audit_of(path).check.status == "pass"
