"""The gate: every check with its value, limit, denominator, definition and the query that gives it again."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from audits.engine.check import Check, CheckReport, StepValue, combine
from reports.display import (
    LABEL_LIMIT,
    beside,
    block,
    command,
    count,
    number,
    status_sign,
    status_word,
    text,
)
from reports.parts import Column, Command, Figure, Lines, Point, ReportInputs, Section, Table
from reports.series import Series, describe, thin

ORDER = 30
SEVERITY = ("fail", "inconclusive", "warn", "waived", "pass", "not_applicable")
SHOWN_PROFILES = 12
SHOWN_STEPS = 60
_COUNTED = {
    "arms": "arms",
    "files.jsonl": "files",
    "final": "items",
    "groups": "groups of rollouts",
    "loss_tokens": "loss tokens",
    "rollout_batches": "rollout batches",
    "rollouts": "rollouts",
}
"""What is counted, by the last word of a definition."""


@dataclass(frozen=True)
class GateRow:
    """One check as the table shows it."""

    id: str
    status: str
    sign: str
    word: str
    measures: str
    arm: str
    value: str
    limit: str
    counted: str
    examined: str
    definition: str
    remarks: tuple[str, ...]
    sql: Command | None


@dataclass(frozen=True)
class GateSection(Section):
    """The gate with its rows."""

    rows: tuple[GateRow, ...] = ()
    reasons: tuple[str, ...] = ()


def build(inputs: ReportInputs) -> GateSection:
    """Return the gate section."""
    gate = inputs.gate
    if gate is None:
        return GateSection(
            id="gate",
            title="Activation gate",
            takeaway="This run has no gate result: nothing here shows that the treatment was active.",
            commands=_of_another_plan(inputs),
        )
    profiled = [check for check in gate.checks if check.steps]
    shown = profiled[:SHOWN_PROFILES]
    drawn = [check for check in shown if _moves(check)]
    notes = []
    if len(profiled) > len(shown):
        notes.append(f"{count(len(shown))} of {count(len(profiled))} profiles over steps are shown.")
    if len(drawn) < len(shown):
        notes.append(
            f"{count(len(shown) - len(drawn))} profiles are the same in every step, or have words or no numbers: "
            "they stand in the table only."
        )
    return GateSection(
        id="gate",
        title="Activation gate",
        takeaway=_takeaway(gate),
        figures=tuple(_figure(f"gate-{index}", check) for index, check in enumerate(drawn)),
        tables=(*_in_full(gate, inputs.gate_in_full), *_profiles(shown)),
        commands=_commands(inputs.run, gate, inputs.gate_in_full),
        notes=tuple(notes),
        rows=tuple(_row(f"gate-sql-{index}", gate.run, check) for index, check in enumerate(by_severity(gate.checks))),
        reasons=tuple(text(reason) for reason in gate.reasons),
    )


def _commands(run: str, gate: CheckReport, full: CheckReport | None) -> tuple[Command, ...]:
    found = [Command("gate-command", "all checks", command("audit", "gate", gate.run))]
    if full is not None:
        found.append(Command("gate-command-full", "the figures of the full run", command("audit", "gate", run)))
    return tuple(found)


def _of_another_plan(inputs: ReportInputs) -> tuple[Command, ...]:
    """Return how a run with a log but without a plan is held against one: `audit gate RUN` alone refuses it."""
    if not inputs.drift or inputs.plan_summary:
        return ()
    return (
        Command("gate-command", "a plan's gate on this log", command("audit", "gate", inputs.run, "--plan", "PLAN")),
    )


def _takeaway(gate: CheckReport) -> str:
    if not gate.checks:
        return f"The gate on {text(gate.run, LABEL_LIMIT)} holds no checks, so it shows nothing: that is not a pass."
    tally: Counter[str] = Counter(check.status for check in gate.checks)
    parts = [f"{count(tally[status])} {status_word(status)}" for status in SEVERITY if tally[status]]
    worst = combine(check.status for check in gate.checks)
    named = ""
    if worst in {"fail", "inconclusive"}:
        ids = list(dict.fromkeys(text(check.id, 40) for check in gate.checks if check.status == worst))
        named = f" ({status_word(worst)}: {', '.join(ids[:5])}{', …' if len(ids) > 5 else ''})"
    return f"{count(len(gate.checks))} checks on {text(gate.run, LABEL_LIMIT)}: {', '.join(parts)}{named}."


def by_severity(checks: Sequence[Check]) -> list[Check]:
    """Return the checks with those that need a reader first, else in their own order."""
    return sorted(checks, key=lambda check: (SEVERITY.index(check.status), _order(check)))


def _order(check: Check) -> int:
    """Return a place among the inconclusive: an evaluation that failed first, then other findings, then absences."""
    if check.status != "inconclusive":
        return 0
    return 2 if check.value is None or isinstance(check.value, str) else 0 if check.id == "evaluation_errors" else 1


def value_text(check: Check) -> str:
    """Return the measured value with its unit, with digits enough to compare it with its limit."""
    if check.value is None:
        return "no value"
    if isinstance(check.value, str):
        return text(check.value, LABEL_LIMIT)
    value = float(check.value)
    limits = () if check.limit is None else (check.limit.min, check.limit.max)
    shown = count(value) if value.is_integer() and abs(value) >= 1000 else beside(value, limits)
    unit = "offending row" if value == 1 and check.unit == "offending rows" else text(check.unit, LABEL_LIMIT)
    return f"{shown} {unit}".rstrip()


def counted_text(check: Check) -> str:
    """Return numerator and denominator, or over what the figure is; empty where nothing was counted."""
    if check.denominator is None:
        return ""
    if check.numerator is None:
        return f"over {count(check.denominator)} {_COUNTED.get(_source_of(check), '')}".rstrip()
    counted = f"{count(check.numerator)} of {count(check.denominator)}"
    if check.over != "mean_of_steps" or not check.denominator:
        return counted
    # The value is the mean of per-step shares, which the pooled counts beside it do not give.
    pooled = f"{check.numerator / check.denominator:.4g}"
    return f"mean of {count(len(check.steps))} step shares; in all {counted} = {pooled}"


def _source_of(check: Check) -> str:
    """Return what a definition says that its figure is of: `arms` of `whole_steps@log/arms`."""
    return check.definition.rpartition("@")[2].rpartition("/")[2]


def limit_text(check: Check) -> str:
    """Return the limit in words."""
    return "no limit" if check.limit is None else text(str(check.limit), 200).replace(">=", "≥").replace("<=", "≤")


def remarks(check: Check) -> tuple[str, ...]:
    """Return the reason, the notes, the evidence and what to do, each one line."""
    found = []
    if check.reason:
        found.append(text(check.reason))
    elif check.value is None:
        found.append("The value is missing and no reason was recorded.")
    found += [text(note) for note in check.notes]
    if check.evidence:
        found.append(f"Rows behind it: {text(check.evidence)}")
    if check.mend:
        found.append(f"To do: {text(check.mend)}")
    return tuple(found)


def _in_full(gate: CheckReport, full: CheckReport | None) -> tuple[Table, ...]:
    """Return what the gate's figures over steps became in the full run, beside what they were."""
    measured = {(check.id, check.arm): check for check in gate.checks}
    rows = tuple(
        (
            text(check.id, LABEL_LIMIT),
            text(check.arm or "all", LABEL_LIMIT),
            value_text(before) if (before := measured.get((check.id, check.arm))) else "not gated",
            value_text(check),
            " ".join(text(note) for note in check.notes if "steps at zero" in note) or "not counted",
        )
        for check in (full.checks if full is not None else ())
        if check.over in {"mean_of_steps", "pooled"}
    )
    columns = (
        Column("Check"),
        Column("Arm"),
        Column("In the gate", numeric=True),
        Column("In the full run", numeric=True),
        Column("Its profile"),
    )
    caption = "The same figures in the full run itself, where nothing is gated"
    return (Table(caption, columns, rows),) if rows else ()


