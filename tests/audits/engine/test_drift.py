"""Drift by update against the plain implementations."""

import math

import numpy as np
import pytest
from plain_metrics import plain_metrics
from random_run import random_run, token_columns, two_seed_plan, write_rows

from audits.engine.drift import drift_by_step
from audits.store.reader import open_run

QUANTILES = {"abs_p_q50": 0.5, "abs_p_q90": 0.9, "abs_p_q99": 0.99}
FIGURES = {
    "masked_share": "dppo_masked_token_fraction", "clip_share": "grpo_clip_fraction", "kl_k3": "kl_k3",
    "effective_sample_size": "effective_sample_size", "ratio_max": "ratio_max",
}  # fmt: skip


def of_update(columns, update):
    return {name: values[columns["update"] == update] for name, values in columns.items()}


def test_drift_agrees_with_the_plain_figures_update_by_update(tmp_path):
    plan = two_seed_plan()
    logged = random_run(tmp_path / "run", 5, plan)
    run = open_run(tmp_path / "run")
    rows = {(row.arm, row.seed, row.step, row.update): row for row in drift_by_step(run, run.sealed.plan)}
    wanted = [
        (*key, int(update))
        for (table, *key), columns in logged.items()
        if table == "tokens"
        for update in np.unique(columns["update"])
    ]
    assert list(rows) == sorted(wanted)
    plain = plain_metrics()
    for (arm, seed, step, update), row in rows.items():
        own = of_update(logged["tokens", arm, seed, step], update)
        assert row.loss_tokens == len(own["step"])
        for name, metric_id in FIGURES.items():
            assert getattr(row, name) == pytest.approx(plain[metric_id].figure(own).value, rel=1e-12, abs=1e-12), name
        for name, order in QUANTILES.items():
            expected = plain_metrics(order=order)["policy_drift_abs_p_qNN"].figure(own).value
            assert getattr(row, name) == pytest.approx(expected, abs=1e-12)
        reward = np.mean(logged["rollouts", arm, seed, step]["reward"])
        assert row.reward == pytest.approx(reward, abs=1e-12)


def test_without_a_plan_there_are_no_shares_and_without_rollouts_no_reward(tmp_path):
    write_rows(tmp_path / "run", {("tokens", "dppo", 0, 0): token_columns(0, 0, [-1.0], [-1.5], [1.0])})
    (row,) = drift_by_step(open_run(tmp_path / "run"), None)
    assert (row.masked_share, row.clip_share, row.reward) == (None, None, None)
    assert row.abs_p_q50 == pytest.approx(math.exp(-1) - math.exp(-1.5))


def test_an_update_with_a_number_that_is_none_has_no_figures_and_the_others_have(tmp_path):
    broken = token_columns(0, [0, 0, 1, 1], [-1.0, -1.0, -1.0, math.nan], [-1.1] * 4, [1.0] * 4)
    write_rows(tmp_path / "run", {("tokens", "dppo", 0, 0): broken})
    run = open_run(tmp_path / "run")
    first, second = drift_by_step(run, run.sealed.plan)
    names = [*FIGURES, *QUANTILES]
    assert all(math.isfinite(getattr(first, name)) for name in names)
    assert all(math.isnan(getattr(second, name)) for name in names)
    assert (first.loss_tokens, second.loss_tokens) == (2, 2)


def test_a_ratio_that_overflows_is_infinite_and_no_gap(tmp_path):
    overflows = token_columns(0, 0, [-1000.0, -1.0], [-0.5, -1.0], [1.0, 1.0])
    write_rows(tmp_path / "run", {("tokens", "dppo", 0, 0): overflows})
    run = open_run(tmp_path / "run")
    (row,) = drift_by_step(run, run.sealed.plan)
    assert (row.ratio_max, row.clip_share) == (math.inf, 0.5)
    assert math.isnan(row.effective_sample_size)
