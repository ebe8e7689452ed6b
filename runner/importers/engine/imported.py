"""What an importer reads: a description in memory that knows nothing of the run directory it becomes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from audits.store.manifest import ArmRecord
from audits.store.writer import Columns


@dataclass(frozen=True)
class Options:
    """What the command line says of a source beside its path.

    Attributes:
        item: column that names the item, None where it was not said.
        arms: by role, the source's own name of an arm (a column of a table).
    """

    item: str | None = None
    arms: Mapping[str, str] = field(default_factory=dict)


def columns_of(rows: Sequence[Mapping[str, Any]]) -> Columns:
    """Return rows as columns; a column without any value is left out, as the source does not carry it.

    Args:
        rows: at least one, all with the same keys.
    """
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    # A score may be absent in every row of an evaluation that failed, and its rows still have one that is null.
    return {name: values for name, values in columns.items() if name == "score" or values.count(None) < len(values)}


@dataclass(frozen=True)
class SourceFile:
    """A file that was read; `name` is its path below what the command line named."""

    name: str
    sha256: str
    bytes: int


@dataclass(frozen=True)
class ImportedArm:
    """One arm and seed of a source. What the source does not carry has no column.

    Attributes:
        record: as `run.json` lists it. Where a source holds several arms, each is named as the source names it.
        evals: columns of the table of evaluations by checkpoint.
        rollouts: columns of the table of rollouts by rollout step.
        scalars: columns of the table of scalars.
        item_texts: by item id, what the source says of the item beside its id; two arms must agree.
    """

    record: ArmRecord
    evals: Mapping[str, Columns] = field(default_factory=dict)
    rollouts: Mapping[int, Columns] = field(default_factory=dict)
    scalars: Columns | None = None
    item_texts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Imported:
    """Everything that one source, or several together, says.

    Attributes:
        importer: its id; several are joined by `+`.
        files: what was read.
        arms: in the source's order.
        prompts: columns of the table of prompts.
        planned: what the source says was planned, by the plan's paths.
        executed: what the source says was executed, by the plan's paths.
        details: what `run.json` keeps of the source beside files and notes.
        mapped: what became what, one line each.
        ignored: what was left out, one line each, with the reason where it is not evident.
        notes: what the reader must know of what was read.
    """

    importer: str
    files: tuple[SourceFile, ...]
    arms: tuple[ImportedArm, ...]
    prompts: Columns | None = None
    planned: Mapping[str, Any] = field(default_factory=dict)
    executed: Mapping[str, Any] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    mapped: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
