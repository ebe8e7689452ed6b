"""Looks and deviations: who looked at the outcomes when, and where the run left its plan."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from audits.engine.check import Check, CheckReport
from audits.engine.deviations import SETTINGS_AUDIT
from reports.display import LABEL_LIMIT, command, count, status_sign, status_word, text
from reports.look_words import NOT_RECORDED, asked, interval
from reports.parts import Column, Command, ReportInputs, Section, Table

if TYPE_CHECKING:
    from audits.engine.deviations import Deviation, SettingDifference

ORDER = 80
SHOWN_LOOKS = 100
SHOWN_DEVIATIONS = 100
SHOWN_KEYS = 8
SHOWN_SETTINGS = 60

_LOOK_NAMES = {
    "looked_at": "Looked at (UTC)",
    "method": "Method",
    "verdict": "Verdict",
    "registered": "Registered",
    "alpha": "Alpha",
    "n_items": "Items",
}
_IN_WORDS = ("unit", "criteria")
_DEVIATION_COLUMNS = (
    Column("Kind"),
    Column("Of"),
    Column("What happened"),
    Column("Reason"),
    Column("Owner"),
    Column("Holds until"),
    Column("Recorded in"),
)
_SETTING_COLUMNS = (
    Column("Setting"),
    Column("Arm"),
    Column("Seed", numeric=True),
    Column("Planned"),
    Column("Executed"),
    Column("Seen in"),
)


def build(inputs: ReportInputs) -> Section:
    """Return the section of looks and deviations."""
    settings = _settings(inputs.integrity)
    tables = (_looks(inputs.looks), _deviations(inputs.deviations), _executed(settings), _differences(inputs.settings))
    return Section(
        id="looks",
        title="Looks and deviations",
        takeaway=f"{_looked(inputs.looks)} {_deviated(inputs.deviations)} {_compared(settings)}",
        tables=tuple(table for table in tables if table is not None),
        commands=(
            *(
                [Command("looks-command", "the looks", command("cat", f"{inputs.run}/looks.jsonl"))]
                if inputs.looks
                else []
            ),
            Command(
                "looks-settings",
                "each planned setting beside the executed one that differs",
                command("audit", "integrity", inputs.run, "--only", SETTINGS_AUDIT),
            ),
        ),
        notes=(
            "A look is recorded by `audit decide` and `audit check`, never by this page. A run that could not be "
            "written to, or outcomes read with other tools, leave none.",
        ),
    )


def _looked(looks: Sequence[Mapping[str, Any]]) -> str:
    if not looks:
        return "No look at the outcomes is recorded."
    if len(looks) == 1:
        return "One look at the outcomes is recorded."
    return f"{count(len(looks))} looks at the outcomes are recorded."


def _deviated(deviations: "Sequence[Deviation]") -> str:
    if not deviations:
        return "No waiver, interruption, service fault or superseded plan is recorded."
    kinds = dict.fromkeys(item.kind for item in deviations)
    named = ", ".join(f"{text(kind, 30)} ({_times(deviations, kind)})" for kind in list(kinds)[:8])
    return f"Deviations recorded: {named}."


def _times(deviations: "Sequence[Deviation]", kind: str) -> str:
    return count(sum(item.kind == kind for item in deviations))


def _compared(check: Check | None) -> str:
    if check is None:
        return "Planned and executed settings were not compared."
    word = {
        "pass": "Every planned setting that was logged is the one that was executed.",
        "not_applicable": "There are no planned settings to compare with what was executed.",
    }.get(check.status)
    return word or f"Planned against executed settings: {status_word(check.status)}."


def _settings(integrity: CheckReport | None) -> Check | None:
    checks = () if integrity is None else integrity.checks
    return next((check for check in checks if check.id == SETTINGS_AUDIT), None)


def _executed(check: Check | None) -> Table | None:
    if check is None:
        return None
    facts = [
        ("Status", f"{status_sign(check.status)} {status_word(check.status)}"),
        ("Settings examined", count(check.rows_examined)),
        ("Differences", "not counted" if not isinstance(check.value, float) else count(check.value)),
        *([("Reason", text(check.reason))] if check.reason else []),
        *(("Note", text(note)) for note in check.notes[:12]),
        *([("Evidence", text(check.evidence))] if check.evidence else []),
    ]
    return Table(
        caption="Planned settings against executed ones",
        columns=(Column("Thing"), Column("Value")),
        rows=tuple(facts),
    )


def _differences(settings: "Sequence[SettingDifference]") -> Table | None:
    if not settings:
        return None
    part = "" if len(settings) <= SHOWN_SETTINGS else f" ({SHOWN_SETTINGS} of {count(len(settings))})"
    return Table(
        caption=f"Settings that ran otherwise than planned, or that nobody logged{part}",
        columns=_SETTING_COLUMNS,
        rows=tuple(
            (
                text(item.setting, 80),
                "all" if item.arm is None else text(item.arm, 30),
                "all" if item.seed is None else str(item.seed),
                text(item.planned, 200),
                "not logged" if item.executed is None else text(item.executed, 200),
                text(item.source, LABEL_LIMIT),
            )
            for item in settings[:SHOWN_SETTINGS]
        ),
        folded=len(settings) > 12,
    )


def _deviations(deviations: "Sequence[Deviation]") -> Table | None:
    if not deviations:
        return None
    shown = deviations[:SHOWN_DEVIATIONS]
    part = "" if len(shown) == len(deviations) else f" ({SHOWN_DEVIATIONS} of {count(len(deviations))})"
    return Table(
        caption=f"Deviations from the plan, and what was accepted{part}",
        columns=_DEVIATION_COLUMNS,
        rows=tuple(
            (
                text(item.kind, LABEL_LIMIT),
                text(item.run, LABEL_LIMIT),
                text(item.what),
                *("none stated" if value is None else text(value) for value in (item.reason, item.owner)),
                "no end" if item.until is None else text(item.until, LABEL_LIMIT),
                text(item.source, LABEL_LIMIT),
            )
            for item in shown
        ),
    )


def _looks(looks: Sequence[Mapping[str, Any]]) -> Table | None:
    if not looks:
        return None
    shown = looks[-SHOWN_LOOKS:]
    recorded = dict.fromkeys(str(key) for look in shown for key in look if key not in _IN_WORDS)
    keys = [*(key for key in _LOOK_NAMES if key in recorded), *(key for key in recorded if key not in _LOOK_NAMES)]
    first = len(looks) - len(shown) + 1
    rows = tuple(
        (str(first + index), *(_cell(look.get(key)) for key in keys[:SHOWN_KEYS]), asked(look), interval(look))
        for index, look in enumerate(shown)
    )
    names = (_LOOK_NAMES.get(key, text(key, LABEL_LIMIT)) for key in keys[:SHOWN_KEYS])
    columns = (Column("Look", numeric=True), *(Column(name) for name in (*names, "Question", "Interval")))
    part = "" if len(shown) == len(looks) else f" (the last {SHOWN_LOOKS} of {count(len(looks))})"
    return Table(caption=f"Looks at the outcomes, oldest first{part}", columns=columns, rows=rows)


def _cell(value: object) -> str:
    return NOT_RECORDED if value is None else {"True": "yes", "False": "no"}.get(str(value), text(str(value), 200))
