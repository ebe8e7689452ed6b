"""Curves: how the arms did on validation items while they trained, every point with its interval."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from reports.display import brief, command, count, number, text
from reports.parts import Column, Command, Figure, Lines, Point, ReportInputs, Section, Table
from reports.series import sampled

if TYPE_CHECKING:
    from audits.engine.curve import CheckpointScore

ORDER = 50
BASE_ARM = "base"
SHOWN_POINTS = 240
SHOWN_SERIES = 12

_COLUMNS = (
    Column("Arm"),
    Column("Seed", numeric=True),
    Column("Step", numeric=True),
    Column("Items", numeric=True),
    Column("Mean score", numeric=True),
    Column("Lower", numeric=True),
    Column("Upper", numeric=True),
    Column("Interval"),
)
_KINDS = {"clopper_pearson": "Clopper-Pearson", "hoeffding": "Hoeffding"}


def build(inputs: ReportInputs) -> Section:
    """Return the curves section."""
    again = (
        Command(
            "curves-command", "every point", command("audit", "sql", inputs.run, "SELECT * FROM checkpoint_scores")
        ),
    )
    if not inputs.curve:
        return Section(
            id="curves",
            title="Validation curve",
            takeaway="No checkpoint was evaluated on validation items on the way, so there is no curve.",
            commands=again,
        )
    shown, notes = sampled(
        inputs.curve,
        lambda point: (point.arm, point.seed),
        "arm and seed",
        rows_shown=SHOWN_POINTS,
        series_shown=SHOWN_SERIES,
    )
    return Section(
        id="curves",
        title="Validation curve",
        takeaway=_takeaway(inputs.curve),
        figures=tuple(_figures(shown)),
        tables=(_table(shown, len(inputs.curve)),),
        commands=again,
        notes=(
            "Validation items are held out of training, and none of them is a test item: nothing here decides. Each "
            "interval is a 95 % interval of that one point; several points seen together are not covered at 95 %.",
            "Step 0 is the base model, where every arm starts.",
            *notes,
        ),
    )


def _takeaway(curve: "Sequence[CheckpointScore]") -> str:
    scored = [point for point in curve if math.isfinite(point.score)]
    if not scored:
        return f"None of {count(len(curve))} points has a score for every item, so there is no curve."
    base = next((point for point in scored if point.arm == BASE_ARM), None)
    ends = [
        _last(scored, arm, seed) for arm, seed in dict.fromkeys((p.arm, p.seed) for p in scored if p.arm != BASE_ARM)
    ]
    parts = [] if base is None else [f"The base model scores {_with_interval(base)}."]
    parts += [f"{text(end.arm, 30)}, seed {end.seed}, step {end.step}: {_with_interval(end)}." for end in ends[:4]]
    if len(ends) > 4:
        parts.append(f"{count(len(ends) - 4)} more series stand in the table.")
    if base is not None and ends and all(_overlap(base, end) for end in ends):
        parts.append("Every last point's interval overlaps the base model's: the curve shows no change.")
    missing = len(curve) - len(scored)
    if missing:
        parts.append(f"{count(missing)} points have samples without a score and are not drawn.")
    return " ".join(parts)


def _last(points: "Sequence[CheckpointScore]", arm: str, seed: int) -> "CheckpointScore":
    return max((point for point in points if (point.arm, point.seed) == (arm, seed)), key=lambda point: point.step)


def _with_interval(point: "CheckpointScore") -> str:
    interval = f"{brief(point.lower)} to {brief(point.upper)}"
    return f"{brief(point.score)} on {count(point.items)} items ({interval})"


def _overlap(one: "CheckpointScore", other: "CheckpointScore") -> bool:
    return one.lower <= other.upper and other.lower <= one.upper


def _figures(curve: "Sequence[CheckpointScore]") -> list[Figure]:
    scored = _from_the_base([point for point in curve if math.isfinite(point.score)])
    points = tuple(
        Point(text(point.arm, 30), variant, f"seed {point.seed} {variant}", point.step, value)
        for point in scored
        for variant, value in (("mean", point.score), ("mean, lower", point.lower), ("mean, upper", point.upper))
    )
    if not points:
        return []
    widest = max((point.upper - point.lower) / 2.0 for point in scored)
    takeaway = f"Mean score on validation items; an interval reaches up to {brief(widest)} to each side of its point."
    return [
        Figure(
            id="curves-0",
            label=f"Lines over steps, three a seed of an arm: mean and both limits. {takeaway}",
            takeaway=takeaway,
            caption="Colour: arm. Solid: mean score. Dashed and dotted: lower and upper limit of its 95 % interval.",
            chart=Lines(y_title="mean score", points=points, variant_title="line"),
        )
    ]


def _from_the_base(points: "Sequence[CheckpointScore]") -> "list[CheckpointScore]":
    """Begin every arm's line at the base model; alone, the base model stays a point of its own."""
    base = [point for point in points if point.arm == BASE_ARM]
    arms = list(dict.fromkeys((point.arm, point.seed) for point in points if point.arm != BASE_ARM))
    if not arms:
        return base
    begun = [replace(point, arm=arm, seed=seed) for arm, seed in arms for point in base]
    return sorted([*begun, *(p for p in points if p.arm != BASE_ARM)], key=lambda p: (p.arm, p.seed, p.step))


def _table(curve: "Sequence[CheckpointScore]", total: int) -> Table:
    part = "" if len(curve) == total else f" ({count(len(curve))} of {count(total)} points)"
    return Table(
        caption=f"Mean score on validation items by arm, seed and step{part}",
        columns=_COLUMNS,
        rows=tuple(
            (
                text(point.arm, 30),
                str(point.seed),
                str(point.step),
                count(point.items),
                *(number(value) for value in (point.score, point.lower, point.upper)),
                _KINDS.get(point.interval, f"none: {count(point.unscored)} samples without a score"),
            )
            for point in curve
        ),
        folded=True,
    )
