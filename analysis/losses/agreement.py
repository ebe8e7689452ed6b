"""Do two losses, or two gradients, agree? Token by token, with the worst token named."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Tolerance:
    """What counts as equal: ``|ours - reference| <= atol + rtol * |reference|`` at each number."""

    atol: float
    rtol: float


@dataclass(frozen=True)
class Agreement:
    """How two arrays compare.

    Attributes:
        agrees: every number is within its allowance, and there is at least one; NaN is within none.
        index: the number that uses up most of its allowance, -1 where there is none.
        deviation: absolute difference there.
        allowance: what the tolerance allows there.
        ours: our number there.
        reference: the reference's number there.
        cosine: between the arrays as vectors; NaN where one of them is zero.
        n: compared numbers.
    """

    agrees: bool
    index: int
    deviation: float
    allowance: float
    ours: float
    reference: float
    cosine: float
    n: int


def compare(ours: ArrayLike, reference: ArrayLike, tolerance: Tolerance, noise: float = 0.0) -> Agreement:
    """Compare two arrays of one shape.

    Args:
        ours: what is tested, shape (n,).
        reference: what it should be, shape (n,).
        tolerance: the plan's.
        noise: absolute amount by which the measurement itself is known to differ from run to run.

    Raises:
        ValueError: the shapes differ.
    """
    left, right = np.atleast_1d(np.asarray(ours, np.float64)), np.atleast_1d(np.asarray(reference, np.float64))
    if left.shape != right.shape:
        raise ValueError(f"{left.shape} numbers cannot be compared with {right.shape}")
    if not left.size:
        return Agreement(False, -1, float("nan"), float("nan"), float("nan"), float("nan"), float("nan"), 0)
    deviation = np.abs(left - right)
    allowance = tolerance.atol + tolerance.rtol * np.abs(right) + noise
    share = np.divide(deviation, allowance, out=np.full_like(deviation, np.inf), where=np.isfinite(deviation))
    index = int(np.argmax(share))
    return Agreement(
        agrees=bool(share[index] <= 1.0),
        index=index,
        deviation=float(deviation[index]),
        allowance=float(allowance[index]),
        ours=float(left[index]),
        reference=float(right[index]),
        cosine=cosine(left, right),
        n=int(left.size),
    )


def cosine(left: ArrayLike, right: ArrayLike) -> float:
    """Return the cosine of the angle between two vectors; NaN where one of them is zero or not finite."""
    a, b = np.asarray(left, np.float64), np.asarray(right, np.float64)
    norms = float(np.linalg.norm(a)) * float(np.linalg.norm(b))
    if not np.isfinite(norms) or norms == 0.0:
        return float("nan")
    return min(1.0, max(-1.0, float(np.dot(a, b)) / norms))
