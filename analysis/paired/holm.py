"""Holm's step-down procedure: which of several null hypotheses may be rejected together."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def holm_rejections(p_values: Sequence[float], alpha: float) -> NDArray[np.bool_]:
    """Return which hypotheses are rejected, with the chance of any false rejection at most `alpha`.

    Args:
        p_values: one for each hypothesis, in [0, 1], dependent in any way.
        alpha: familywise error probability, in (0, 1).

    Returns:
        Shape (k,): the hypothesis with the i-th smallest p-value is rejected while every p-value up to it is at
        most alpha / (k - i + 1) (Holm 1979, section 3).
    """
    values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    thresholds = alpha / np.arange(values.size, 0, -1)
    passed = np.logical_and.accumulate(values[order] <= thresholds)
    rejected = np.zeros(values.size, dtype=np.bool_)
    rejected[order] = passed
    return rejected
