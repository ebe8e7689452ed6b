import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.paired.holm import holm_rejections


@settings(deadline=None)
@given(
    st.lists(st.one_of(st.floats(0.0, 1.0), st.sampled_from([0.0, 0.01, 0.0125, 0.025, 0.05])), min_size=1, max_size=8),
    st.sampled_from([0.01, 0.05, 0.1]),
)
def test_agrees_with_statsmodels(p_values, alpha):
    # Slow to import, and banned at module level.
    from statsmodels.stats.multitest import multipletests

    expected = multipletests(p_values, alpha=alpha, method="holm")[0]
    assert np.array_equal(holm_rejections(p_values, alpha), expected)


def test_a_failure_stops_the_steps():
    # 0.03 passes its own threshold of 0.05, but only after 0.026, which fails at 0.025.
    assert holm_rejections([0.03, 0.001, 0.026], 0.05).tolist() == [False, True, False]
