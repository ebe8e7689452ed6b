"""Items: whose outcome changed between the two runs, in the same arm."""

from audits.engine.comparison import ArmChanges
from reports.display import LABEL_LIMIT, command, count, number, text
from reports.parts import Column, Command, ComparisonInputs, Section, Table

ORDER = 40
SHOWN_ITEMS = 200

_SQL = "SELECT * FROM final_item_means ORDER BY ALL"


def build(inputs: ComparisonInputs) -> Section:
    """Return the items' section."""
    notes = ["An item is the same where its id is; its score is the mean over its seeds and samples in that arm."]
    tables = [_counts(inputs.items)] if inputs.items else []
    changed = [(arm.arm, item) for arm in inputs.items for item in arm.changed]
    if changed:
        part = "" if len(changed) <= SHOWN_ITEMS else f" ({SHOWN_ITEMS} of {count(len(changed))})"
        rows = tuple(
            (text(item.item_id, LABEL_LIMIT), text(arm, LABEL_LIMIT), number(item.first), number(item.second))
            for arm, item in changed[:SHOWN_ITEMS]
        )
        columns = (
            Column("Item"),
            Column("Arm"),
            Column("Score in A", numeric=True),
            Column("Score in B", numeric=True),
        )
        tables.append(Table(f"Items with another score{part}", columns, rows, folded=True))
    return Section(
        id="items",
        title="Items",
        takeaway=_takeaway(inputs.items),
        tables=tuple(tables),
        commands=tuple(
            Command(
                f"items-command-{name.lower()}",
                f"every item's score in {name}",
                command("audit", "sql", run.run, _SQL, "--format", "csv"),
            )
            for name, run in inputs.named
        ),
        notes=tuple(notes),
    )


def _takeaway(arms: tuple[ArmChanges, ...]) -> str:
    if not arms:
        return "No arm has final outcomes in both runs under the same name, so no item can be compared."
    return " ".join(_sentence(arm) for arm in arms)


def _sentence(arm: ArmChanges) -> str:
    scored = arm.same + len(arm.changed)
    named = text(arm.arm, 40)
    if not scored:
        return f"{named}: no item has a score in both runs."
    if not arm.changed:
        return f"{named}: all {count(scored)} items have the same score in both runs."
    return (
        f"{named}: {count(len(arm.changed))} of {count(scored)} items have another score in B, "
        f"{count(arm.higher)} a higher and {count(arm.lower)} a lower one."
    )


def _counts(arms: tuple[ArmChanges, ...]) -> Table:
    columns = (
        Column("Arm"),
        *(
            Column(name, numeric=True)
            for name in ("Same score", "Higher in B", "Lower in B", "Without a score", "Only in A", "Only in B")
        ),
    )
    rows = tuple(
        (
            text(arm.arm, LABEL_LIMIT),
            *(
                count(value)
                for value in (arm.same, arm.higher, arm.lower, arm.without_score, arm.only_first, arm.only_second)
            ),
        )
        for arm in arms
    )
    return Table("Items by what became of their score", columns, rows)
