"""Binary divergences against worked values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.divergences import binary_kl, binary_tv

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
