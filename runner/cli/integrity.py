"""`audit integrity`: was it measured honestly?"""

import sys
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from runner.arguments import ExitZero, RunArgument
from runner.formats import Format

if TYPE_CHECKING:
    from audits.store.reader import Run

SHOWN_ROWS = 100


def command(
    run: RunArgument = None,
    only: Annotated[list[str] | None, typer.Option(help="Id of an audit to run, once each; default: all.")] = None,
    rows: Annotated[
        str | None, typer.Option(metavar="ID", help="Print every offending row of this audit instead (table or json).")
    ] = None,
    format: Annotated[Format, typer.Option(help="How the checks are printed.")] = Format.table,
    exit_zero: ExitZero = False,
) -> None:
    """Look in a run's logs for what would make a reviewer throw the result out.

    Each audit with a finding leaves the offending rows in the run, as evidence/<id>.parquet. A waiver in the run's
    policy.json (check, value, reason, owner, expires) turns a failure into `waived` until it expires.

    Exit codes: 0 passed, 1 an audit failed, 2 unreadable input, 4 evidence is missing.
    """
    from audits.engine.integrity import integrity_report
    from audits.store.reader import open_run
    from reports.emitters.emit import emit_checks
    from runner.runs import choose_run

    if rows is not None:
        _print_rows(open_run(choose_run(run)), rows, format)
        return
    report = integrity_report(open_run(choose_run(run)), only=only or (), evidence=True)
    emit_checks(report, format.value, sys.stdout, command="integrity")
    raise typer.Exit(0 if exit_zero else report.exit_code)


def _print_rows(run: "Run", audit_id: str, format: Format) -> None:
    from analysis.errors import AuditError
    from audits.engine.integrity import offending_rows
    from audits.store.export import rows_of, write_json
    from reports.emitters.rows import rows_table

    if format not in (Format.table, Format.json):
        raise AuditError(f"--rows prints a table or json, not {format.value}")
    with offending_rows(run, audit_id) as reader:
        if format is Format.json:
            write_json(reader, sys.stdout)
        else:
            found = list(islice(rows_of(reader), SHOWN_ROWS + 1))
            typer.echo(rows_table(reader.schema.names, found, SHOWN_ROWS) if found else "no offending rows")
