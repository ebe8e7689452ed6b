"""`audit check`: all that stands between a run and its claim, with one exit code."""

import sys
from typing import Annotated

import typer

from runner.arguments import ExitZero, RunArgument
from runner.formats import Format


def command(
    run: RunArgument = None,
    format: Annotated[Format, typer.Option(help="How the checks are printed.")] = Format.table,
    exit_zero: ExitZero = False,
) -> None:
    """Check all that the plan requires of a run, and every integrity audit, with one exit code.

    Files and seal, the pilot's gate, the preflights, the integrity audits and the registered verdict. Of a pilot
    everything but the verdict. It looks at the outcomes, so the look is recorded in the run.

    Exit codes: 0 passed and validated; 1 a check failed, or refuted or tie; 2 unreadable input or broken pairing; 4 the
    verdict is void, which comes before a failure, or evidence is missing or the verdict is inconclusive.
    """
    from audits.engine.whole_check import check_run
    from audits.store.reader import open_run
    from reports.emitters.emit import emit_whole_check
    from runner.looks import record
    from runner.runs import choose_run

    opened = open_run(choose_run(run))
    whole = check_run(opened, evidence=True)
    decision = None if whole.decision is None else record(opened, whole.decision)
    emit_whole_check(whole.report, decision, format.value, sys.stdout)
    raise typer.Exit(0 if exit_zero else whole.exit_code)
