"""`audit sql`: read-only SQL over a run's logs."""

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """How rows are written."""

    table = "table"
    csv = "csv"
    json = "json"
    parquet = "parquet"


def command(
    run: Annotated[Path, typer.Argument(help="Run directory.")],
    query: Annotated[str, typer.Argument(help="One SELECT statement.")],
    format: Annotated[Format, typer.Option(help="How the rows are written to stdout.")] = Format.table,
    out: Annotated[Path | None, typer.Option(help="File for --format parquet.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Rows that --format table shows.")] = 100,
    seconds: Annotated[int, typer.Option(min=1, max=604_800, help="Stop the query after this time.")] = 600,
    memory: Annotated[str, typer.Option(help="Beyond this much memory, spill to a temporary directory.")] = "4GB",
) -> None:
    """Ask a run's logs anything, with one SELECT.

    Tables: tokens, rollouts, updates, evals, phases, prompts. Views: loss_tokens (probabilities, ratio and
    divergences ready), update_drift, final_item_scores. The query can neither write nor read any file.
    """
    from analysis.errors import AuditError
    from audits.store.export import rows_of, write_csv, write_json, write_parquet
    from audits.store.reader import open_run
    from audits.store.sandbox import query as run_query
    from reports.emitters.rows import rows_table

    if (format is Format.parquet) != (out is not None):
        raise AuditError("--format parquet and --out FILE.parquet go together; other formats go to stdout")
    if out is not None and out.resolve().is_relative_to(run.resolve()):
        raise AuditError(f"--out {out}: lies inside the run, and a query changes nothing there. Choose another place")
    with run_query(open_run(run), query, memory_limit=memory, seconds=seconds) as relation:
        reader = relation.to_arrow_reader()
        if format in (Format.csv, Format.json):
            try:
                (write_csv if format is Format.csv else write_json)(reader, sys.stdout)
                sys.stdout.flush()
            except BrokenPipeError:
                # The reader has enough (`audit sql … | head -1`); what is left in the buffer must go somewhere.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        elif out is not None:
            typer.echo(f"audit: {out}: {write_parquet(reader, out)} rows", err=True)
        else:
            typer.echo(rows_table(reader.schema.names, rows_of(reader), limit))