def _row(name: str, run: str, check: Check) -> GateRow:
    sql = None
    if check.sql:
        sql = Command(name, f"{text(check.id, LABEL_LIMIT)} again", block(command("audit", "sql", run, check.sql)))
    return GateRow(
        id=text(check.id, LABEL_LIMIT),
        status=check.status,
        sign=status_sign(check.status),
        word=status_word(check.status),
        measures=text(check.measures),
        arm=text(check.arm or "", LABEL_LIMIT),
        value=value_text(check),
        limit=limit_text(check),
        counted=counted_text(check),
        examined=f"{count(check.rows_examined)} rows read",
        definition=text(check.definition, 200),
        remarks=remarks(check),
        sql=sql,
    )


def _sampled(check: Check) -> list[StepValue]:
    kept, _ = thin([item.step for item in check.steps], SHOWN_STEPS)
    chosen = set(kept)
    found = [item for item in check.steps if item.step in chosen]
    return sorted(found, key=lambda item: (item.arm, item.seed, item.step))[: 8 * SHOWN_STEPS]


def _moves(check: Check) -> bool:
    """Return whether the profile is worth a chart: its values are numbers (not words), and not all the same."""
    values = [item.value for item in check.steps]
    if any(isinstance(value, str) for value in values):
        return False
    finite = {float(value) for value in values if math.isfinite(float(value))}
    return len(finite) > 1 or (len(finite) == 1 and not all(math.isfinite(float(value)) for value in values))


