"""Exact quantiles pooled over steps, with memory bounded whatever the number of rows.

A pooled order statistic lies between the smallest and the largest of the steps' own quantiles of the same order, but
for a few ranks. So one scan counts what lies below that range and keeps what lies inside. Where that is too much, or
a rank falls outside, histograms narrow the range first: each cuts it into 4096 parts.
"""

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audits.engine.executors import Engine, Scan
from audits.engine.passes import CHECKED_SOURCES, batches_of, pass_text, value_of
from audits.engine.request import Request
from audits.store.reader import Run

VALUES_KEPT = 2_000_000
"""Values held at most for one quantile, 8 bytes each."""

StepQuantile = tuple[int, int, float]
"""Seed, rows and quantile of one step."""


@dataclass(frozen=True)
class _Held:
    """Rows of one seed: how many, how many below a range, and the sorted values inside it."""

    n: int
    n_below: int
    inside: NDArray[np.float64]


def pooled_quantiles(
    run: Run, request: Request, engine: Engine, by_step: Sequence[StepQuantile]
) -> dict[int | None, float]:
    """Return the quantile of all rows (key None) and of each seed's rows, interpolated linearly (type 7).

    Args:
        run: the run.
        request: of a quantile metric; its values are no NaN.
        engine: where the scans run.
        by_step: the quantile of the same order of each step, at least one.

    Raises:
        AuditError: a file is damaged.
    """
    order = request.metric.quantile
    if order is None:
        raise ValueError(f"{request.metric.id} is no quantile")
    seeds = sorted({seed for seed, _, _ in by_step})
    if len(by_step) == 1:
        return {None: by_step[0][2], seeds[0]: by_step[0][2]}
    everywhere = [quantile for _, _, quantile in by_step]
    held = _values(run, request, engine, min(everywhere), max(everywhere))
    found: dict[int | None, float] = {}
    for target, chosen in [(None, seeds), *((seed, [seed]) for seed in seeds)]:
        steps = [step for step in by_step if step[0] in chosen]
        if target is not None and len(steps) == 1:
            found[target] = steps[0][2]
        elif held is not None and _covers([held[seed] for seed in chosen], order):
            found[target] = _pick([held[seed] for seed in chosen], order)
        elif target is not None and len(seeds) == 1:
            found[target] = found[None]
        else:
            found[target] = _narrowed(run, request, engine, target, order)
    return found


def _ranks(n: int, order: float) -> tuple[int, int, float]:
    """Return the two 0-based ranks that a type 7 quantile lies between, and how far it is from the first."""
    position = order * (n - 1)
    low = min(math.floor(position), n - 1)
    return low, min(low + 1, n - 1), position - low


def _covers(held: Sequence[_Held], order: float) -> bool:
    below, inside = sum(part.n_below for part in held), sum(len(part.inside) for part in held)
    low, high, _ = _ranks(sum(part.n for part in held), order)
    return below <= low and high < below + inside


def _pick(held: Sequence[_Held], order: float) -> float:
    below, inside = sum(part.n_below for part in held), np.concatenate([part.inside for part in held])
    low, high, weight = _ranks(sum(part.n for part in held), order)
    ordered = np.partition(inside, [low - below, high - below])
    return _between(float(ordered[low - below]), float(ordered[high - below]), weight)


def _between(low: float, high: float, weight: float) -> float:
    # A value that overflowed to infinity may be the upper neighbour, and 0 times infinity is no number.
    return low if weight == 0 or low == high else low + (high - low) * weight


