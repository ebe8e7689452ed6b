"""Binary and top-k divergences against worked values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.divergences import binary_kl, binary_tv, topk_kl, topk_tv

MU = np.array([0.0001, 0.99, 0.99, 0.50, 0.50, 0.30, 0.30, 0.60, 0.80, 0.20])
PI = np.array([0.01, 0.80, 0.70, 0.75, 0.62, 0.10, 0.22, 0.85, 0.50, 0.45])


def test_worked_values():
    tv = binary_tv(np.log(MU), np.log(PI))
    np.testing.assert_allclose(tv, [0.0099, 0.19, 0.29, 0.25, 0.12, 0.20, 0.08, 0.25, 0.30, 0.25], atol=1e-12)
    kl = binary_kl(np.log(MU), np.log(PI))
    worked = [0.009489, 0.181005, 0.309146, 0.143841, 0.029663, 0.153664, 0.017297, 0.183348, 0.192745, 0.137569]
    np.testing.assert_allclose(kl, worked, atol=6e-7)


def test_the_behaviour_policy_comes_first():
    assert binary_kl(np.log(0.9), np.log(0.5)) == pytest.approx(0.9 * np.log(1.8) + 0.1 * np.log(0.2), abs=1e-6)
    assert binary_kl(np.log(0.5), np.log(0.9)) == pytest.approx(0.5 * np.log(0.5 / 0.9) + 0.5 * np.log(5), abs=1e-6)


def test_a_certain_token_stays_finite_and_rounding_above_zero_is_no_probability_above_one():
    assert np.isfinite(binary_kl([0.0, -1.0, 1e-9], [-1.0, 0.0, 0.0])).all()
    assert binary_kl(0.0, 0.0) == 0.0


@given(st.floats(-20, -1e-6), st.floats(-20, -1e-6))
def test_pinsker_holds(sampler, current):
    assert binary_kl(sampler, current, guard=0.0) >= 2 * binary_tv(sampler, current) ** 2 - 1e-12


FULL_MU = np.array([0.5, 0.2, 0.15, 0.1, 0.05])
FULL_PI = np.array([0.3, 0.35, 0.15, 0.12, 0.08])


@pytest.mark.parametrize(
    ("candidates", "kl"),
    [
        ([0, 1], 0.097244),  # the two most probable, of which one was sampled
        ([0, 1, 3], 0.097305),  # the paper's set where token 3 was sampled
        ([0, 3], 0.088555),  # the official code's: the sampled token takes the last one's place
        ([0, 1, 2, 3, 4], 0.101757),  # everything: the full divergence
    ],
)
def test_worked_topk_values(candidates, kl):
    mu, pi = np.log(FULL_MU[candidates]), np.log(FULL_PI[candidates])
    assert topk_tv(mu, pi) == pytest.approx(0.2, abs=1e-12)
    assert topk_kl(mu, pi) == pytest.approx(kl, abs=1e-6)


def test_of_a_rare_token_the_binary_divergence_hides_what_the_topk_one_sees():
    mu, pi = np.log(FULL_MU[[3]]), np.log(FULL_PI[[3]])
    assert binary_tv(mu, pi) == pytest.approx(0.02, abs=1e-12)
    assert topk_tv(mu, pi) == pytest.approx(0.02, abs=1e-12)  # a set of the sampled token alone is the binary one
    assert topk_kl(mu, pi) == pytest.approx(binary_kl(mu, pi, guard=0.0)[0], abs=1e-12)


@pytest.mark.parametrize("divergence", [topk_tv, topk_kl])
def test_a_cell_that_is_not_listed_counts_nothing_whatever_stands_there(divergence):
    mu, pi = np.log(FULL_MU[[0, 1]]), np.log(FULL_PI[[0, 1]])
    padded = divergence([[*mu, -0.3]] * 2, [[*pi, -0.1]] * 2, [[True, True, False]] * 2)
    np.testing.assert_allclose(padded, [divergence(mu, pi)] * 2, rtol=1e-12)


@pytest.mark.parametrize("divergence", [topk_tv, topk_kl])
def test_candidates_that_hold_all_mass_leave_a_rest_that_stays_finite(divergence):
    assert divergence(np.log([0.5, 0.5]), np.log([0.5, 0.5])) == pytest.approx(0.0, abs=1e-12)
    assert np.isfinite(divergence(np.log([0.6, 0.4]), np.log([0.3, 0.3])))
    assert np.isfinite(divergence(np.log([0.3, 0.3]), np.log([0.6, 0.4])))
