"""Power: the smallest true difference that this rule could have shown with these items."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from reports.display import LABEL_LIMIT, NO_NUMBER, command, count, number, text
from reports.parts import Column, Command, ReportInputs, Section, Table

if TYPE_CHECKING:
    from analysis.power_answer import PowerAnswer, Study
    from analysis.power_study import Row

ORDER = 25
SHOWN_STUDIES = 8

_COLUMNS = (
    Column("Discordant items"),
    Column("Interval's half-width", numeric=True),
    Column("Smallest difference shown", numeric=True),
)
_NO_EXCUSE = (
    "Of the outcomes this takes the number of items on which the arms differ, and never the difference itself: no "
    "observed power is computed, which would only say the p-value again. It excuses no result; it says what a "
    "result of this size could have shown."
)


def build(inputs: ReportInputs) -> Section:
    """Return the power section."""
    answer = inputs.power
    if answer is None or not answer.studies:
        why = (
            ""
            if answer is None
            else "".join(f" {_sentence(_without_run(note, inputs.run))}" for note in answer.notes[:3])
        )
        return Section(
            id="power",
            title="Power",
            takeaway=f"What difference this experiment could have shown was not computed.{why}",
        )
    shown = answer.studies[:SHOWN_STUDIES]
    return Section(
        id="power",
        title="Power",
        takeaway=" ".join(_takeaway(study, answer) for study in shown[:4]),
        tables=tuple(_table(study, several=len(answer.studies) > 1) for study in shown),
        commands=(Command("power-command", "these figures", command("audit", "power", "--run", inputs.run)),),
        notes=tuple(_notes(answer)),
    )


def _takeaway(study: "Study", answer: "PowerAnswer") -> str:
    setting, row = study.setting, _at_observed(study, answer)
    where = f" for {text(study.criterion, LABEL_LIMIT)}" if len(answer.studies) > 1 and study.criterion else ""
    items = "1 item" if setting.n_items == 1 else f"{count(setting.n_items)} items"
    none_seen = answer.observed is not None and answer.observed.discordant == 0 and row.discordance > 0
    assumed = " (none was; so many are possible)" if none_seen else ""
    share = f"{number(100 * row.discordance, 1)} %"
    above = "" if setting.margin == 0 else f", against a margin of {_points(setting.margin)}"
    if row.detectable_gap is None:
        return (
            f"With {items}{where} and {share} of them discordant{assumed}, this rule cannot validate any difference "
            f"with {100 * setting.target:g} % probability{above}: the arms can differ by at most "
            f"{number(100 * row.discordance, 1)} pp, {_why_not(row, setting.margin)}."
        )
    return (
        f"With {items}{where}, {text(setting.method.id, LABEL_LIMIT)} validates a true difference of "
        f"{_points(row.detectable_gap)} with a probability of {100 * setting.target:g} %{above}, with {share} of the "
        f"items discordant{assumed}; smaller ones are missed more often. "
        f"Its interval then reaches {_points(row.half_width)} to each side."
    )


def _why_not(row: "Row", margin: float) -> str:
    if row.half_width + margin >= row.discordance:
        return f"and its interval alone reaches {number(100 * row.half_width, 1)} pp to each side"
    return "and even that is shown less often"


def _at_observed(study: "Study", answer: "PowerAnswer") -> "Row":
    """Return the row of the observed discordance, or the one nearest to it where nothing was discordant."""
    wanted = 0.0 if answer.observed is None else answer.observed.share
    return min(study.rows, key=lambda row: abs(row.discordance - wanted))


def _table(study: "Study", *, several: bool) -> Table:
    setting = study.setting
    of = f" of {text(study.criterion, LABEL_LIMIT)}" if several and study.criterion else ""
    return Table(
        caption=f"What {text(setting.method.id, LABEL_LIMIT)} can show{of}: {count(setting.n_items)} items, alpha "
        f"{setting.alpha:g}, margin {_points(setting.margin)}, probability {100 * setting.target:g} %",
        columns=_COLUMNS,
        rows=tuple(
            (
                f"{number(100 * row.discordance, 2)} %",
                _points(row.half_width),
                "none" if row.detectable_gap is None else _points(row.detectable_gap),
            )
            for row in study.rows
        ),
    )


def _notes(answer: "PowerAnswer") -> Iterator[str]:
    observed = answer.observed
    if observed is not None:
        yield (
            f"{count(observed.discordant)} of {count(observed.n_items)} items are discordant, right in one arm only "
            f"({number(100 * observed.share, 2)} %). The share is itself uncertain: the table has it and the ends of "
            f"its exact 95 % interval, {number(100 * observed.low, 2)} to {number(100 * observed.high, 2)} %."
        )
    yield _NO_EXCUSE
    yield from (_sentence(note) for note in answer.notes)
    if len(answer.studies) > SHOWN_STUDIES:
        yield f"{SHOWN_STUDIES} of {count(len(answer.studies))} rules are shown; the command gives all."


def _without_run(note: str, run: str) -> str:
    """Return the first line of a message without the run that it begins with: the page is of that run."""
    return note.partition("\n")[0].removeprefix(f"{run}: ")


def _sentence(note: str) -> str:
    shown = text(note).rstrip(".")
    # A path is no word that a sentence could begin with a capital of.
    begins_with_path = "/" in shown.partition(" ")[0]
    return f"{shown}." if begins_with_path else f"{shown[:1].upper()}{shown[1:]}."


def _points(share: float) -> str:
    return f"{number(100 * share, 2)} pp" if math.isfinite(share) else NO_NUMBER
