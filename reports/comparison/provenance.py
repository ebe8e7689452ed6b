"""Provenance: where the two runs come from, as far as that differs."""

from reports.display import LABEL_LIMIT, command, count, text
from reports.parts import Column, Command, ComparisonInputs, Section, Table

ORDER = 90


def build(inputs: ComparisonInputs) -> Section:
    """Return the provenance section."""
    first, second = inputs.first.provenance, inputs.second.provenance
    keys = list(dict.fromkeys([*first, *second]))
    different = [key for key in keys if first.get(key) != second.get(key)]
    rows = tuple(
        (text(str(key), LABEL_LIMIT), *(text(str(side.get(key, "not recorded"))) for side in (first, second)))
        for key in different
    )
    redacted = ("--redact",) if inputs.first.redacted else ()
    columns = (Column("Thing"), Column("A"), Column("B"))
    return Section(
        id="provenance",
        title="Provenance",
        takeaway=_takeaway(len(keys), len(different)),
        tables=(Table("Recorded otherwise", columns, rows),) if rows else (),
        commands=(
            Command(
                "provenance-report",
                "this page",
                command("audit", "report", inputs.first.run, inputs.second.run, *redacted),
            ),
            *(
                Command(
                    f"provenance-{name.lower()}",
                    f"the whole report of {name}",
                    command("audit", "report", run.run, *redacted),
                )
                for name, run in inputs.named
            ),
        ),
        notes=(f"Recorded looks at the outcomes: {len(inputs.first.looks)} in A, {len(inputs.second.looks)} in B.",),
    )


def _takeaway(total: int, different: int) -> str:
    if not total:
        return "Nothing is recorded about where either run comes from."
    if not different:
        return f"All {count(total)} records of where the runs come from are alike."
    return f"{count(different)} of {count(total)} records of where the runs come from differ."
