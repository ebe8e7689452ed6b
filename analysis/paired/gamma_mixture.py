"""The distribution of a mean under random Dirichlet weights, by a contour integral through its saddle point.

With Dirichlet weights D_i of shape k_i, sum D_i x_i <= t exactly where sum G_i (x_i - t) <= 0 for independent gamma
variables G_i of shape k_i. The moment generating function of that sum is known, so that its distribution function at
0 is one integral in the complex plane (Daniels 1954 for the saddle point). On a hyperbola along the path of
steepest descent the trapezoidal rule converges geometrically.
"""

import numpy as np
from numpy.typing import NDArray

from analysis.paired.bracketed_root import bracketed_root

_STEP = 0.125
_NODES_PER_BLOCK = 16
_MAX_BLOCKS = 24
_NEGLIGIBLE = 1e-17
_BLOCK_CELLS = 1 << 18
_FACTORS = 8


def dirichlet_mean_cdf(values: NDArray[np.float64], shapes: NDArray[np.float64], at: float) -> float:
    """Return the probability that the Dirichlet-weighted mean of the values is at most `at`.

    Args:
        values: shape (k,), distinct.
        shapes: shape (k,), the Dirichlet parameters, whole numbers of at least 1.
        at: any number.

    Returns:
        The probability, with a relative error of about 1e-11.
    """
    offsets = values - at
    if offsets.min() >= 0.0:
        return 0.0
    if offsets.max() <= 0.0:
        return 1.0
    return _probability_of_negative(offsets, shapes)


def _probability_of_negative(offsets: NDArray[np.float64], shapes: NDArray[np.float64]) -> float:
    """Return the probability of a negative sum of gamma variables times offsets, which have both signs."""
    saddle, scale, bend = _saddle(offsets, shapes)
    # Scaled by the integrand at the saddle point, so that tiny probabilities do not underflow on the way.
    peak = _log_mgf(offsets, shapes, np.array([saddle + 0.0j]))[0].real
    total = 0.0
    for block in range(_MAX_BLOCKS):
        time = _STEP * (block * _NODES_PER_BLOCK + np.arange(_NODES_PER_BLOCK))
        points = saddle + scale * bend * (np.cosh(time) - 1.0) + 1j * scale * np.sinh(time)
        speed = scale * bend * np.sinh(time) + 1j * scale * np.cosh(time)
        terms = (np.exp(_log_mgf(offsets, shapes, points) - peak) / -points * speed).imag
        if block == 0:
            terms[0] /= 2.0
        total += float(terms.sum())
        if np.abs(terms[-4:]).max() <= _NEGLIGIBLE * abs(total):
            break
    return min(1.0, max(0.0, total * _STEP / np.pi * float(np.exp(peak))))


def _saddle(offsets: NDArray[np.float64], shapes: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return where the integrand is smallest on the negative axis, the width of its hill across, and the bend.

    The bend follows the path of steepest descent to second order: a third of the skewness at the saddle point.
    """

    def slope(point: float) -> float:
        return float((shapes * offsets / (1.0 - point * offsets)).sum()) - 1.0 / point

    # The logarithm is convex between its poles at 1 / min(offsets) and 0.
    pole = 1.0 / float(offsets.min())
    saddle = bracketed_root(slope, pole * (1.0 - 1e-12), pole * 1e-12, abs(pole) * 1e-13)
    ratio = offsets / (1.0 - saddle * offsets)
    scale = float(1.0 / np.sqrt((shapes * ratio**2).sum() + 1.0 / saddle**2))
    skewness = float((2.0 * shapes * ratio**3).sum() - 2.0 / saddle**3) * scale**3
    return saddle, scale, skewness / 3.0


def _log_mgf(
    offsets: NDArray[np.float64], shapes: NDArray[np.float64], points: NDArray[np.complexfloating]
) -> NDArray[np.complexfloating]:
    """Return the logarithm of the moment generating function at complex points, up to multiples of 2 pi i.

    The shapes are whole numbers, so that the branch of the logarithm is free: factors are multiplied first, as a
    complex logarithm costs as much as many products.
    """
    total = np.zeros(points.size, dtype=np.complex128)
    once = shapes == 1.0
    for offset, shape in zip(offsets[~once], shapes[~once], strict=True):
        total -= shape * np.log(1.0 - points * offset)
    single = offsets[once]
    single = np.append(single, np.zeros(-single.size % _FACTORS)).reshape(-1, _FACTORS)
    block = max(1, _BLOCK_CELLS // (_FACTORS * points.size))
    for start in range(0, len(single), block):
        factors = 1.0 - points[:, None, None] * single[start : start + block]
        total -= np.log(factors.prod(axis=2)).sum(axis=1)
    return total
