import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.advantages.normalized import normalized

rows = st.lists(st.floats(-10, 10), min_size=2, max_size=30)


@given(rows, st.floats(-5, 5), st.floats(0.1, 10))
def test_a_z_score_sees_neither_offset_nor_scale(values, offset, scale):
    if np.ptp(values) < 1e-3:
        return
    moved = normalized(np.asarray(values) * scale + offset, "z_score")
    np.testing.assert_allclose(moved, normalized(values, "z_score"), atol=1e-6)
    assert np.sqrt(np.mean(moved**2)) == pytest.approx(1.0)


@given(rows, st.floats(-5, 5))
def test_a_mean_takes_the_offset_only(values, offset):
    np.testing.assert_allclose(normalized(np.asarray(values) + offset, "mean"), normalized(values, "mean"), atol=1e-9)
    np.testing.assert_allclose(normalized(np.asarray(values) * 2, "mean"), 2 * normalized(values, "mean"), atol=1e-9)


def test_none_changes_nothing():
    np.testing.assert_array_equal(normalized([1.0, 2.0], "none"), [1.0, 2.0])


@pytest.mark.parametrize("value", [0.0, 0.1, 1e-300, 12345.6789])
def test_no_spread_gives_no_signal_rather_than_rounding_blown_up(value):
    assert (normalized([value] * 7, "z_score") == 0.0).all()


def test_an_empty_batch_is_empty():
    assert normalized([], "z_score").shape == (0,)


def test_what_is_no_number_is_refused():
    with pytest.raises(ValueError, match="advantage 1 is not finite"):
        normalized([0.0, np.nan], "mean")
    with pytest.raises(ValueError, match="one row"):
        normalized([[0.0]], "mean")
