import itertools
import math

import numpy as np
import pytest

from analysis.paired.betting_capital import BettingCapital


@pytest.mark.parametrize("chance", [0.2, 0.5, 0.8])
def test_expected_capital_is_one_under_the_hypothesis(chance):
    # Over every sequence of 8 items in {0, 1}: no stake may know the item it is put on, in any of the orders.
    expected = 0.0
    for outcome in itertools.product([0.0, 1.0], repeat=8):
        mass = chance ** sum(outcome) * (1.0 - chance) ** (8 - sum(outcome))
        expected += mass * math.exp(BettingCapital(np.array(outcome), 0.2, 1).log_capital(chance))
    assert expected == pytest.approx(1.0, abs=1e-12)


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
