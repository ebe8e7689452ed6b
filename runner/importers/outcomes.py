"""Outcomes from a table: CSV, TSV, JSON lines (each also as .gz or .zst) or Parquet.

Wide, one row an item and one column of scores an arm: `--arm baseline=COLUMN --arm treatment=COLUMN`. Or long, one row
an outcome: `--map arm=COLUMN` names the column that tells the arms apart, and `--arm baseline=VALUE` which of its
values is which; without it the file is one arm. `--map FIELD=COLUMN` maps the fields item_id, score, correct,
completion, extracted, gold, extraction, stop_reason, n_tokens, error, sample, checkpoint, arm, seed and question; of
what is not mapped, columns of equal names are taken, and the others are told.

Scores are numbers from 0 to 1, or true and false. Nothing is dropped: an item without an id, an id that stands twice,
or a cell that is not what its field needs stops the import and is named with its line. A row with an error has no
score; a 0 beside an error is what failed harnesses write, and is no score either. An empty cell of CSV or TSV is no
value; in JSON lines and Parquet an empty text is one.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from audits.store.manifest import ArmRecord
from runner.importers.engine.checks import counted
from runner.importers.engine.compressed import is_compressed, plain_suffix
from runner.importers.engine.imported import Imported, ImportedArm, Options
from runner.importers.engine.source_files import peek, source_file
from runner.importers.engine.tables.fields import Layout, layout_of, left_out, told
from runner.importers.engine.tables.outcome_rows import OutcomeRows, by_arm
from runner.importers.engine.tables.table import JSON_SUFFIXES, is_table, open_table

ITEM_COLUMN = True
MAPPED = True


def sniff(path: Path) -> bool:
    """Return whether the path is a table by its name, and for JSON lines by the keys of the first line too."""
    return is_table(path) and (plain_suffix(path) not in JSON_SUFFIXES or _is_outcome(peek(path) or {}))


def read(source: Path, options: Options) -> Imported:
    """Return the outcomes of a table.

    Args:
        source: the file.
        options: which column is which field, and of each role the column of scores or the value in the column of arms.

    Raises:
        AuditError: the file, a column or a cell is not what was said; lines and item ids are named.
    """
    table = open_table(source)
    layout = layout_of(source, table, options)
    name = Path(source.stem).stem if is_compressed(source) else source.stem
    found = OutcomeRows(source, table, layout, name, options.scratch)
    found.gather()
    return Imported(
        importer="outcomes",
        files=(source_file(source),),
        arms=tuple(ImportedArm(_record(arm, seed), evals=evals) for arm, seed, evals in by_arm(found.rows)),
        prompts=found.prompts.rows if found.prompts.rows else None,
        details=_details(layout, options),
        mapped=tuple(told(table, layout)),
        ignored=tuple(left_out(table, layout)),
        notes=tuple(_notes(found)),
    )


def _is_outcome(first: Mapping[str, Any]) -> bool:
    return "item_id" in first and bool({"score", "correct"} & set(first))


def _record(arm: str, seed: int) -> ArmRecord:
    return ArmRecord(arm=arm, seed=seed, role="other", name=arm)


def _details(layout: Layout, options: Options) -> dict[str, Any]:
    mapped = {field: column for field, column in layout.columns.items() if field in layout.mapped}
    return {
        "item": layout.columns["item_id"],
        **({"columns": dict(options.arms)} if layout.scores else {}),
        **({"fields": mapped} if set(mapped) - {"item_id"} else {}),
    }


def _notes(found: OutcomeRows) -> Iterator[str]:
    if found.failed_with_zero:
        yield (
            f"{counted(found.failed_with_zero, 'row')} with an error stated the score 0: what failed has no score, and "
            "none was taken"
        )
    if found.prompts.rows:
        yield "a table does not say of which split its questions are: they were evaluated, and are taken as test"
    if found.without_gold:
        yield f"{counted(found.without_gold, 'row')} with a question and no gold answer: of these no prompt was made"
