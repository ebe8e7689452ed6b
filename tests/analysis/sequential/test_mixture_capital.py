import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.sequential.mixture_capital import MixtureCapital


@pytest.mark.parametrize("chances", [(0.2, 0.5, 0.3), (0.01, 0.0, 0.99), (0.6, 0.3, 0.1)])
def test_the_capital_is_a_fair_game_at_the_true_mean(chances):
    """Its expectation over every outcome of five items is what it starts with."""
    values = (0.0, 0.4, 1.0)
    mean = float(np.dot(chances, values))
    expectation = 0.0
    for outcome in itertools.product(range(3), repeat=5):
        chance = math.prod(chances[index] for index in outcome)
        capital = MixtureCapital(np.array([values[index] for index in outcome])).log_capital(mean)
        expectation += chance * math.exp(capital)
    assert expectation == pytest.approx(1.0, abs=1e-12)


SCORES = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30).map(np.array)


@given(scores=SCORES, means=st.tuples(st.floats(1e-6, 1.0), st.floats(1e-6, 1.0)))
def test_it_does_not_rise_with_the_mean_and_is_no_gain_at_the_observed_one(scores, means):
    capital = MixtureCapital(scores)
    assert capital.log_capital(max(means)) <= capital.log_capital(min(means)) + 1e-9
    assert capital.log_capital(max(float(scores.mean()), 1e-6)) <= 1e-9


@given(scores=SCORES, better=st.floats(0.0, 1.0), mean=st.floats(0.01, 1.0))
def test_it_does_not_fall_as_a_score_rises(scores, better, mean):
    raised = np.concatenate([scores[1:], [max(float(scores[0]), better)]])
    assert MixtureCapital(raised).log_capital(mean) >= MixtureCapital(scores).log_capital(mean) - 1e-9


@pytest.mark.parametrize("n_items", [100, 1_000, 30_000, 1_000_000])
@pytest.mark.parametrize("discordance", [0.05, 0.5])
def test_little_is_lost_to_the_best_constant_stake(n_items, discordance):
    """Near the smallest difference that a level of 5 % can see, not knowing the stake costs less than e^3."""
    discordant = round(discordance * n_items)
    gains = min(discordant, round(discordant / 2.0 + 1.6 * math.sqrt(discordant)))
    values, counts = np.array([0.0, 0.5, 1.0]), np.array([discordant - gains, n_items - discordant, gains])
    stakes = np.linspace(0.0, 1.0, 100_001)[:-1, np.newaxis]
    best = float((np.log1p(stakes * (values / 0.5 - 1.0)) @ counts).max())
    assert best - 3.0 < MixtureCapital(np.repeat(values, counts)).log_capital(0.5) < best
