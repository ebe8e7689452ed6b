"""Bins of the sampler's probability: who is in them, and what the policy gave the same tokens."""

import math

import numpy as np
import pytest
from made_run import evals, right, tokens, write_outcomes, write_run

from audits.engine.calibration import calibration
from audits.store.reader import open_run


def logged(rows):
    return lambda arm, seed, step: tokens([row for row in rows if arm == "dppo" or row[0] == 0], step)


def opened(tmp_path, rows, **more):
    return open_run(write_run(tmp_path / "run", tokens_of=logged(rows), **more))


def test_bins_agree_with_plain_python(tmp_path):
    rng = np.random.default_rng(5)
    rows = []
    for update in (0, 1, 2):
        for _ in range(300):
            sampler = float(np.float32(-rng.exponential(0.7)))
            current = float(np.float32(min(0.0, sampler + rng.normal(0, 0.1 * update))))
            rows.append((update, sampler, current, 1.0))
    found = calibration(opened(tmp_path, rows, steps=2))
    assert [(own.arm, own.update, own.invalid) for own in found] == [("dppo", 0, 0), ("dppo", 2, 0), ("grpo", 0, 0)]
    for own in found:
        plain = {}
        for update, sampler, current, _ in rows:
            if update == own.update:
                plain.setdefault(min(19, int(20 * math.exp(sampler))), []).append(
                    (math.exp(sampler), math.exp(current))
                )
        assert [round(20 * one.lower) for one in own.bins] == sorted(plain)
        for one in own.bins:
            inside = plain[round(20 * one.lower)]
            assert one.loss_tokens == 2 * len(inside)
            assert one.upper == pytest.approx(one.lower + 0.05)
            assert one.p_sampler == pytest.approx(np.mean([p for p, _ in inside]), abs=1e-12)
            assert one.gap == pytest.approx(np.mean([p - q for q, p in inside]), abs=1e-12)


def test_certain_tokens_are_in_the_last_bin_and_impossible_ones_in_the_first(tmp_path):
    (own, _) = calibration(opened(tmp_path, [(0, 0.0, -0.5, 1.0), (0, 5e-7, 0.0, 1.0), (0, -200.0, 0.0, 1.0)], steps=1))
    assert [(one.lower, one.upper, one.loss_tokens) for one in own.bins] == [(0.0, 0.05, 1), (0.95, 1.0, 2)]
    assert own.bins[0].p_sampler == 0.0
    assert own.bins[0].p_current == 1.0


@pytest.mark.parametrize("bad", [math.nan, -math.inf, 0.1])
def test_an_update_with_a_row_that_is_no_number_has_no_bins(tmp_path, bad):
    first, last, _ = calibration(
        opened(tmp_path, [(0, -0.5, -0.5, 1.0), (1, -0.5, -0.5, 1.0), (1, bad, -0.5, 1.0)], steps=2)
    )
    assert (len(first.bins), first.invalid) == (1, 0)
    assert (last.update, last.bins, last.invalid) == (1, (), 2)


def test_without_a_token_log_there_is_nothing(tmp_path):
    path = write_outcomes(tmp_path / "run", {"baseline": [evals(right(3))], "treatment": [evals(right(4))]})
    assert calibration(open_run(path)) == ()
