"""`audit export`: a run's tables in the formats of other tools."""

from pathlib import Path
from typing import Annotated

import typer

from runner.arguments import RunArgument


def command(
    run: RunArgument = None,
    to: Annotated[str, typer.Option(help="Format: csv, inspect-csv or prime-rl.")] = "csv",
    out: Annotated[Path | None, typer.Option(help="File (csv) or directory to make.")] = None,
) -> None:
    """Write a run for other tools.

    csv has the outcomes, one row an item a sample; inspect-csv the same under the columns of inspect_ai's data frames;
    prime-rl the tokens as its token exports. What a format cannot carry is told. `audit sql --export` writes Parquet.
    """
    from analysis.errors import AuditError
    from analysis.printable import printable
    from audits.store.reader import open_run
    from runner.exporters.engine.exporting import export_run
    from runner.runs import choose_run

    if out is None:
        raise AuditError("--out is needed: the file or directory to make")
    opened = open_run(choose_run(run))
    for line in export_run(opened, to, out):
        typer.echo(printable(line))
