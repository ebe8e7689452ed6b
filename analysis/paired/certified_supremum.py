"""A certified upper bound of a region's probability over the nuisance parameter, between mesh points too.

At fixed delta the cell probabilities are linear in psi, so that the k-th derivative of the likelihood over the
likelihood is k! times the k-th elementary symmetric polynomial of n independent scores of mean 0, with variance at
most k! I^k, where I is the Fisher information. By Cauchy and Schwarz, for any region of probability P,

    |d^k P / d psi^k| <= sqrt(P (1 - P)) sqrt(k!) I^(k/2).

With k = 1, asin(sqrt(P)) has a slope of at most sqrt(I) / 2; with k = 4 the cubic Hermite interpolant of values and
slopes is off by at most the fourth derivative's bound times h^4 / 384. I is convex in psi, so that its largest value
in a cell is at an end. Where I is infinite, at psi = |delta| and psi = 1, the monotony of the region bounds P by its
value at the largest chance of a gain and the smallest chance of a loss. docs/exact-interval.md has the proofs.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.paired.region_probability import RegionProbability, TrinomialRegion

_CELL_LENGTH = 0.6
_MAX_ROUNDS = 60
_MAX_POINTS = 4000


@dataclass(frozen=True)
class Supremum:
    """Bounds of the supremum of a probability over psi.

    Attributes:
        lower: the largest value found.
        upper: a bound that no psi exceeds.
        psi: where `lower` was found.
        delta_slope: how fast `lower` rises with delta, along the edge psi = |delta| where psi lies on it.
    """

    lower: float
    upper: float
    psi: float
    delta_slope: float


def certified_supremum(
    region: TrinomialRegion, delta: float, psi_range: tuple[float, float], target: float, tolerance: float
) -> Supremum:
    """Return bounds of the supremum of the region's probability over psi.

    Args:
        region: a region that is closed under more gains and fewer losses.
        delta: difference, in [-1, 1].
        psi_range: smallest and largest psi; the smallest at least |delta|, the largest at most 1.
        target: cells are split until their bound is at most this,
        tolerance: or at most this far above the largest value found.

    Returns:
        Bounds with upper <= max(target, lower + tolerance) unless the mesh grew past 4000 points, which then only
        leaves the upper bound larger than it need be.
    """
    found = region.probability(delta, _first_mesh(region.n_items, delta, psi_range))
    for _ in range(_MAX_ROUNDS):
        bound = _cell_bounds(region, delta, found)
        coarse = bound > max(target, float(found.value.max()) + tolerance)
        if not coarse.any() or found.psi.size > _MAX_POINTS:
            break
        added = _split(delta, found.psi[:-1][coarse], found.psi[1:][coarse])
        if np.isin(added, found.psi).any():
            break
        found = _merge(found, region.probability(delta, added))
    best = int(np.argmax(found.value))
    upper = max(float(found.value.max()), float(_cell_bounds(region, delta, found).max(initial=0.0)))
    return Supremum(
        lower=float(found.value[best]),
        upper=upper + region.rounding,
        psi=float(found.psi[best]),
        delta_slope=_slope_in_delta(delta, found, best),
    )


def _slope_in_delta(delta: float, found: RegionProbability, best: int) -> float:
    """Return the slope at a point; on the edge psi = |delta| only one chance moves."""
    if delta != 0.0 and found.psi[best] <= abs(delta):
        return float((found.gain_slope if delta > 0.0 else found.loss_slope)[best])
    return float(found.delta_slope[best])


def _first_mesh(n_items: int, delta: float, psi_range: tuple[float, float]) -> NDArray[np.float64]:
    """Return points that lie about `_CELL_LENGTH` apart in Fisher length: psi = |delta| + (1 - |delta|) sin^2."""
    low, high = psi_range
    if not low < high:
        return np.array([low])
    room = 1.0 - abs(delta)
    first, last = (math.asin(math.sqrt(min(1.0, max(0.0, end - abs(delta)) / room))) for end in psi_range)
    n_cells = max(4, math.ceil(2.0 * math.sqrt(n_items * room) * (last - first) / _CELL_LENGTH))
    inner = abs(delta) + room * np.sin(np.linspace(first, last, n_cells + 1)[1:-1]) ** 2
    return np.unique(np.concatenate([[low], np.clip(inner, low, high), [high]]))


def _split(delta: float, left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a point in each cell: its middle, or a quarter from the edge where the information is infinite."""
    share = np.where(left <= abs(delta), 0.25, np.where(right >= 1.0, 0.75, 0.5))
    return np.unique(left + share * (right - left))


