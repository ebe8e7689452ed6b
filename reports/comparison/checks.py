"""Checks: gate, preflights and integrity audits of both runs, those first that came out otherwise."""

from audits.engine.check import Check, CheckReport
from reports.display import LABEL_LIMIT, command, count, status_sign, status_word, text
from reports.parts import Column, Command, ComparisonInputs, ReportInputs, Section, Table
from reports.sections.gate import limit_text, value_text

ORDER = 30
SHOWN_CHECKS = 120

_KINDS = {"gate": "gate", "preflights": "preflight", "integrity": "integrity"}
Key = tuple[str, str, str]


def build(inputs: ComparisonInputs) -> Section:
    """Return the checks' section."""
    first, second = (_checks(run) for _, run in inputs.named)
    keys = list(dict.fromkeys([*first, *second]))
    otherwise = [key for key in keys if _status(first.get(key)) != _status(second.get(key))]
    ordered = [*otherwise, *(key for key in keys if key not in set(otherwise))]
    rows = tuple(_row(key, first.get(key), second.get(key)) for key in ordered[:SHOWN_CHECKS])
    columns = (
        Column("Check"),
        Column("Of"),
        Column("Arm"),
        Column("A", status=True),
        Column("B", status=True),
        Column("Value in A", numeric=True),
        Column("Value in B", numeric=True),
        Column("Limit"),
    )
    notes = ["The gate and the preflights of a full run are those of its pilot."]
    if len(ordered) > SHOWN_CHECKS:
        notes.append(f"{count(SHOWN_CHECKS)} of {count(len(ordered))} checks are shown.")
    return Section(
        id="checks",
        title="Checks",
        takeaway=_takeaway(len(keys), otherwise),
        tables=(Table("Checks of both runs, those first that came out otherwise", columns, rows),) if rows else (),
        commands=tuple(
            Command(f"checks-command-{name.lower()}", f"the checks of {name}", command("audit", _word(run), run.run))
            for name, run in inputs.named
        ),
        notes=tuple(notes),
    )


def _word(run: ReportInputs) -> str:
    """Return the command that makes the checks: `audit check` refuses a run that no rule can be applied to."""
    return "check" if run.undecided is None else "integrity"


def _checks(run: ReportInputs) -> dict[Key, Check]:
    reports: dict[str, CheckReport | None] = {kind: getattr(run, kind) for kind in _KINDS}
    return {
        (kind, check.id, check.arm or ""): check
        for kind, report in reports.items()
        if report is not None
        for check in report.checks
    }


def _takeaway(total: int, otherwise: list[Key]) -> str:
    if not total:
        return "Neither run has a check: nothing here shows that either treatment was active."
    if not otherwise:
        return f"All {count(total)} checks came out alike in both runs."
    named = ", ".join(dict.fromkeys(text(key[1], 40) for key in otherwise[:5]))
    more = " and more" if len(otherwise) > 5 else ""
    return f"{count(len(otherwise))} of {count(total)} checks came out otherwise: {named}{more}."


def _status(check: Check | None) -> str:
    return "not there" if check is None else check.status


def _shown(check: Check | None) -> str:
    return "not there" if check is None else f"{status_sign(check.status)} {status_word(check.status)}"


def _row(key: Key, first: Check | None, second: Check | None) -> tuple[str, ...]:
    kind, check_id, arm = key
    limits = list(dict.fromkeys(limit_text(check) for check in (first, second) if check is not None))
    return (
        text(check_id, 120),
        _KINDS[kind],
        text(arm, LABEL_LIMIT) or "all",
        _shown(first),
        _shown(second),
        *("not there" if check is None else value_text(check) for check in (first, second)),
        limits[0] if len(limits) == 1 else f"A: {limits[0]}; B: {limits[1]}",
    )
