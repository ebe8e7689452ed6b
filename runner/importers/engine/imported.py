"""What an importer reads: a description in memory that knows nothing of the run directory it becomes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from audits.store.gathered import Rows, Scratch
from audits.store.manifest import ArmRecord


@dataclass(frozen=True)
class Options:
    """What the command line says of a source beside its path.

    Attributes:
        item: column that names the item, None where it was not said.
        scratch: gathers the rows.
        item: column that names the item, None where it was not said.
        arms: by role, the source's own name of an arm (a column of a table).
        mapping: by field, what in the source it is taken from, where this was said.
    """

    scratch: Scratch
    item: str | None = None
    arms: Mapping[str, str] = field(default_factory=dict)
    mapping: Mapping[str, str] = field(default_factory=dict)


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
        evals: rows of the table of evaluations by checkpoint.
        steps: by rollout step, rows of the tables that have a file a step (rollouts, tokens, phases, …), by table.
        scalars: rows of the table of scalars.
        item_texts: by item id, what the source says of the item beside its id; two arms must agree.
    """

    record: ArmRecord
    evals: Mapping[str, Rows] = field(default_factory=dict)
    steps: Mapping[int, Mapping[str, Rows]] = field(default_factory=dict)
    scalars: Rows | None = None
    item_texts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Imported:
    """Everything that one source, or several together, says.

    Attributes:
        importer: its id; several are joined by `+`.
        files: what was read.
        arms: in the source's order.
        prompts: rows of the table of prompts.
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
    prompts: Rows | None = None
    planned: Mapping[str, Any] = field(default_factory=dict)
    executed: Mapping[str, Any] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    mapped: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
