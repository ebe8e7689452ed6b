"""`audit gate`: was the treatment really active in the pilot?"""

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from runner.arguments import ClusterAddress, ExitZero, RunArgument, ScanEngine
from runner.formats import Format

if TYPE_CHECKING:
    from analysis.plan.model import Plan
    from audits.store.reader import Run


def command(
    run: RunArgument = None,
    engine: ScanEngine = "local",
    address: ClusterAddress = None,
    format: Annotated[Format, typer.Option(help="How the checks are printed.")] = Format.table,
    plan: Annotated[
        str | None,
        typer.Option(help="Plan file, or the id of a shipped plan, for an imported run, which carries none."),
    ] = None,
    exit_zero: ExitZero = False,
) -> None:
    """Evaluate the plan's activation gate on a run's logs.

    Each failing check leaves a sample of the rows behind it in the run, as evidence/<id>.parquet. A waiver in the
    run's policy.json (check, arm, value, reason, owner, expires) turns a failure into `waived` until it expires.

    Exit codes: 0 passed, 1 a check failed, 2 unreadable input, 4 evidence is missing.
    """
    from audits.engine.executors import Engine
    from audits.engine.gate import evaluate_gate
    from audits.store.reader import open_run
    from reports.emitters.emit import emit_checks
    from runner.runs import choose_run

    opened = open_run(choose_run(run))
    demanded, notes = _demanded(opened, plan)
    report = evaluate_gate(opened, demanded, engine=Engine(engine, address), evidence=True)
    report = replace(report, reasons=(*notes, *report.reasons))
    emit_checks(report, format.value, sys.stdout, command="gate")
    raise typer.Exit(0 if exit_zero else report.exit_code)


def _demanded(run: "Run", name: str | None) -> tuple["Plan", tuple[str, ...]]:
    """Return the plan whose gate is evaluated, and what must be said of it."""
    from analysis.errors import AuditError
    from audits.engine.borrowed_plan import plan_for
    from runner.loop.launch import load_plan

    if name is not None:
        note = f"the gate is that of {name}, which is not sealed in this run: nothing was registered before it ran"
        return plan_for(run, load_plan(name).plan), (note,)
    if run.sealed is None:
        raise AuditError(
            f"{run.path}: no plan is sealed in this run, so there is no gate to evaluate. "
            "A run made by `audit run PLAN` carries its plan; for an imported one, name the plan: --plan PLAN"
        )
    return run.sealed.plan, ()
