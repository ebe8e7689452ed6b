"""`audit integrity`: was it measured honestly?"""

import sys
from typing import Annotated

import typer

from runner.arguments import ExitZero, RunArgument
from runner.formats import Format


def command(
    run: RunArgument = None,
    only: Annotated[list[str] | None, typer.Option(help="Id of an audit to run, once each; default: all.")] = None,
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

    report = integrity_report(open_run(choose_run(run)), only=only or (), evidence=True)
    emit_checks(report, format.value, sys.stdout, command="integrity")
    raise typer.Exit(0 if exit_zero else report.exit_code)
