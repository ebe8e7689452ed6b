"""Provenance: the plan, and the hashes, versions and commands that the page rests on."""

from collections.abc import Mapping, Sequence

from reports.display import LABEL_LIMIT, command, count, text
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
            Command("provenance-report", "this page", command("audit", "report", inputs.run, *_redacted(inputs))),
            Command("provenance-verify", "the hashes", command("audit", "verify", inputs.run)),
        ),
        notes=(
            "The seal's time is the local clock's: it proves the order of events in this run, "
            "and no date to anybody outside it.",
        ),
    )


def _redacted(inputs: ReportInputs) -> tuple[str, ...]:
    return ("--redact",) if inputs.redacted else ()


def _takeaway(inputs: ReportInputs) -> str:
    plan = "A plan was sealed in this run." if inputs.plan_summary else "No plan was sealed."
    facts = inputs.provenance
    if not facts:
        return f"{plan} Nothing is recorded about where the numbers come from."
    versions = sum(name.startswith("version of ") for name in facts)
    known = {
        "the command line": bool(facts.get("command")),
        "the commit of the code": bool(facts.get("git commit")),
        f"{count(versions)} versions" if versions else "versions": versions > 0,
    }
    said = [
        f"{what}: {_joined(names)}"
        for what, names in (
            ("Recorded", [name for name, is_known in known.items() if is_known]),
            ("Not recorded", [name for name, is_known in known.items() if not is_known]),
        )
        if names
    ]
    return f"{plan} {'. '.join(said)}."


def _joined(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _pairs(caption: str, name: str, pairs: Mapping[str, str]) -> Table | None:
    if not pairs:
        return None
    rows = tuple((text(str(key), LABEL_LIMIT), text(str(value)) or "not recorded") for key, value in pairs.items())
    return Table(caption=caption, columns=(Column(name), Column("Value")), rows=rows)
