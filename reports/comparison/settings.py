"""Settings: what the two runs planned otherwise, and what they executed otherwise."""

from audits.engine.comparison import Difference, Differences
from reports.display import command, count, text
from reports.parts import Column, Command, ComparisonInputs, Section, Table

ORDER = 50
SHOWN_SETTINGS = 120


def build(inputs: ComparisonInputs) -> Section:
    """Return the settings' section."""
    parts = (("planned", inputs.planned), ("executed", inputs.executed))
    left_out = [
        f"{count(SHOWN_SETTINGS)} of {count(len(part.found))} settings {name} otherwise are shown."
        for name, part in parts
        if len(part.found) > SHOWN_SETTINGS and _silent(part) is None
    ]
    return Section(
        id="settings",
        title="Settings",
        takeaway=" ".join(_sentence(name, part) for name, part in parts),
        tables=tuple(_table(name, part.found) for name, part in parts if part.found and _silent(part) is None),
        commands=tuple(
            Command(
                f"settings-command-{name.lower()}",
                f"what {name} planned beside what it executed",
                command("audit", "integrity", run.run, "--only", "executed_settings"),
            )
            for name, run in inputs.named
        ),
        notes=(
            "Executed: as the logs show it, else as run.json states it. A setting that neither names is not compared.",
            *left_out,
        ),
    )


def _silent(part: Differences) -> str | None:
    """Return the run that names no setting at all, where the other one names some."""
    if len(part.found) < part.compared or not part.found:
        return None
    if all(item.first is None for item in part.found):
        return "A"
    return "B" if all(item.second is None for item in part.found) else None


def _sentence(name: str, part: Differences) -> str:
    if not part.compared:
        return f"No {name} setting is known of either run."
    silent = _silent(part)
    if silent is not None:
        return f"Run {silent} names no {name} setting, so the {count(part.compared)} of the other are not compared."
    if not part.found:
        return f"All {count(part.compared)} settings were {name} alike."
    return f"{count(len(part.found))} of {count(part.compared)} settings were {name} otherwise."


def _table(name: str, found: tuple[Difference, ...]) -> Table:
    columns = (Column("Setting"), Column("Arm"), Column("A"), Column("B"))
    rows = tuple(
        (text(item.setting, 120), text(item.arm, 60) or "all", _value(item.first), _value(item.second))
        for item in found[:SHOWN_SETTINGS]
    )
    return Table(f"{name.capitalize()} otherwise", columns, rows)


def _value(value: str | None) -> str:
    return "not named" if value is None else text(value, 300) or "empty"
