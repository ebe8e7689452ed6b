"""Critics: how wrong advantages were against fresh rollouts, which part reached the update, and what it cost."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from audits.engine.critic import SQL
from audits.engine.crossover import crossover
from reports.critic_tables import critic_tables
from reports.critic_words import NAME_LIMIT, OWN_REWARD, axis_text, reaches, refusal_text
from reports.display import brief, command, count, number, text
from reports.parts import (
    Column,
    Command,
    Curve,
    CurvePoint,
    Figure,
    ReportInputs,
    Section,
    Spread,
    SpreadPoint,
    Stack,
    StackPart,
    Table,
)

if TYPE_CHECKING:
    from analysis.advantage_errors import CalibrationBin
    from audits.engine.critic import CriticArm, CriticReport
    from audits.engine.crossover import Crossover

ORDER = 47
SHOWN_ARMS = 8
SHOWN_ROWS = 60
_TITLE = "Critics: advantages against fresh rollouts"


def build(inputs: ReportInputs) -> Section:
    """Return the section on critics."""
    report = inputs.critic
    if report is None or not report.arms:
        return Section(
            id="critic", title=_TITLE, takeaway="No arm has a critic, and no advantage was held against fresh rollouts."
        )
    again = (Command("critic-command", "all of it", command("audit", "critic", inputs.run)),)
    if report.missing is not None:
        return Section(
            id="critic", title=_TITLE, takeaway=f"Nothing was measured: {text(report.missing)}.", commands=again
        )
    shown, found = report.arms[:SHOWN_ARMS], crossover(report)
    measured = [arm for arm in shown if arm.measured.advantages is not None]
    return Section(
        id="critic",
        title=_TITLE,
        takeaway=" ".join([_takeaway(measured), *([_crossover_sentence(found, report)] if report.critics else [])]),
        figures=tuple(_figures(measured, found, report)),
        tables=(*(_cut(table) for table in critic_tables(shown)), *_bins_tables(measured)),
        commands=(
            *again,
            Command(
                "critic-command-sql",
                "every error and its parts, by arm and seed",
                command("audit", "sql", inputs.run, SQL["errors"]),
            ),
        ),
        notes=(
            *(reaches(arm) for arm in shown),
            OWN_REWARD,
            "A batch is a seed and step. The noise of the Monte Carlo estimates is taken out of the MSE, its parts and "
            "the slope; a part below 0 is what that noise alone would give.",
            *_left_out(report, len(shown)),
        ),
    )


def _left_out(report: "CriticReport", shown: int) -> Iterator[str]:
    if len(report.arms) > shown:
        yield f"{shown} of {count(len(report.arms))} arms are shown."
    rows = sum(len(arm.seeds) for arm in report.arms[:shown])
    if rows > SHOWN_ROWS:
        yield f"{SHOWN_ROWS} of {count(rows)} training seeds are shown."


def _takeaway(measured: "Sequence[CriticArm]") -> str:
    errors = [(arm, arm.measured.advantages) for arm in measured if arm.measured.advantages is not None]
    if not errors:
        return "None of the arms that are shown was measured."
    arm, error = max(errors, key=lambda pair: pair[1].root_mean_squared)
    said = [
        f"Largest error of the advantages: {text(arm.arm, NAME_LIMIT)}, RMSE {brief(error.root_mean_squared)} (bias "
        f"{brief(error.bias)}; with each batch's offset removed {brief(error.centered_root_mean_squared)})."
    ]
    left = [(math.sqrt(max(own.left, 0.0)), own) for own in measured if own.left is not None]
    if left:
        (low, lowest), (high, highest) = min(left, key=lambda pair: pair[0]), max(left, key=lambda pair: pair[0])
        said.append(
            f"After each arm's normalisation {brief(low)} ({text(lowest.arm, NAME_LIMIT)}) to {brief(high)} "
            f"({text(highest.arm, NAME_LIMIT)}) reaches the update, as a root mean square."
            if len(left) > 1
            else f"Its normalisation leaves {brief(low)} of it for the update, as a root mean square."
        )
    return " ".join(said)


def _crossover_sentence(found: "Crossover", report: "CriticReport") -> str:
    if found.refusals:
        return refusal_text(found)
    best = max(found.points, key=lambda point: point.accuracy.mean)
    return (
        f"Accuracy against error: {text(best.arm, NAME_LIMIT)} has the highest mean, {number(best.accuracy.mean, 4)} "
        f"[{number(best.accuracy.lower, 4)}, {number(best.accuracy.upper, 4)}] at an error of {brief(best.error)}: the "
        f"{axis_text(report.critics)}."
    )


def _figures(measured: "Sequence[CriticArm]", found: "Crossover", report: "CriticReport") -> Iterator[Figure]:
    split = [(arm, arm.measured.advantages) for arm in measured]
    rows = tuple(
        (text(arm.arm, NAME_LIMIT), (error.offset_squared, error.scale or 0.0, error.residual))
        for arm, error in split
        if error is not None and error.residual is not None
    )
    if rows:
        takeaway = "; ".join(
            f"{name}: offset² {brief(offset)}, scale {brief(scale)}, residual {brief(residual)}"
            for name, (offset, scale, residual) in rows
        )
        yield Figure(
            id="critic-parts",
            label=f"Bars of the mean squared error of the advantages, in three parts, a bar for each arm. {takeaway}.",
            takeaway="Of what the mean squared error of each arm's advantages is made.",
            caption="Subtracting a batch's mean removes the offset; a z-score removes the scale too.",
            chart=Stack(
                "mean squared error (reward²)",
                "part",
                tuple(
                    StackPart(name, part, value)
                    for name, values in rows
                    for part, value in zip(("offset²", "scale", "residual"), values, strict=True)
                ),
            ),
            small=True,
        )
    # A critic's own values, where there is one: advantages hold the rollout's own reward, too.
    for name, of in (("values", "value_bins"), ("advantages", "advantage_bins")):
        bins = [(arm, getattr(arm, of)) for arm in measured if getattr(arm, of)]
        if bins:
            yield _calibration(name, bins)
            break
    if found.points:
        yield _crossover_figure(found, report)


def _calibration(name: str, bins: "Sequence[tuple[CriticArm, tuple[CalibrationBin, ...]]]") -> Figure:
    points = tuple(
        CurvePoint(text(arm.arm, NAME_LIMIT), "", one.estimated, one.monte_carlo, one.states)
        for arm, own in bins
        for one in own
    )
    ends = [end for point in points for end in (point.at, point.value)]
    low, high = min(ends), max(ends)
    return Figure(
        id="critic-calibration",
        label=f"Mean Monte Carlo estimate over mean estimate of the {name}, a line for each arm.",
        takeaway=f"Calibration of the {name}: on the dotted line, what was estimated is what fresh rollouts gave.",
        caption="Bins of equally many states by their estimate; equal estimates stand in one bin.",
        chart=Curve(
            x_title=f"mean estimated {name[:-1]} of the bin",
            y_title="mean of fresh rollouts",
            counted_title="states",
            points=points,
            span=(low, high) if low < high else (low - 0.5, high + 0.5),
            diagonal=True,
        ),
        small=True,
    )


def _crossover_figure(found: "Crossover", report: "CriticReport") -> Figure:
    axis = axis_text(report.critics)
    points = tuple(
        SpreadPoint(
            text(point.arm, NAME_LIMIT), _sized(point.parameters), point.error, point.accuracy.mean,
            point.accuracy.lower, point.accuracy.upper,
        )
        for point in found.points[:SHOWN_ARMS]
    )  # fmt: skip
    return Figure(
        id="critic-crossover",
        label=f"Final accuracy over advantage error ({axis}), a point with its interval for each critic.",
        takeaway="Accuracy against the error that reaches the update, by critic.",
        caption=f"Across: {axis}. Bars: 95 % t intervals over training seeds. Beside each point: parameters as built.",
        chart=Spread("advantage error (reward)", "final accuracy", points),
        small=True,
    )


def _sized(parameters: int) -> str:
    return f"{count(parameters)} parameter{'' if parameters == 1 else 's'}"


def _bins_tables(measured: "Sequence[CriticArm]") -> Iterator[Table]:
    rows = tuple(
        (
            text(arm.arm, NAME_LIMIT), name, count(one.states), brief(one.estimated), brief(one.monte_carlo),
            brief(one.standard_error),
        )
        for arm in measured
        for name, own in (("advantage", arm.advantage_bins), ("value", arm.value_bins))
        for one in own
    )  # fmt: skip
    if rows:
        names = ("Arm", "Of", "States", "Mean estimate", "Mean of fresh rollouts", "Its standard error")
        columns = tuple(Column(name, numeric=place > 1) for place, name in enumerate(names))
        yield Table("Calibration by bins of the estimate", columns, rows, folded=True)


def _cut(table: Table) -> Table:
    return replace(table, rows=table.rows[:SHOWN_ROWS], folded=len(table.rows) > SHOWN_ARMS)
