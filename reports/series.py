"""What a series of values over steps shows, in one sentence that is true whatever the values are."""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from reports.display import brief, count, decimals, number


class Stepped(Protocol):
    """A row of a log that belongs to a step."""

    @property
    def step(self) -> int:
        """The step."""


Row = TypeVar("Row", bound=Stepped)


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
    shown = _showing(values)
    return (
        f"{shown(first)} at step {first_step}, {shown(last)} at step {last_step}; "
        f"between {shown(min(values))} and {shown(max(values))} over {count(len(values))} steps.{gaps}"
    )


def thin(steps: Sequence[int], at_most: int) -> tuple[list[int], int]:
    """Return at most so many of the sorted steps, evenly chosen with the last one kept, and the stride used."""
    ordered = sorted(set(steps))
    if len(ordered) <= at_most:
        return ordered, 1
    stride = math.ceil(len(ordered) / max(1, at_most - 1))
    chosen = ordered[::stride]
    return (chosen if chosen[-1] == ordered[-1] else [*chosen, ordered[-1]]), stride


def sampled(
    rows: Sequence[Row], series: Callable[[Row], Hashable], named: str, *, rows_shown: int, series_shown: int
) -> tuple[list[Row], list[str]]:
    """Return the rows that charts and table both show, in their order, and notes on what was left out.

    Args:
        rows: of all series.
        series: the series of a row.
        named: what makes a series, for the note: `arm and seed`.
        rows_shown: about so many rows are kept, of evenly chosen steps.
        series_shown: at most so many series are kept, the first ones.
    """
    notes = []
    found = list(dict.fromkeys(map(series, rows)))
    kept = set(found[:series_shown])
    if len(found) > series_shown:
        notes.append(f"{series_shown} of {count(len(found))} combinations of {named} are shown.")
    steps = {row.step for row in rows}
    chosen, stride = thin(list(steps), max(2, rows_shown // max(1, len(kept))))
    if stride > 1:
        notes.append(
            f"Charts and table show {count(len(chosen))} of {count(len(steps))} steps, evenly chosen; "
            "the sentences speak of all."
        )
    steps_kept = set(chosen)
    return [row for row in rows if row.step in steps_kept and series(row) in kept], notes


def _showing(values: Sequence[float]) -> Callable[[float], str]:
    """Return how to show values so that the extremes differ; by significant digits if very large or small."""
    largest = max(abs(value) for value in values)
    if largest >= 1e6 or largest < 1e-3:
        return brief if brief(min(values)) != brief(max(values)) else number
    places = decimals([min(values), max(values), values[0], values[-1]], at_least=3)
    return lambda value: number(value, places)
