"""Training: reward, length, surprisal, truncation and groups without a gradient, by step, in every arm."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reports.display import brief, command, count, number, text
from reports.parts import Column, Command, Figure, Lines, Point, ReportInputs, Section, Table
from reports.series import sampled

if TYPE_CHECKING:
    from audits.engine.training import TrainingStep

ORDER = 46
SHOWN_ROWS = 160
SHOWN_SERIES = 12
SPOKEN_ARMS = 4
NOT_LOGGED = "not logged"


@dataclass(frozen=True)
class _Measure:
    """One figure of a step: its name in a sentence, its axis, and where it stands."""

    name: str
    axis: str
    value: "Callable[[TrainingStep], float | None]"


_REWARD = _Measure("Mean reward", "mean reward", lambda row: row.mean_reward)
_TRUNCATED = _Measure("Truncated completions", "share of completions", lambda row: row.truncated_share)
_MEASURES = (
    _REWARD,
    _Measure("Mean completion length", "tokens", lambda row: row.completion_tokens),
    _Measure("Sampled surprisal", "nats a loss token", lambda row: row.sampled_surprisal),
    _TRUNCATED,
    _Measure("Groups with one reward", "share of groups", lambda row: row.one_reward_share),
)


def build(inputs: ReportInputs) -> Section:
    """Return the training section."""
    again = (
        Command(
            "training-command",
            "every step",
            command("audit", "sql", inputs.run, "SELECT * FROM training_steps ORDER BY ALL"),
        ),
    )
    if not inputs.training:
        return Section(
            id="training",
            title="Training curves",
            takeaway="Neither rollouts nor loss tokens were logged, so nothing is known here about how training went.",
        )
    shown, notes = sampled(
        inputs.training,
        lambda row: (row.arm, row.seed),
        "arm and seed",
        rows_shown=SHOWN_ROWS,
        series_shown=SHOWN_SERIES,
    )
    figures = (_figure(f"training-{place}", measure, inputs.training, shown) for place, measure in enumerate(_MEASURES))
    return Section(
        id="training",
        title="Training curves",
        takeaway=_takeaway(inputs.training),
        figures=tuple(figure for figure in figures if figure is not None),
        tables=(_table(shown, len(inputs.training)),),
        commands=again,
        notes=(
            "Training rollouts are sampled, validation and test items are not among them: a rising reward is not yet a "
            "better model. Surprisal is minus the log-probability of the sampled token, mean over the step's loss "
            "tokens; it estimates the entropy and is not the entropy. Completions are truncated where they ended at "
            "the token limit; a group with one reward carries no gradient.",
            *notes,
        ),
    )


def _takeaway(rows: "Sequence[TrainingStep]") -> str:
    arms = list(dict.fromkeys(row.arm for row in rows))
    steps = {row.step for row in rows}
    parts = [f"{count(len(steps))} {'step of training was' if len(steps) == 1 else 'steps of training were'} logged."]
    parts += [_reward_sentence(arm, [row for row in rows if row.arm == arm]) for arm in arms[:SPOKEN_ARMS]]
    if len(arms) > SPOKEN_ARMS:
        parts.append(f"{count(len(arms) - SPOKEN_ARMS)} more arms stand in the table.")
    return " ".join([*parts, _truncation_sentence(rows)])


def _reward_sentence(arm: str, rows: "Sequence[TrainingStep]") -> str:
    return f"Mean reward of {text(arm, 40)}: {_from_to(rows, _REWARD)}."


def _truncation_sentence(rows: "Sequence[TrainingStep]") -> str:
    found = [(row.truncated_share, row) for row in rows if row.truncated_share is not None]
    if not found:
        return "Whether completions were truncated was not logged."
    largest, row = max(found, key=lambda pair: pair[0])
    if largest == 0:
        return "No completion was truncated."
    return f"The truncated share is {brief(largest)} at most ({text(row.arm, 40)}, step {row.step})."


def _ends(rows: "Sequence[TrainingStep]", measure: _Measure) -> list[tuple[int, float]]:
    """Return the first and the last step with a number, each with the mean over the seeds that have one."""
    found: dict[int, list[float]] = {}
    for row in rows:
        value = measure.value(row)
        if value is not None and math.isfinite(value):
            found.setdefault(row.step, []).append(value)
    ends = sorted({min(found), max(found)}) if found else []
    # Divided before it is summed: a sum of two finite rewards may be none.
    return [(step, math.fsum(value / len(found[step]) for value in found[step])) for step in ends]


def _from_to(rows: "Sequence[TrainingStep]", measure: _Measure) -> str:
    values = [measure.value(row) for row in rows]
    known = [value for value in values if value is not None]
    if not known:
        return NOT_LOGGED
    broken = sum(not math.isfinite(value) for value in known)
    gaps = f", {count(broken)} of {count(len(known))} steps have no number" if broken else ""
    ends = _ends(rows, measure)
    if not ends:
        return f"none of {count(len(known))} steps has a number"
    said = [f"{brief(value)} at step {step}" for step, value in ends]
    seeds = len({row.seed for row in rows})
    over = f" (mean of {count(seeds)} seeds)" if seeds > 1 else ""
    return ", ".join(said) + over + gaps


def _figure(
    name: str, measure: _Measure, rows: "Sequence[TrainingStep]", shown: "Sequence[TrainingStep]"
) -> Figure | None:
    found = ((row, measure.value(row)) for row in shown)
    points = tuple(
        Point(text(row.arm, 30), "", f"seed {row.seed}", row.step, value)
        for row, value in found
        if value is not None and math.isfinite(value)
    )
    if not points:
        return None
    takeaway = _truncation_sentence(rows) if measure is _TRUNCATED else _change_sentence(rows, measure)
    return Figure(
        id=name,
        label=f"{measure.name}: lines over steps, one for each arm and seed. {takeaway}",
        takeaway=takeaway,
        caption="A line for each seed; the sentence has their mean." if len({row.seed for row in rows}) > 1 else "",
        chart=Lines(y_title=measure.axis, points=points),
        small=True,
    )


def _change_sentence(rows: "Sequence[TrainingStep]", measure: _Measure) -> str:
    said = []
    arms = list(dict.fromkeys(row.arm for row in rows))
    steps = _joined(step for step, _ in _ends(rows, measure))
    for arm in arms[:SPOKEN_ARMS]:
        ends = _ends([row for row in rows if row.arm == arm], measure)
        own = _joined(step for step, _ in ends)
        apart = "" if own in ("", steps) else f" (step {own})"
        said.append(f"{text(arm, 30)} {_joined(brief(value) for _, value in ends) or 'no number'}{apart}")
    return f"{measure.name}, step {steps}: {', '.join(said)}."


def _joined(ends: "Iterable[int | str]") -> str:
    return " to ".join(map(str, ends))


def _table(rows: "Sequence[TrainingStep]", total: int) -> Table:
    part = "" if len(rows) == total else f" ({count(len(rows))} of {count(total)} rows)"
    return Table(
        caption=f"Training by arm, seed and step{part}",
        columns=(
            Column("Arm"),
            Column("Seed", numeric=True),
            Column("Step", numeric=True),
            Column("Completions", numeric=True),
            *(Column(f"{measure.name} ({measure.axis})", numeric=True) for measure in _MEASURES),
        ),
        rows=tuple(
            (
                text(row.arm, 30),
                str(row.seed),
                str(row.step),
                NOT_LOGGED if row.rollouts is None else count(row.rollouts),
                *(_cell(measure.value(row)) for measure in _MEASURES),
            )
            for row in rows
        ),
        folded=True,
    )


def _cell(value: float | None) -> str:
    return NOT_LOGGED if value is None else number(value)
