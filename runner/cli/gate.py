"""`audit gate`: was the treatment really active in the pilot?"""

import sys
from typing import Annotated

import typer

from runner.arguments import ClusterAddress, ExitZero, RunArgument, ScanEngine
from runner.formats import Format


def command(
    run: RunArgument = None,
    engine: ScanEngine = "local",
    address: ClusterAddress = None,
    format: Annotated[Format, typer.Option(help="How the checks are printed.")] = Format.table,
    exit_zero: ExitZero = False,
) -> None:
    """Evaluate the plan's activation gate on a run's logs.

    Each failing check leaves a sample of the rows behind it in the run, as evidence/<id>.parquet. A waiver in the
    run's policy.json (check, arm, value, reason, owner, expires) turns a failure into `waived` until it expires.

    Exit codes: 0 passed, 1 a check failed, 2 unreadable input, 4 evidence is missing.
    """
    from analysis.errors import AuditError
    from audits.engine.executors import Engine
    from audits.engine.gate import evaluate_gate
    from audits.store.reader import open_run
    from reports.emitters.emit import emit_checks
    from runner.runs import choose_run

    opened = open_run(choose_run(run))
    if opened.sealed is None:
        raise AuditError(
            f"{opened.path}: no plan is sealed in this run, so there is no gate to evaluate. "
            "A run made by `audit run PLAN` carries its plan"
        )
    report = evaluate_gate(opened, opened.sealed.plan, engine=Engine(engine, address), evidence=True)
    emit_checks(report, format.value, sys.stdout, command="gate")
    raise typer.Exit(0 if exit_zero else report.exit_code)
