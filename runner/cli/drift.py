"""`audit drift`: how far the policy moved from its sampler, step by step, and when that changed."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from runner.arguments import ClusterAddress, ExitZero, RunArgument, ScanEngine
from runner.formats import Format


class Curve(StrEnum):
    """A rule that is drawn over a range of thresholds."""

    binary_tv = "binary_tv"
    binary_kl = "binary_kl"
    ratio = "ratio"


def command(
    run: RunArgument = None,
    rule: Annotated[
        list[str] | None,
        typer.Option(help="Rule to try on every arm's log: binary_tv=0.1, binary_kl=0.05 or ratio=0.3."),
    ] = None,
    curve: Annotated[Curve | None, typer.Option(help="Share that a rule takes away, over thresholds.")] = None,
    rows: Annotated[int, typer.Option(min=1, help="Updates that the table shows at most.")] = 40,
    chart: Annotated[Path | None, typer.Option(help="Draw drift over steps: FILE.html or FILE.svg.")] = None,
    engine: ScanEngine = "local",
    address: ClusterAddress = None,
    format: Annotated[Format, typer.Option(help="How it is printed.")] = Format.table,
    exit_zero: ExitZero = False,
) -> None:
    """Show drift, masks and clips by step and update of every arm, and the onset of what should not move.

    A movement is a warning and exits 0: no limit of the plan stands against it. On whichever arm's log, --rule and
    --curve say what a rule would have taken away.

    Exit codes: 0 measured, 1 rows that are no numbers, 2 unreadable input or no token log, 4 evidence is missing.
    """
    from audits.engine.counterfactual import parse_rule
    from audits.engine.drift import drift_report
    from audits.engine.executors import Engine
    from audits.store.reader import open_run
    from reports.emitters.drift import emit_drift, write_drift_chart
    from runner.runs import choose_run

    rules = [parse_rule(text) for text in rule or ()]
    opened = open_run(choose_run(run))
    plan = opened.sealed.plan if opened.sealed is not None else None
    report = drift_report(
        opened, plan, rules=rules, curve_of=curve.value if curve is not None else None, engine=Engine(engine, address)
    )
    if chart is not None:
        write_drift_chart(report, chart)
        typer.echo(f"audit: {chart} written", err=True)
    emit_drift(report, format.value, sys.stdout, rows=rows)
    raise typer.Exit(0 if exit_zero else report.checks.exit_code)
