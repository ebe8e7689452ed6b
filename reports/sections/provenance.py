"""Provenance: the plan, the looks, and the hashes, versions and commands that the page rests on."""

from collections.abc import Mapping, Sequence

from reports.display import LABEL_LIMIT, command, count, text
from reports.parts import Column, Command, ReportInputs, Section, Table

ORDER = 90
SHOWN_LOOKS = 100


def build(inputs: ReportInputs) -> Section:
    """Return the provenance section."""
    tables = [
        _pairs("What the plan fixes", "Setting", inputs.plan_summary),
        _pairs("Where this page comes from", "Thing", inputs.provenance),
        _looks(inputs.looks),
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
    looks = len(inputs.looks)
    looked = (
        "No look at the outcomes is recorded."
        if not looks
        else "One look at the outcomes is recorded."
        if looks == 1
        else f"{count(looks)} looks at the outcomes are recorded."
    )
    known = "" if inputs.provenance else " Nothing is recorded about where the numbers come from."
    return looked + known


def _pairs(caption: str, name: str, pairs: Mapping[str, str]) -> Table | None:
    if not pairs:
        return None
    rows = tuple((text(str(key), LABEL_LIMIT), text(str(value))) for key, value in pairs.items())
    return Table(caption=caption, columns=(Column(name), Column("Value")), rows=rows)


def _looks(looks: Sequence[Mapping[str, str]]) -> Table | None:
    if not looks:
        return None
    shown = looks[-SHOWN_LOOKS:]
    keys = list(dict.fromkeys(str(key) for look in shown for key in look))[:8]
    first = len(looks) - len(shown) + 1
    rows = tuple(
        (str(first + index), *(text(str(look.get(key, "not recorded")), 200) for key in keys))
        for index, look in enumerate(shown)
    )
    columns = (Column("Look", numeric=True), *(Column(text(key, LABEL_LIMIT)) for key in keys))
    part = "" if len(shown) == len(looks) else f" (the last {SHOWN_LOOKS} of {count(len(looks))})"
    return Table(caption=f"Looks at the outcomes, oldest first{part}", columns=columns, rows=rows)
