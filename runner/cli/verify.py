"""`audit verify`: are the run's files the bytes that were written?"""

import sys
from typing import Annotated

import typer

from runner.arguments import RunArgument
from runner.formats import Format


def command(
    run: RunArgument = None,
    format: Annotated[Format, typer.Option(help="How the checks are printed.")] = Format.table,
) -> None:
    """Compare every file of a run with the size, sha256 and rows that were recorded when it was written.

    Exit codes: 0 intact, 1 a file or the sealed plan changed, 2 unreadable manifest, 4 nothing was written.
    """
    from audits.engine.verification import verify_run
    from audits.store.reader import open_run
    from reports.emitters.emit import emit_checks
    from runner.runs import choose_run

    report = verify_run(open_run(choose_run(run)))
    emit_checks(report, format.value, sys.stdout, command="verify")
    raise typer.Exit(report.exit_code)
