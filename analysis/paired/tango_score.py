"""Tango's score statistic for a paired difference of proportions, and the limit that inverts it.

Of n items, `gains` are right only in the treatment and `losses` only in the baseline. Under the hypothesis that the
chances differ by `delta`, the statistic is (gains - losses - n delta) over its standard error, with the chance of a
loss at its constrained maximum likelihood estimate (Tango 1998).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

_SECTIONS = 64


def tango_score(gains: ArrayLike, losses: ArrayLike, n_items: int, delta: ArrayLike) -> NDArray[np.float64]:
    """Return Tango's score; the arguments broadcast.

    Args:
        gains: items that only the treatment has right, at least 0.
        losses: items that only the baseline has right, at least 0; gains + losses <= n_items.
        n_items: all items.
        delta: hypothetical difference, in [-1, 1].

    Returns:
        The score: positive where the observed difference exceeds `delta`; infinite where `delta` is impossible.
        It does not decrease in `gains`, does not increase in `losses`, and changes its sign as the arms are swapped.
    """
    gains, losses, delta = np.broadcast_arrays(
        np.asarray(gains, np.float64), np.asarray(losses, np.float64), np.asarray(delta, np.float64)
    )
    # Swapping the arms keeps delta at least 0, where the root below loses no digits.
    swap = delta < 0.0
    sign = np.where(swap, -1.0, 1.0)
    more, fewer, shift = np.where(swap, losses, gains), np.where(swap, gains, losses), np.abs(delta)
    spread = shift * (1.0 - shift)
    linear = (2.0 * n_items - more + fewer) * shift - more - fewer
    root = np.sqrt(linear * linear + 8.0 * n_items * fewer * spread)
    positive = linear > 0.0
    chance = np.where(
        positive,
        2.0 * fewer * spread / np.where(positive, linear + root, 1.0),
        (root - linear) / (4.0 * n_items),
    )
    variance = n_items * (2.0 * chance + spread)
    excess = more - fewer - n_items * shift
    degenerate = variance <= 0.0
    limit = np.where(excess == 0.0, 0.0, np.copysign(np.inf, excess))
    score = np.where(degenerate, limit, excess / np.sqrt(np.where(degenerate, 1.0, variance)))
    return np.asarray(sign * score, dtype=np.float64)


def tango_lower_limit(gains: int, losses: int, n_items: int, critical: float) -> float:
    """Return the difference at which Tango's score equals `critical`, to rounding.

    Args:
        gains: items that only the treatment has right.
        losses: items that only the baseline has right.
        n_items: all items, at least 1.
        critical: a normal quantile above 0, for example 1.96.

    Returns:
        The lower limit, in [-1, (gains - losses) / n_items]; -1 where every item is a loss. The upper limit is minus
        the lower limit of the swapped arms.
    """
    if losses == n_items:
        return -1.0
    low, high = -1.0, (gains - losses) / n_items
    fractions = np.linspace(0.0, 1.0, _SECTIONS + 1)
    # The score falls as delta rises: each pass keeps the section in which it crosses the critical value.
    while True:
        points = low + (high - low) * fractions
        above = tango_score(gains, losses, n_items, points) >= critical
        last = int(np.flatnonzero(above)[-1])
        new_low, new_high = float(points[last]), float(points[min(last + 1, _SECTIONS)])
        if not new_high - new_low < high - low or new_high - new_low <= 4.0 * np.spacing(abs(new_low)):
            return new_low
        low, high = new_low, new_high
