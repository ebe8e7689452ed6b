"""`audit decide`: the verdict by the registered rule."""

import sys
from dataclasses import replace
from typing import Annotated

import typer

from runner.formats import Format


def command(
    run: Annotated[
        str | None,
        typer.Argument(help="Run directory or s3://… URL; default: the newest full or imported one under ./runs."),
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="Decision method; beside a registered one it is exploratory.")
    ] = None,
    alpha: Annotated[float | None, typer.Option(help="Error probability, where no plan is sealed.")] = None,
    margin: Annotated[float | None, typer.Option(help="Validated needs the interval above it.")] = None,
    floor: Annotated[float | None, typer.Option(help="Refuted needs the interval below it; default: -margin.")] = None,
    band: Annotated[float | None, typer.Option(help="Tie needs the interval inside [-band, band].")] = None,
    weights: Annotated[
        str | None, typer.Option(help="Contrast over roles, for example treatment=1,baseline=-1.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of a method that draws, where no plan is sealed.")] = None,
    format: Annotated[Format, typer.Option(help="How the decision is printed.")] = Format.table,
    exit_zero: Annotated[bool, typer.Option("--exit-zero", help="Exit 0 whatever the verdict.")] = False,
) -> None:
    """Decide what may be claimed. Each call is a look at the outcomes and is recorded in the run.

    Integrity audits of the evaluations are asked beside it and named where they fail; they change neither verdict nor
    exit code. `audit check` asks all of them.

    Exit codes: 0 validated, 1 refuted or tie, 2 unreadable input or broken pairing, 4 inconclusive or void.
    """
    from audits.engine.decide import RuleOptions, decide
    from audits.engine.integrity import beside_decision
    from audits.store.reader import connect, open_run
    from reports.emitters.emit import emit_decision
    from runner.looks import record
    from runner.runs import choose_run

    opened = open_run(choose_run(run, kinds=("full", "imported")))
    options = RuleOptions(alpha, margin, floor, band, _weights(weights), seed)
    # One database, so that what both need is derived once.
    with connect(opened):
        decided = replace(decide(opened, method=method, options=options), integrity=beside_decision(opened))
    report = record(opened, decided, asked=method)
    emit_decision(report, format.value, sys.stdout)
    raise typer.Exit(0 if exit_zero else report.exit_code)


def _weights(text: str | None) -> dict[str, float] | None:
    from analysis.errors import AuditError

    if text is None:
        return None
    weights = {}
    for part in text.split(","):
        role, separator, number = part.partition("=")
        if role.strip() in weights:
            raise AuditError(f"--weights: {role.strip()} is given twice")
        try:
            weights[role.strip()] = float(number)
        except ValueError:
            separator = ""
        if not separator or not role.strip():
            raise AuditError(f"--weights: {part!r} is not ROLE=NUMBER, as in treatment=1,baseline=-1")
    return weights
