import itertools
import math

import numpy as np
import pytest

from analysis.paired.betting_capital import BettingCapital


def test_expected_capital_is_one_under_the_hypothesis():
    # Every outcome of 6 items in {0, 1}, averaged over seeds: the orders are part of the chance experiment.
    chance, total, n_seeds = 0.3, 0.0, 60
    for seed in range(n_seeds):
        for outcome in itertools.product([0.0, 1.0], repeat=6):
            mass = chance ** sum(outcome) * (1.0 - chance) ** (6 - sum(outcome))
            capital = BettingCapital(np.sort(outcome), 0.025, seed)
            total += mass * math.exp(capital.log_capital(chance)) / n_seeds
    assert total == pytest.approx(1.0, abs=0.02)


def test_capital_does_not_rise_with_the_hypothetical_mean():
    scores = np.sort(np.random.default_rng(8).choice([0.0, 0.3, 0.5, 1.0], 200))
    capital = BettingCapital(scores, 0.025, 1)
    logs = [capital.log_capital(mean) for mean in np.linspace(1e-6, 0.999, 300)]
    assert (np.diff(logs) <= 1e-12).all()


def test_capital_is_never_negative_and_never_free():
    capital = BettingCapital(np.zeros(50), 0.025, 1)
    assert -60.0 < capital.log_capital(0.9) < 0.0


def test_few_items_use_more_orders_than_many():
    few, many = BettingCapital(np.zeros(100), 0.025, 1), BettingCapital(np.zeros(2_000_000), 0.025, 1)
    assert few._scores.shape[0] == 32
    assert many._scores.shape[0] == 4
