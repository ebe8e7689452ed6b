"""Masks over thresholds: the gate's own figure at the plan's threshold, and one query that gives all of it again."""

import json
import math

import numpy as np
import pytest
from made_run import evals, made_plan, right, tokens, write_outcomes, write_run

from audits.engine.counterfactual import CURVE_THRESHOLDS
from audits.engine.drift import drift_by_step
from audits.engine.mask_curve import mask_curves
from audits.store.reader import open_run


def logged(arm, seed, step):
    rng = np.random.default_rng([len(arm), ord(arm[0]), step])
    rows = []
    for update in (0, 1):
        for _ in range(120 + 40 * step):
            sampler = np.float32(-rng.exponential(0.7))
            current = np.float32(min(0.0, sampler + rng.normal(0, 0.4 * update)))
            rows.append((update, float(sampler), float(current), float(rng.choice([-1.0, 0.0, 0.5]))))
    return tokens(rows, step)


@pytest.fixture
def run(tmp_path):
    plan = made_plan(losses__dppo__delta=0.1234567890123)
    return open_run(write_run(tmp_path / "run", plan, tokens_of=logged))


def test_there_is_a_curve_for_each_rule_of_the_plan_with_its_threshold_in_it(run):
    curves = mask_curves(run, run.sealed.plan)
    assert [(curve.kind, curve.planned) for curve in curves] == [("binary_tv", (0.1234567890123,)), ("ratio", (0.2,))]
    for curve in curves:
        thresholds = sorted({*CURVE_THRESHOLDS, *curve.planned})
        assert [(share.arm, share.update, share.rule.threshold) for share in curve.shares] == [
            (arm, update, at) for arm in ("dppo", "grpo") for update in (0, 1) for at in thresholds
        ]
        assert len({share.share for share in curve.shares}) > 20


def test_at_the_plans_threshold_it_is_the_share_of_the_drift(run):
    rows = drift_by_step(run, run.sealed.plan)
    mask, clip = mask_curves(run, run.sealed.plan)
    for curve, column in ((mask, "masked_share"), (clip, "clip_share")):
        for share in curve.shares:
            if share.rule.threshold in curve.planned:
                steps = [getattr(row, column) for row in rows if (row.arm, row.update) == (share.arm, share.update)]
                assert share.share == pytest.approx(np.mean(steps))
                assert bool(share.share) == bool(share.update)


def test_the_query_gives_the_whole_curve_again(run, audit):
    for curve in mask_curves(run, run.sealed.plan):
        result = audit("sql", str(run.path), curve.sql, "--format", "json")
        assert result.code == 0, result.err
        rows = json.loads(result.out)
        assert len(rows) == len(curve.shares)
        for row, share in zip(rows, curve.shares, strict=True):
            assert (row["arm"], row["update"], float(row["threshold"])) == (
                share.arm,
                share.update,
                share.rule.threshold,
            )
            assert row["share"] == pytest.approx(share.share)
            assert (row["taken"], row["of_tokens"]) == (share.numerator, share.denominator)


def test_without_a_plan_a_mask_and_a_clip_are_tried(run):
    assert [(curve.kind, curve.planned, len(curve.shares)) for curve in mask_curves(run, None)] == [
        ("binary_tv", (), 4 * len(CURVE_THRESHOLDS)),
        ("ratio", (), 4 * len(CURVE_THRESHOLDS)),
    ]


def test_an_arm_with_rows_that_are_no_numbers_has_no_share(tmp_path):
    def broken(arm, seed, step):
        rows = [(1, -0.5, -0.1, 1.0), (1, math.nan if arm == "dppo" else -0.5, -0.1, 1.0)]
        return tokens(rows, step)

    run = open_run(write_run(tmp_path / "run", tokens_of=broken))
    for curve in mask_curves(run, run.sealed.plan):
        assert all(math.isnan(share.share) == (share.arm == "dppo") for share in curve.shares)


def test_without_a_token_log_there_is_no_curve(tmp_path):
    path = write_outcomes(tmp_path / "run", {"baseline": [evals(right(3))], "treatment": [evals(right(4))]})
    assert mask_curves(open_run(path), None) == ()
