"""Drift: how far the policy moved from the sampler, by step and update, in every arm."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from reports.display import LABEL_LIMIT, brief, command, count, number, text
from reports.parts import Column, Command, Figure, Heat, Lines, Point, ReportInputs, Section, Table
from reports.series import sampled

if TYPE_CHECKING:
    from audits.engine.drift import DriftRow

ORDER = 40
SHOWN_ROWS = 240
SHOWN_SERIES = 36

_COLUMNS = (
    Column("Arm"),
    Column("Seed", numeric=True),
    Column("Step", numeric=True),
    Column("Update", numeric=True),
    Column("Loss tokens", numeric=True),
    Column("Share the treatment's rule masks", numeric=True),
    Column("Clipped share", numeric=True),
    Column("|Δp| median", numeric=True),
    Column("|Δp| 90 %", numeric=True),
    Column("|Δp| 99 %", numeric=True),
    Column("Mean reward", numeric=True),
)


def build(inputs: ReportInputs) -> Section:
    """Return the drift section."""
    command_line = (
        Command(
            "drift-command",
            "every row",
            command("audit", "sql", inputs.run, "SELECT * FROM update_drift ORDER BY ALL", "--format", "csv"),
        ),
    )
    if not inputs.drift:
        return Section(
            id="drift",
            title="Drift from the sampler",
            takeaway="No drift was measured, so nothing is known here about how far the policy moved from its sampler.",
        )
    rows, notes = _sampled(inputs.drift)
    return Section(
        id="drift",
        title="Drift from the sampler",
        takeaway=_takeaway(inputs.drift),
        figures=_figures(rows),
        tables=(_table(rows, len(inputs.drift)),),
        commands=command_line,
        notes=(
            "|Δp| is |p_current − p_sampler| of the sampled token. Every share and quantile is over the loss tokens of "
            "one update; updates are counted from 0.",
            *(f"{text(sentence[:1].upper() + sentence[1:])}." for sentence in inputs.rounding),
            *notes,
        ),
    )


def drift_figures(drift: "Sequence[DriftRow]") -> tuple[Figure, ...]:
    """Return the charts of drift over steps; of a long run evenly chosen steps."""
    return _figures(_sampled(drift)[0]) if drift else ()


def _figures(rows: "Sequence[DriftRow]") -> tuple[Figure, ...]:
    figures = [
        _lines("drift-0", rows, "Distance from the sampler", "|Δp|, 90th percentile", lambda row: row.abs_p_q90),
        _lines(
            "drift-1",
            rows,
            "Share that the treatment's rule would mask",
            "share of loss tokens",
            lambda row: row.masked_share,
        ),
        _heat("drift-2", rows),
    ]
    return tuple(figure for figure in figures if figure is not None)


def _sampled(drift: "Sequence[DriftRow]") -> "tuple[list[DriftRow], list[str]]":
    return sampled(
        sorted(drift, key=_key),
        lambda row: (row.arm, row.seed, row.update),
        "arm, seed and update",
        rows_shown=SHOWN_ROWS,
        series_shown=SHOWN_SERIES,
    )


def _key(row: "DriftRow") -> tuple[str, int, int, int]:
    return (row.arm, row.seed, row.update, row.step)


def _takeaway(drift: "Sequence[DriftRow]") -> str:
    arms = sorted({row.arm for row in drift})
    sentences = [_arm_sentence(arm, [row for row in drift if row.arm == arm]) for arm in arms[:4]]
    more = f" {count(len(arms) - 4)} more arms stand in the table." if len(arms) > 4 else ""
    return " ".join(sentences) + more


def _arm_sentence(arm: str, rows: "Sequence[DriftRow]") -> str:
    named = text(arm, 40)
    finite = [row for row in rows if math.isfinite(row.abs_p_q90)]
    if not finite:
        return f"{named}: none of {count(len(rows))} updates has a number for |Δp|."
    largest = max(finite, key=lambda row: row.abs_p_q90)
    where = f"step {largest.step}, update {largest.update}"
    missing = len(rows) - len(finite)
    gaps = f" {count(missing)} of its {count(len(rows))} updates have no number for |Δp|." if missing else ""
    return f"{named}: the 90th percentile of |Δp| reaches {brief(largest.abs_p_q90)} ({where}); {_masked(rows)}.{gaps}"


def _masked(rows: "Sequence[DriftRow]") -> str:
    shares = [
        (row.masked_share, row) for row in rows if row.masked_share is not None and math.isfinite(row.masked_share)
    ]
    if not shares:
        return "no share of the treatment's mask was measured"
    largest, row = max(shares, key=lambda pair: pair[0])
    if largest == 0.0:
        return f"the divergence rule masked no token in any of {count(len(shares))} updates"
    return f"the share that the treatment's rule masks reaches {brief(largest)} (step {row.step}, update {row.update})"


def _points(rows: "Sequence[DriftRow]", value: "Callable[[DriftRow], float | None]") -> tuple[Point, ...]:
    found = ((row, value(row)) for row in rows)
    return tuple(
        Point(text(row.arm, 30), str(row.update), f"seed {row.seed}", row.step, measured)
        for row, measured in found
        if measured is not None and math.isfinite(measured)
    )


def _lines(
    name: str, rows: "Sequence[DriftRow]", title: str, y_title: str, value: "Callable[[DriftRow], float | None]"
) -> Figure | None:
    points = _points(rows, value)
    if not points:
        return None
    lowest, highest = min(point.value for point in points), max(point.value for point in points)
    span = f"always {brief(lowest)}" if lowest == highest else f"from {brief(lowest)} to {brief(highest)}"
    gaps = _gaps(len(rows) - len(points), len(rows), "updates")
    takeaway = f"{title}: {span} over {count(len(points))} updates shown{gaps}."
    return Figure(
        id=name,
        label=f"Lines over steps, a line for each arm, seed and update. {takeaway}",
        takeaway=takeaway,
        caption="Colour: arm. Solid line: first update of a step. Dashed: later updates.",
        chart=Lines(y_title=y_title, points=points),
    )


def _gaps(missing: int, total: int, named: str) -> str:
    return f"; {count(missing)} of {count(total)} {named} have no number" if missing else ""


def _heat(name: str, rows: "Sequence[DriftRow]") -> Figure | None:
    points = tuple(
        Point(f"{text(row.arm, LABEL_LIMIT // 3)} s{row.seed} u{row.update}", "", "", row.step, row.abs_p_q90)
        for row in rows
        if math.isfinite(row.abs_p_q90)
    )
    if not points:
        return None
    largest = max(points, key=lambda point: point.value)
    alike = sum(point.value == largest.value for point in points) - 1
    also = f", and as far in {count(alike)} more {'cell' if alike == 1 else 'cells'}" if alike else ""
    gaps = _gaps(len(rows) - len(points), len(rows), "cells")
    takeaway = f"Where it moved most: {largest.series}, step {largest.step}{also}{gaps}."
    if len({point.value for point in points}) == 1:
        takeaway = f"The same distance in every cell{' that has one' if gaps else ''}{gaps}."
    return Figure(
        id=name,
        label=f"Heat map of the 90th percentile of |Δp|, a row for each arm, seed and update. {takeaway}",
        takeaway=takeaway,
        caption="A row for each arm, seed (s) and update (u). Stronger colour: further away. Empty: no number.",
        chart=Heat("|Δp|, 90th percentile", tuple(dict.fromkeys(point.series for point in points)), points),
    )


def _table(rows: "Sequence[DriftRow]", total: int) -> Table:
    part = "" if len(rows) == total else f" ({count(len(rows))} of {count(total)} rows)"
    return Table(
        caption=f"Drift by arm, seed, step and update{part}",
        columns=_COLUMNS,
        rows=tuple(
            (
                text(row.arm, 30),
                *(str(whole) for whole in (row.seed, row.step, row.update)),
                count(row.loss_tokens),
                *("not measured" if share is None else number(share) for share in (row.masked_share, row.clip_share)),
                *(number(quantile) for quantile in (row.abs_p_q50, row.abs_p_q90, row.abs_p_q99)),
                "not logged" if row.reward is None else number(row.reward),
            )
            for row in rows
        ),
        folded=True,
    )