def _figure(name: str, check: Check) -> Figure:
    points = tuple(
        Point(text(item.arm, 30), "", f"seed {item.seed}", item.step, float(item.value)) for item in _sampled(check)
    )
    limits = () if check.limit is None else (check.limit.min, check.limit.max)
    takeaway = _profile_sentence(check)
    title = text(check.id, LABEL_LIMIT) + (f" ({text(check.arm, 30)})" if check.arm else "")
    return Figure(
        id=name,
        label=f"{title} over steps. {takeaway}",
        takeaway=f"{title}: {takeaway}",
        caption="Dashed: the limit, which the check's value over all steps is compared with." if check.limit else "",
        chart=Lines(
            y_title=text(check.unit, 40) or "value",
            points=points,
            limits=tuple(value for value in limits if value is not None),
        ),
        small=True,
    )


def _profile_sentence(check: Check) -> str:
    groups = dict.fromkeys((item.arm, item.seed) for item in check.steps)
    sentences = []
    for arm, seed in list(groups)[:2]:
        own = sorted((item for item in check.steps if (item.arm, item.seed) == (arm, seed)), key=lambda item: item.step)
        series = Series(tuple(item.step for item in own), tuple(float(item.value) for item in own))
        named = f"{text(arm, 30)}, seed {seed}: " if len(groups) > 1 else ""
        sentences.append(named + describe(series))
    more = f" And {count(len(groups) - 2)} more series." if len(groups) > 2 else ""
    return " ".join(sentences) + more


def _profiles(checks: Sequence[Check]) -> tuple[Table, ...]:
    rows = tuple(row for check in checks for row in _profile(check))
    total = sum(len(check.steps) for check in checks)
    part = "" if len(rows) == total else f" ({count(len(rows))} of {count(total)} rows)"
    columns = (
        Column("Check"),
        Column("Step", numeric=True),
        Column("Arm"),
        Column("Seed", numeric=True),
        Column("Value", numeric=True),
        Column("Counted", numeric=True),
        Column("Of", numeric=True),
    )
    return (Table(f"The checks by step{part}", columns, rows, folded=True),) if rows else ()


def _profile(check: Check) -> Iterator[tuple[str, ...]]:
    for item in _sampled(check):
        yield (
            text(check.id, LABEL_LIMIT),
            str(item.step),
            text(item.arm, 30),
            str(item.seed),
            text(item.value, 40) if isinstance(item.value, str) else number(item.value),
            NO_COUNT if item.numerator is None else count(item.numerator),
            count(item.denominator),
        )


NO_COUNT = "not a share"
