"""Masked and clipped share over thresholds: what each kind of rule takes away, on every update of every arm."""

import math
from typing import TYPE_CHECKING

from reports.display import brief, command, count, number, text
from reports.parts import Column, Command, Curve, CurvePoint, Figure, ReportInputs, Section, Table
from reports.series import thin

if TYPE_CHECKING:
    from audits.engine.counterfactual import RuleShare
    from audits.engine.mask_curve import MaskCurve

ORDER = 42
SHOWN_ARMS = 6
SHOWN_UPDATES = 4

_NAMES = {
    "binary_tv": ("mask by binary TV", "delta", "delta (probability)", "masked"),
    "binary_kl": ("mask by binary KL", "delta", "delta (nats)", "masked"),
    "ratio": ("ratio clip", "eps", "eps (distance of the ratio from 1)", "clipped"),
}
_TITLE = "Masked and clipped share over thresholds"


def build(inputs: ReportInputs) -> Section:
    """Return the section of the masks' thresholds."""
    curves = [curve for curve in inputs.mask_curves if curve.shares]
    if not curves:
        # Rows of drift are made of loss tokens.
        why = (
            "no loss of the plan masks by the sampled token's probability or clips its ratio"
            if inputs.drift
            else "the loss tokens were not logged"
        )
        return Section(
            id="mask_curve",
            title=_TITLE,
            takeaway=f"No share was measured over thresholds: {why}.",
            commands=(
                Command(
                    "mask_curve-command",
                    "the curve of any rule",
                    command("audit", "drift", inputs.run, "--curve", "binary_tv"),
                ),
            )
            if inputs.drift
            else (),
        )
    figures = (_figure(f"mask_curve-{place}", curve) for place, curve in enumerate(curves))
    return Section(
        id="mask_curve",
        title=_TITLE,
        takeaway=" ".join(_sentence(curve) for curve in curves),
        figures=tuple(figure for figure in figures if figure is not None),
        tables=tuple(_table(curve) for curve in curves),
        commands=tuple(
            Command(
                f"mask_curve-command-{place}",
                f"the whole curve of the {_NAMES[curve.kind][0]}",
                command("audit", "sql", inputs.run, curve.sql),
            )
            for place, curve in enumerate(curves)
        ),
        notes=(
            "Each rule is applied to every arm's log as it stands, whichever rule the arm trained with; with another "
            "threshold, training would have gone another way. A share is of all loss tokens of an update, mean of the "
            "steps; updates are counted from 0.",
            *_left_out(curves),
        ),
    )


def _left_out(curves: "list[MaskCurve]") -> list[str]:
    notes = []
    arms = {share.arm for curve in curves for share in curve.shares}
    updates = {share.update for curve in curves for share in curve.shares}
    if len(arms) > SHOWN_ARMS:
        notes.append(f"{SHOWN_ARMS} of {count(len(arms))} arms are shown.")
    if len(updates) > SHOWN_UPDATES:
        notes.append(f"{SHOWN_UPDATES} of {count(len(updates))} updates are shown, evenly chosen.")
    return notes


def _named(curve: "MaskCurve") -> tuple[str, str, str, str]:
    name, *others = _NAMES[curve.kind]
    return name[0].upper() + name[1:], others[0], others[1], others[2]


def _shown(curve: "MaskCurve") -> "list[list[RuleShare]]":
    """Return the lines that chart and table show: one an arm and update, over rising thresholds."""
    arms = list(dict.fromkeys(share.arm for share in curve.shares))[:SHOWN_ARMS]
    updates, _ = thin([share.update for share in curve.shares], SHOWN_UPDATES)
    lines = [
        [share for share in curve.shares if (share.arm, share.update) == (arm, update)]
        for arm in arms
        for update in updates
    ]
    return [sorted(line, key=lambda share: share.rule.threshold) for line in lines if line]


