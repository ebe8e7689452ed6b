"""Calibration: the sampler's probability of the sampled tokens against the policy's, in bins."""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from reports.display import brief, command, count, number, text
from reports.parts import Column, Command, Curve, CurvePoint, Figure, ReportInputs, Section, Table

if TYPE_CHECKING:
    from audits.engine.calibration import Calibration, CalibrationBin

ORDER = 44
SHOWN_ARMS = 6
_TITLE = "Calibration: p_sampler against p_current"
_AXIS = "mean p_sampler of the bin"


def build(inputs: ReportInputs) -> Section:
    """Return the calibration section."""
    again = (
        Command(
            "calibration-command",
            "every bin of every update",
            command("audit", "sql", inputs.run, "SELECT * FROM sampler_calibration ORDER BY ALL"),
        ),
    )
    if not inputs.calibration:
        return Section(
            id="calibration",
            title=_TITLE,
            takeaway="No loss tokens were logged, so the sampler's probabilities cannot be held against the policy's.",
        )
    arms = list(dict.fromkeys(own.arm for own in inputs.calibration))
    shown = [own for own in inputs.calibration if own.arm in arms[:SHOWN_ARMS]]
    left_out = (f"{SHOWN_ARMS} of {count(len(arms))} arms are shown.",) if len(arms) > SHOWN_ARMS else ()
    return Section(
        id="calibration",
        title=_TITLE,
        takeaway=_takeaway(shown),
        figures=tuple(_figures(shown)),
        tables=(_table(shown),),
        commands=again,
        notes=(
            "Each of 20 bins holds the sampled tokens whose p_sampler lies in it, all seeds and steps together. In the "
            "first update (0) the policy is still its sampler: a gap there is a mismatch of the programs that sample "
            "and train. Later it is what training moved, too.",
            *left_out,
        ),
    )


def _takeaway(shown: "Sequence[Calibration]") -> str:
    broken = [
        f"{count(own.invalid)} rows of {text(own.arm, 40)}, update {own.update}, are no numbers: it has no bins."
        for own in shown
        if own.invalid
    ]
    updates = sorted({own.update for own in shown if own.bins})
    said = [_largest(update, [own for own in shown if own.update == update and own.bins]) for update in updates]
    return " ".join([*said, *broken])


def _largest(update: int, found: "Sequence[Calibration]") -> str:
    """Return the sentence on the bin with the largest gap of one update."""
    own, largest = max(((own, one) for own in found for one in own.bins), key=lambda pair: abs(pair[1].gap))
    if largest.gap == 0:
        return f"Update {update}: both probabilities have the same mean in every bin."
    return (
        f"Update {update}: the largest gap is {brief(largest.gap)} ({text(own.arm, 40)}, p_sampler {_limits(largest)}: "
        f"mean p_current {_apart(largest)}, {count(largest.loss_tokens)} loss tokens)."
    )


def _limits(one: "CalibrationBin") -> str:
    return f"{one.lower:.2f} to {one.upper:.2f}"


def _apart(one: "CalibrationBin") -> str:
    """Return both means with the digits that tell them apart."""
    digits = max(3, 1 - math.floor(math.log10(abs(one.gap))))
    return f"{number(one.p_current, digits)} against {number(one.p_sampler, digits)}"


def _figures(shown: "Sequence[Calibration]") -> "Iterator[Figure]":
    drawn = [own for own in shown if own.bins]
    updates = sorted({own.update for own in drawn})
    for place, update in enumerate(updates):
        own = [one for one in drawn if one.update == update]
        yield Figure(
            id=f"calibration-{place}",
            label=f"Mean p_current over mean p_sampler, a line for each arm. {_largest(update, own)}",
            takeaway=f"Update {update}: {_weighted(own)}.",
            caption="Dotted: both policies give the same probability.",
            chart=Curve(
                x_title=_AXIS,
                y_title="mean p_current",
                counted_title="loss tokens",
                points=_points(own, gaps=False),
                span=(0.0, 1.0),
                diagonal=True,
            ),
            small=True,
        )
    if drawn:
        yield Figure(
            id=f"calibration-{len(updates)}",
            label="Gap between mean p_current and mean p_sampler over mean p_sampler, a line for each arm and update.",
            takeaway="The same as a gap: above 0 the policy gives the token more than its sampler did.",
            caption=f"Solid: update {updates[0]}; dashed: update {updates[-1]}." if len(updates) > 1 else "",
            chart=Curve(
                x_title=_AXIS,
                y_title="mean p_current − mean p_sampler",
                counted_title="loss tokens",
                points=_points(drawn, gaps=True),
                span=(0.0, 1.0),
                levels=(0.0,),
            ),
            small=True,
        )


def _weighted(found: "Sequence[Calibration]") -> str:
    """Return each arm's mean absolute gap over its loss tokens."""
    said = []
    for own in found:
        tokens = sum(one.loss_tokens for one in own.bins)
        gap = math.fsum(abs(one.gap) * one.loss_tokens for one in own.bins) / tokens
        said.append(f"{text(own.arm, 30)} {brief(gap)}")
    return f"mean absolute gap of the bins, by their tokens: {', '.join(said)}"


def _points(found: "Sequence[Calibration]", *, gaps: bool) -> tuple[CurvePoint, ...]:
    return tuple(
        CurvePoint(
            text(own.arm, 30), str(own.update), one.p_sampler, one.gap if gaps else one.p_current, one.loss_tokens
        )
        for own in found
        for one in own.bins
    )


def _table(shown: "Sequence[Calibration]") -> Table:
    return Table(
        caption="Mean probabilities of the sampled tokens by arm, update and bin of p_sampler",
        columns=(
            Column("Arm"),
            Column("Update", numeric=True),
            Column("p_sampler in bin", numeric=True),
            Column("Loss tokens", numeric=True),
            Column("Mean p_sampler", numeric=True),
            Column("Mean p_current", numeric=True),
            Column("Gap", numeric=True),
        ),
        rows=tuple(row for own in shown for row in _rows(own)),
        folded=True,
    )


def _rows(own: "Calibration") -> Iterator[tuple[str, ...]]:
    named = (text(own.arm, 30), str(own.update))
    if own.invalid:
        yield (*named, "not binned", count(own.invalid), *("no number",) * 3)
    for one in own.bins:
        yield (
            *named,
            _limits(one),
            count(one.loss_tokens),
            *(number(value) for value in (one.p_sampler, one.p_current)),
            brief(one.gap),
        )