def _merge(first: RegionProbability, second: RegionProbability) -> RegionProbability:
    """Return both sets of points, sorted by psi."""
    order = np.argsort(np.concatenate([first.psi, second.psi]), kind="stable")
    return RegionProbability(
        *(
            np.concatenate([getattr(first, name), getattr(second, name)])[order]
            for name in ("psi", "value", "gain_slope", "loss_slope")
        )
    )


def _cell_bounds(region: TrinomialRegion, delta: float, found: RegionProbability) -> NDArray[np.float64]:
    """Return, for each cell between two points, a bound of the probability inside it."""
    psi = found.psi
    if psi.size < 2:
        return np.empty(0)
    width = np.diff(psi)
    edge = (psi[:-1] <= abs(delta)) | (psi[1:] >= 1.0)
    bound = np.empty(width.size)
    bound[~edge] = _interior_bounds(found, width, _information(region.n_items, delta, psi))[~edge]
    if edge.any():
        right, left = psi[1:][edge], psi[:-1][edge]
        bound[edge] = region.probability_at(right, (right + delta) / 2.0, np.maximum(left - delta, 0.0) / 2.0).value
    return bound


def _information(n_items: int, delta: float, psi: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Fisher information about psi; 0 stands in where it is infinite, as those cells do not use it."""
    safe = (psi > abs(delta)) & (psi < 1.0)
    inner = np.where(safe, psi, (abs(delta) + 1.0) / 2.0)
    with np.errstate(divide="ignore"):
        value = n_items * (0.5 / (inner + delta) + 0.5 / (inner - delta) + 1.0 / (1.0 - inner))
    return np.where(safe, value, 0.0)


def _interior_bounds(
    found: RegionProbability, width: NDArray[np.float64], information: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the smaller of the first-order and the fourth-order bound in each cell."""
    length = np.sqrt(np.maximum(information[:-1], information[1:])) * width
    angle = np.arcsin(np.sqrt(np.clip(found.value, 0.0, 1.0)))
    first_order = np.sin(np.minimum((angle[:-1] + angle[1:]) / 2.0 + length / 4.0, math.pi / 2.0)) ** 2
    largest = np.minimum(first_order, 0.5)
    remainder = np.sqrt(largest * (1.0 - largest)) * math.sqrt(24.0) * length**4 / 384.0
    return np.asarray(np.minimum(first_order, _largest_of_cubic(found, width) + remainder))


def _largest_of_cubic(found: RegionProbability, width: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the maximum in each cell of the cubic through the values and slopes at its ends."""
    start, end = found.value[:-1], found.value[1:]
    start_slope, end_slope = found.psi_slope[:-1] * width, found.psi_slope[1:] * width
    cubic = 2.0 * (start - end) + start_slope + end_slope
    square = 3.0 * (end - start) - 2.0 * start_slope - end_slope
    # Roots of 3 cubic t^2 + 2 square t + slope, in the form that loses no digits.
    pivot = -(square + np.copysign(np.sqrt(np.maximum(square**2 - 3.0 * cubic * start_slope, 0.0)), square))
    largest = np.maximum(start, end)
    for numerator, denominator in ((pivot, 3.0 * cubic), (start_slope, pivot)):
        usable = denominator != 0.0
        time = np.clip(np.where(usable, numerator / np.where(usable, denominator, 1.0), 0.0), 0.0, 1.0)
        largest = np.maximum(largest, start + time * (start_slope + time * (square + time * cubic)))
    return largest
