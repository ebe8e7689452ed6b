"""What a series of values over steps shows, in one sentence that is true whatever the values are."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from reports.display import count, decimals, number


@dataclass(frozen=True)
class Series:
    """Values in the order of their steps."""

    steps: tuple[int, ...]
    values: tuple[float, ...]

    @property
    def finite(self) -> list[tuple[int, float]]:
        """The steps that have a number, with it."""
        return [(step, value) for step, value in zip(self.steps, self.values, strict=True) if math.isfinite(value)]


def describe(series: Series) -> str:
    """Return what the series does: nothing to see, constant, or from where to where and between what."""
    finite = series.finite
    total = len(series.values)
    if not total:
        return "No step was logged."
    if not finite:
        return f"None of the {count(total)} steps has a number."
    gaps = "" if len(finite) == total else f" {count(total - len(finite))} of {count(total)} steps have no number."
    values = [value for _, value in finite]
    if len(finite) == 1:
        return f"One step with a number: {number(values[0])} at step {finite[0][0]}.{gaps}"
    if min(values) == max(values):
        return f"The same value, {number(values[0])}, in all {count(len(values))} steps that have a number.{gaps}"
    (first_step, first), (last_step, last) = finite[0], finite[-1]
    places = _places(values)
    return (
        f"{number(first, places)} at step {first_step}, {number(last, places)} at step {last_step}; "
        f"between {number(min(values), places)} and {number(max(values), places)} "
        f"over {count(len(values))} steps.{gaps}"
    )


def thin(steps: Sequence[int], at_most: int) -> tuple[list[int], int]:
    """Return at most so many of the sorted steps, evenly chosen with the last one kept, and the stride used."""
    ordered = sorted(set(steps))
    if len(ordered) <= at_most:
        return ordered, 1
    stride = math.ceil(len(ordered) / max(1, at_most - 1))
    chosen = ordered[::stride]
    return (chosen if chosen[-1] == ordered[-1] else [*chosen, ordered[-1]]), stride


def _places(values: Sequence[float]) -> int | None:
    """Return decimals that keep the extremes apart; None (significant digits) for very large or small values."""
    largest = max(abs(value) for value in values)
    if largest >= 1e6 or largest < 1e-3:
        return None
    return decimals([min(values), max(values), values[0], values[-1]], at_least=3)
