import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.errors import AuditError
from analysis.paired.verdict import verdict

LIMIT = st.floats(-1.0, 1.0)


@pytest.mark.parametrize(
    ("lower", "upper", "limits", "word"),
    [
        (0.011, 0.3, {"margin": 0.01}, "validated"),
        (0.01, 0.3, {"margin": 0.01}, "inconclusive"),
        (-0.3, -0.011, {"margin": 0.01}, "refuted"),
        (-0.3, -0.01, {"margin": 0.01}, "inconclusive"),
        (-0.3, 0.009, {"margin": 0.01, "floor": 0.01}, "refuted"),
        (-0.02, 0.02, {"band": 0.02}, "tie"),
        (-0.02, 0.0201, {"band": 0.02}, "inconclusive"),
        (-0.0201, 0.02, {"band": 0.02}, "inconclusive"),
        (-0.02, 0.02, {}, "inconclusive"),
        # Both match: the first wins.
        (0.001, 0.01, {"band": 0.02}, "validated"),
        (-0.01, -0.001, {"band": 0.02}, "refuted"),
        (0.001, 0.01, {"margin": 0.005, "band": 0.02}, "tie"),
    ],
)
def test_first_match_wins(lower, upper, limits, word):
    assert verdict(lower, upper, **limits) == word


@pytest.mark.parametrize(
    "limits", [{"margin": -0.1}, {"margin": 0.1, "floor": 0.2}, {"band": 0.0}, {"margin": math.nan}]
)
def test_contradictory_limits_are_refused(limits):
    with pytest.raises(AuditError):
        verdict(0.0, 0.1, **limits)


@pytest.mark.parametrize(("lower", "upper"), [(0.2, 0.1), (math.nan, 0.1), (0.1, math.nan)])
def test_what_is_no_interval_is_our_bug(lower, upper):
    with pytest.raises(ValueError, match="not an interval"):
        verdict(lower, upper)


@given(LIMIT, LIMIT, st.floats(0.0, 0.5), st.floats(0.001, 0.5))
def test_swapping_the_arms_swaps_validated_and_refuted(first, second, margin, band):
    lower, upper = min(first, second), max(first, second)
    mirror = {"validated": "refuted", "refuted": "validated"}
    word = verdict(lower, upper, margin=margin, band=band)
    assert verdict(-upper, -lower, margin=margin, band=band) == mirror.get(word, word)


@given(LIMIT, LIMIT, st.floats(0.0, 0.3), st.floats(0.0, 0.5), st.floats(0.001, 0.5))
def test_a_narrower_interval_never_takes_certainty_away(first, second, shrink, margin, band):
    lower, upper = min(first, second), max(first, second)
    inner = (lower + shrink * (upper - lower), upper - shrink * (upper - lower))
    word = verdict(lower, upper, margin=margin, band=band)
    if word in ("validated", "refuted"):
        assert verdict(*inner, margin=margin, band=band) == word
    elif word == "tie":
        assert verdict(*inner, margin=margin, band=band) != "inconclusive"
