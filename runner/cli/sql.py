"""`audit sql`: read-only SQL over the logs of one or several runs."""

import os
import re
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from analysis.printable import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from audits.store.sandbox import Answer, Sandbox


class Format(StrEnum):
    """How rows are written."""

    table = "table"
    csv = "csv"
    json = "json"


def command(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUN... QUERY",
            help="Run directories (default: the newest under ./runs), then one SELECT statement. "
            "--shell and --export DIRECTORY take runs only.",
        ),
    ] = None,
    shell: Annotated[bool, typer.Option("--shell", help="Ask at a prompt, or take statements from a pipe.")] = False,
    export: Annotated[
        Path | None,
        typer.Option(help="Write Parquet: the query's rows to FILE.parquet, or every table and view to a directory."),
    ] = None,
    format: Annotated[Format, typer.Option(help="How the rows are written to stdout.")] = Format.table,
    limit: Annotated[int, typer.Option(min=1, help="Rows that --format table shows.")] = 100,
    seconds: Annotated[int, typer.Option(min=1, max=604_800, help="Stop a statement after this time.")] = 600,
    memory: Annotated[str, typer.Option(help="Beyond this much memory, spill to a temporary directory.")] = "4GB",
) -> None:
    """Ask the logs of runs anything, with one SELECT.

    Tables: tokens, rollouts, updates, evals, phases, prompts. Views, among others: loss_tokens (probabilities, ratio
    and divergences ready), update_drift, final_item_scores. `.schema` in the --shell has every column. The first
    column, run, is the run directory's name. A query can neither write nor read any file.
    """
    from audits.engine.asked_tables import derive_tables
    from audits.store.reader import open_run
    from audits.store.sandbox import open_sandbox
    from runner.cli.main import say_error
    from runner.sql_shell import SqlShell

    paths, query = _runs_and_query(arguments or [], shell=shell, export=export)
    _refuse_target_inside(export, paths)
    runs = [open_run(path) for path in paths]
    names = _derived_names(query, export)
    derived = [derive_tables(run, names) for run in runs]
    with open_sandbox(runs, memory_limit=memory, seconds=seconds, derived=derived) as sandbox:
        if query is not None:
            _answer(sandbox, query, export, format, limit)
        elif export is not None:
            _export_all(sandbox, export)
        else:
            prompt = SqlShell(
                sandbox, lambda answer: _show(answer, format, limit), say_error, interactive=sys.stdin.isatty()
            )
            prompt.run()
            raise typer.Exit(2 if prompt.failures and not sys.stdin.isatty() else 0)


def _runs_and_query(arguments: "Sequence[str]", *, shell: bool, export: Path | None) -> tuple[list[Path], str | None]:
    """Return the runs and the query, None where none is taken."""
    from analysis.errors import AuditError
    from runner.runs import choose_run

    if shell and export is not None:
        raise AuditError("--shell and --export: choose one")
    query = None
    if shell or (export is not None and export.suffix != ".parquet"):
        if arguments and not os.path.isdir(arguments[-1]) and any(map(str.isspace, arguments[-1])):
            raise AuditError(
                "--shell takes no query on the command line: type it at the prompt, or pipe it in"
                if shell
                else f"--export {export}: a query is written to one file; give it a name that ends with .parquet"
            )
    else:
        *arguments, query = arguments or [""]
        if not query.strip() or os.path.isdir(query):
            raise AuditError(
                f"the last argument is the query, and {f'{query} is a directory' if query else 'there is none'}. "
                'As in: audit sql runs/full "SELECT arm, avg(reward) FROM rollouts GROUP BY arm"'
            )
    return _without_others([Path(name) for name in arguments]) or [choose_run(None)], query


def _without_others(paths: list[Path]) -> list[Path]:
    """Pass over, with a word on stderr, the directories and files beside the runs that `runs/*` names too."""
    from audits.store.manifest import MANIFEST_NAME

    runs = [path for path in paths if not path.exists() or (path / MANIFEST_NAME).exists()]
    if not runs:
        return paths
    for path in paths:
        if path not in runs:
            typer.echo(f"audit: passed over: {printable(str(path))}: not a run, it has no {MANIFEST_NAME}", err=True)
    return runs


def _refuse_target_inside(export: Path | None, paths: "Sequence[Path]") -> None:
    from analysis.errors import AuditError

    for path in paths:
        if export is not None and export.resolve().is_relative_to(path.resolve()):
            raise AuditError(
                f"--export {export}: lies inside the run, and a query changes nothing there. Choose another place"
            )


def _derived_names(query: str | None, export: Path | None) -> set[str]:
    """Return the derived tables that a query names, or all where every table is exported."""
    from audits.engine.asked_tables import derived_names

    if query is None:
        return set() if export is None else set(derived_names())
    return {word.lower() for word in re.findall(r"\w+", query)} & set(derived_names())


def _answer(sandbox: "Sandbox", query: str, export: Path | None, format: Format, limit: int) -> None:
    from audits.store.export import write_parquet

    for sentence in sandbox.missing(query):
        typer.echo(f"audit: {sentence}", err=True)
    with sandbox.select(query) as answer:
        if export is None:
            _show(answer, format, limit)
        else:
            typer.echo(f"audit: {export}: {write_parquet(answer, export):,} rows", err=True)


def _export_all(sandbox: "Sandbox", folder: Path) -> None:
    from audits.store.export import export_tables

    for sentence in sandbox.not_exported():
        typer.echo(f"audit: {sentence}", err=True)
    for path, rows in export_tables(sandbox, folder):
        typer.echo(f"audit: {path}: {rows:,} rows", err=True)


def _show(answer: "Answer", format: Format, limit: int) -> None:
    from audits.store.export import rows_of, write_csv, write_json
    from reports.emitters.rows import rows_table

    try:
        if format is Format.table:
            typer.echo(rows_table(answer.schema.names, rows_of(answer), limit))
        else:
            (write_csv if format is Format.csv else write_json)(answer, sys.stdout)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has enough (`audit sql … | head -1`); what is left in the buffer must go somewhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
