"""`audit preflight`: what the plan wants to know of losses, service and budget before the full run."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from runner.arguments import ExitZero, Service
from runner.formats import Format


def command(
    plan: Annotated[str, typer.Argument(help="Plan file (format 3), or the id of a shipped plan: demo.")],
    out: Annotated[Path, typer.Option(help="The pilot's directory, before or after `audit run --pilot`.")],
    service: Service = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="correctness, restoration or feasibility; may be repeated. Default: what the plan requires."),
    ] = None,
    format: Annotated[Format, typer.Option(help="How the comparisons are printed.")] = Format.table,
    exit_zero: ExitZero = False,
) -> None:
    """Run a plan's preflights on the service and keep their results beside the pilot.

    A full run is refused while a preflight that the plan requires is missing, failed, or another plan's. Where the
    plan requires none, all are run.

    Exit codes: 0 passed, 1 a comparison failed, 2 usage, plan or service, 4 evidence is missing.
    """
    from audits.engine.preflights import preflight_report
    from reports.emitters.emit import emit_checks
    from runner.loop.launch import load_plan, service_for
    from runner.loop.preflights import choose_preflights, run_preflights
    from runner.loop.progress import progress_for

    sealed = load_plan(plan)
    names = choose_preflights(sealed, only or [])
    progress = progress_for()
    try:
        results = run_preflights(sealed, out, service_for(service, sealed.plan), names, progress)
    except KeyboardInterrupt:
        typer.echo(f"audit: interrupted; {out} holds the preflights that were finished", err=True)
        raise typer.Exit(130) from None
    finally:
        progress.close()
    # A person wants to see what did not pass; programs get every comparison.
    report = preflight_report(out, results, brief=format is Format.table)
    emit_checks(report, format.value, sys.stdout, command="preflight")
    raise typer.Exit(0 if exit_zero else report.exit_code)
