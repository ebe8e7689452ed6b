"""Provenance: the plan, and the hashes, versions and commands that the page rests on."""

from collections.abc import Mapping

from reports.display import LABEL_LIMIT, command, text
from reports.parts import Column, Command, ReportInputs, Section, Table

ORDER = 90


def build(inputs: ReportInputs) -> Section:
    """Return the provenance section."""
    tables = [
        _pairs("What the plan fixes", "Setting", inputs.plan_summary),
        _pairs("Where this page comes from", "Thing", inputs.provenance),
    ]
    return Section(
        id="provenance",
        title="Plan and provenance",
        takeaway=_takeaway(inputs),
        tables=tuple(table for table in tables if table is not None),
        commands=(
            Command("provenance-report", "this page", command("audit", "report", inputs.run)),
            Command("provenance-verify", "the hashes", command("audit", "verify", inputs.run)),
        ),
        notes=(
            "The seal's time is the local clock's: it proves the order of events in this run, "
            "and no date to anybody outside it.",
        ),
    )


def _takeaway(inputs: ReportInputs) -> str:
    plan = "What the plan fixes" if inputs.plan_summary else "No plan was sealed"
    if not inputs.provenance:
        return f"{plan}; nothing is recorded about where the numbers come from."
    return f"{plan}, and the hashes, versions and commands that every number here rests on."


def _pairs(caption: str, name: str, pairs: Mapping[str, str]) -> Table | None:
    if not pairs:
        return None
    rows = tuple((text(str(key), LABEL_LIMIT), text(str(value))) for key, value in pairs.items())
    return Table(caption=caption, columns=(Column(name), Column("Value")), rows=rows)