def _sentence(curve: "MaskCurve") -> str:
    """Return what the plan's thresholds take away on each arm's last update; without a plan, between what it lies."""
    name, parameter, _, taken = _named(curve)
    lines = _shown(curve)
    last = max(line[0].update for line in lines)
    finite = [share for line in lines for share in line if math.isfinite(share.share)]
    if not finite:
        return f"{name}: no arm has a number, because rows of the log are no numbers."
    if not curve.planned:
        highest = max(finite, key=lambda share: share.share)
        return (
            f"{name}, of which no loss of a plan is known: at {parameter} {highest.rule.threshold:g}, "
            f"{_of(highest)} of the loss tokens would be {taken} ({text(highest.arm, 30)}, update {highest.update}), "
            "the largest share here."
        )
    said = []
    for threshold in curve.planned:
        at = [share for line in lines for share in line if (share.update, share.rule.threshold) == (last, threshold)]
        shares = ", ".join(f"{_of(share)} of {text(share.arm, 30)}'s" for share in at)
        said.append(f"{name} at the plan's {parameter} {threshold:g}: {shares} loss tokens {taken} in update {last}.")
    return " ".join([*said, *_silent(lines, last, taken)])


def _silent(lines: "list[list[RuleShare]]", last: int, taken: str) -> list[str]:
    """Say of the first update that no threshold reaches it, where that is so: the policy is still its sampler."""
    first = [share for line in lines for share in line if share.update == 0]
    if last == 0 or not first or any(share.numerator or math.isnan(share.share) for share in first):
        return []
    lowest = min(share.rule.threshold for share in first)
    return [f"In update 0 not one is {taken}, even at {lowest:g}."]


def _of(share: "RuleShare") -> str:
    return number(share.share) if not math.isfinite(share.share) else f"{brief(100 * share.share)} %"


def _figure(name: str, curve: "MaskCurve") -> Figure | None:
    title, _, axis, taken = _named(curve)
    points = tuple(
        CurvePoint(text(share.arm, 30), str(share.update), share.rule.threshold, 100 * share.share, share.numerator)
        for line in _shown(curve)
        for share in line
        if math.isfinite(share.share)
    )
    if not points:
        return None
    lowest, highest = min(point.value for point in points), max(point.value for point in points)
    span = f"no token {taken} at any threshold" if highest == 0 else f"{brief(lowest)} to {brief(highest)} %"
    takeaway = f"{title}: {span} of the loss tokens over all thresholds." if highest else f"{title}: {span}."
    planned = " Vertical: the plan's threshold." if curve.planned else ""
    return Figure(
        id=name,
        label=f"Lines over thresholds, a line for each arm and update. {takeaway}",
        takeaway=takeaway,
        caption=f"Threshold by its logarithm, share by its square root.{planned}",
        chart=Curve(
            x_title=axis,
            y_title=f"{taken} (% of loss tokens)",
            counted_title=f"tokens {taken}",
            points=points,
            marks=curve.planned,
            log_x=True,
            root_y=True,
        ),
        small=True,
    )


def _table(curve: "MaskCurve") -> Table:
    title, parameter, _, taken = _named(curve)
    lines = _shown(curve)
    by_place = [{share.rule.threshold: share for share in line} for line in lines]
    thresholds = sorted({threshold for line in by_place for threshold in line})
    return Table(
        caption=f"{title}: % of loss tokens {taken}, by {parameter}",
        columns=(Column(parameter, numeric=True), *(Column(_head(line[0]), numeric=True) for line in lines)),
        rows=tuple(
            (
                f"{threshold:g}{' (plan)' if threshold in curve.planned else ''}",
                *(number(100 * line[threshold].share, 3) if threshold in line else "not measured" for line in by_place),
            )
            for threshold in thresholds
        ),
        folded=True,
    )


def _head(share: "RuleShare") -> str:
    return f"{text(share.arm, 30)}, update {share.update} (of {count(share.denominator)})"
