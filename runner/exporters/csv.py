"""Outcomes as one CSV file (RFC 4180, UTF-8): one row an item a sample, all columns of evals, arm and seed.

Read again by `audit import outcomes FILE --map arm=arm --arm baseline=… --arm treatment=…`, which gives the same
decision: scores are written with all their digits. A text is written as it is, whatever a spreadsheet makes of it, and
cells that begin like a formula are counted and told. CSV has one empty cell for an absent value and an empty text: that
difference is lost. Prompts, rollouts and tokens are no outcomes and are not in it.
"""

from pathlib import Path

from audits.store.reader import Run
from audits.store.schema import tables
from runner.exporters.engine.rows import formulas_told, rows, write_csv

TABLE = "evals"
IS_FOLDER = False


def write(run: Run, out: Path) -> list[str]:
    """Write the outcomes of all arms, seeds and checkpoints.

    Args:
        run: the run.
        out: the file.
    """
    columns = ("arm", "seed", *(column.name for column in tables()[TABLE].columns))
    with rows(run, "outcomes") as found:
        written, formulas = write_csv(out, columns, found)
    return [f"{out}: {written:,} rows", *formulas_told(formulas)]