def _values(run: Run, request: Request, engine: Engine, lowest: float, highest: float) -> dict[int, _Held] | None:
    """Return each seed's values in a range and the count below it; None where they are too many to keep."""
    sql = _fill("values", request, request.scope, lowest, highest)
    n: dict[int, int] = {}
    n_below: dict[int, int] = {}
    inside: dict[int, list[NDArray[np.float64]]] = {}
    kept = 0
    for table in engine.run(Scan(batch, sql) for batch in batches_of(run, request, engine)):
        for row, seed in enumerate(table.column("seed").to_pylist()):
            n[seed] = n.get(seed, 0) + table.column("n")[row].as_py()
            n_below[seed] = n_below.get(seed, 0) + table.column("n_below")[row].as_py()
            values = table.column("inside")[row].values
            if values is not None and len(values):
                kept += len(values)
                inside.setdefault(seed, []).append(_doubles(values))
        if kept > VALUES_KEPT:
            return None
    empty = [np.empty(0)]
    return {seed: _Held(n[seed], n_below[seed], np.concatenate(inside.get(seed, empty))) for seed in n}


def _doubles(values: Any) -> NDArray[np.float64]:
    """Return an Arrow array of doubles without nulls as a copy; Arrow's own way would import pandas."""
    return np.frombuffer(values.buffers()[1], np.float64, len(values), 8 * values.offset).copy()


def _narrowed(run: Run, request: Request, engine: Engine, seed: int | None, order: float) -> float:
    """Return the quantile of one seed's rows, or of all, by histograms until few enough values are left."""
    where = request.scope if seed is None else f"{request.scope} AND seed = {seed:d}"

    def ask(name: str, lowest: float, highest: float) -> list[dict[str, Any]]:
        sql = _fill(name, request, where, lowest, highest)
        scans = (Scan(batch, sql) for batch in batches_of(run, request, engine))
        return [row for table in engine.run(scans) for row in table.to_pylist()]

    parts = _histogram(ask("histogram", 0.0, sys.float_info.max))
    low, high, weight = _ranks(sum(part.n for part in parts), order)
    values = [_order_statistic(ask, parts, rank) for rank in ((low,) if low == high else (low, high))]
    return _between(values[0], values[-1], weight)


@dataclass(frozen=True)
class _Part:
    n: int
    lowest: float
    highest: float


def _histogram(rows: Sequence[dict[str, Any]]) -> list[_Part]:
    """Merge the histograms of all batches; parts in ascending order."""
    merged: dict[int, _Part] = {}
    for row in rows:
        part = _Part(row["n"], row["lowest"], row["highest"])
        known = merged.get(row["part"])
        if known is not None:
            part = _Part(known.n + part.n, min(known.lowest, part.lowest), max(known.highest, part.highest))
        merged[row["part"]] = part
    return [merged[key] for key in sorted(merged)]


def _order_statistic(
    ask: Callable[[str, float, float], list[dict[str, Any]]], parts: Sequence[_Part], rank: int
) -> float:
    """Return the value of a 0-based rank, from a histogram of all values."""
    part, below = _holding(parts, rank, 0)
    while part.lowest != part.highest:
        if part.n <= VALUES_KEPT:
            rows = ask("values", part.lowest, part.highest)
            inside = np.concatenate([np.asarray(row["inside"], np.float64) for row in rows if row["inside"]])
            return float(np.partition(inside, rank - below)[rank - below])
        inner = [
            found
            for found in _histogram(ask("histogram", part.lowest, part.highest))
            if found.lowest >= part.lowest and found.highest <= part.highest
        ]
        part, below = _holding(inner, rank, below)
    return part.lowest


def _holding(parts: Sequence[_Part], rank: int, below: int) -> tuple[_Part, int]:
    """Return the part that holds a 0-based rank and how many values lie below it; `below` of them below all parts."""
    for part in parts:
        if rank < below + part.n:
            return part, below
        below += part.n
    raise ValueError(f"rank {rank} lies beyond the {below} values that were counted")


def _fill(name: str, request: Request, where: str, lowest: float, highest: float) -> str:
    valid = " AND is_valid" if request.metric.source in CHECKED_SOURCES else ""
    return pass_text(name).format(
        value=value_of(request),
        source=request.metric.source,
        where=where + valid,
        # As a text: a literal with a point would be a DECIMAL first, and the ends must be met to the last bit.
        lowest=f"CAST('{lowest!r}' AS DOUBLE)",
        highest=f"CAST('{highest!r}' AS DOUBLE)",
    )
