"""What is taken away from a batch's advantages before the update: the mean, or the mean and the scale."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Normalization = Literal["none", "mean", "z_score"]

# Below it, relative to the largest advantage, a spread is rounding: dividing by it would make a signal of nothing.
_SMALLEST_SPREAD = 1e-12


def normalized(advantages: ArrayLike, how: Normalization) -> NDArray[np.float64]:
    """Return the advantages of one batch as the update uses them.

    Args:
        advantages: of all tokens (or completions) of the batch, shape (n,), finite.
        how: `none`; `mean` subtracts the batch's mean; `z_score` also divides by its standard deviation (with n in the
            denominator), so that neither a constant error of the critic nor its scale reaches the update.

    Returns:
        Shape (n,); all exactly 0 where `z_score` finds no spread.

    Raises:
        ValueError: not one row, or one is not finite.

    Source: Andrychowicz et al. 2021, arXiv:2006.05990, Sec. 3.5 and Appendix B.9 (per-minibatch normalisation).
    """
    values = np.asarray(advantages, np.float64)
    if values.ndim != 1:
        raise ValueError(f"advantages must be one row, not {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError(f"advantage {int(np.flatnonzero(~np.isfinite(values))[0])} is not finite")
    if how == "none" or not values.size:
        return values.copy()
    centered: NDArray[np.float64] = values - values.mean()
    if how == "mean":
        return centered
    spread = float(np.sqrt(np.mean(centered**2)))
    if spread <= _SMALLEST_SPREAD * float(np.abs(values).max()):
        return np.zeros_like(values)
    return np.asarray(centered / spread)
