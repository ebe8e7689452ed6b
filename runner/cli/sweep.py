"""`audit sweep`: try a plan's learning rates on validation items, both arms alike."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from runner.arguments import Service
from runner.formats import TableFormat

if TYPE_CHECKING:
    from runner.loop.sweep import Sweep


def command(
    plan: Annotated[str, typer.Argument(help="Plan file (format 3) with a `sweep`, or the id of a shipped plan.")],
    out: Annotated[Path, typer.Option(help="Folder for a run a rate and sweep.json; it must not exist, or be empty.")],
    service: Service = None,
    format: Annotated[TableFormat, typer.Option(help="How the table is printed.")] = TableFormat.table,
) -> None:
    """Train every rate of the plan's grid briefly and score it on validation items; no test item is touched.

    The rule that chooses is printed with the table. The plan does not change: to adopt a rate, write a new plan that
    supersedes it. Each rate's run holds such a plan for its pilot.

    Exit codes: 0 a rate is chosen, 2 usage, plan or service, 4 the rule chooses none, 130 interrupted.
    """
    from runner.loop.backend import open_backend
    from runner.loop.launch import load_plan, service_for
    from runner.loop.progress import progress_for
    from runner.loop.saved_states import STATE_NAME
    from runner.loop.sweep import rate_plans, require_free_folder, run_sweep

    sealed = load_plan(plan)
    rate_plans(sealed)
    require_free_folder(out)
    progress = progress_for()
    try:
        with open_backend(service_for(service, sealed.plan), out / STATE_NAME) as backend:
            sweep = run_sweep(sealed, out, backend, progress)
    finally:
        progress.close()
    if format is TableFormat.json:
        from reports.emitters.json import dumps

        sys.stdout.write(dumps(sweep.as_json()) + "\n")
    else:
        sys.stdout.write(_table(sweep))
    raise typer.Exit(0 if sweep.choice.learning_rate is not None else 4)


def _table(sweep: "Sweep") -> str:
    from analysis.learning_rate import RULE

    rows = [("rate", "condition", "seed", "score", "95 % interval", "items", "gate")]
    if sweep.base is not None:
        base = sweep.base
        rows.append(("-", "base", "-", *_figures(base.score, base.lower, base.upper, base.items), "-"))
    for trial in sweep.trials:
        for arm in trial.arms:
            figures = _figures(arm.score, arm.lower, arm.upper, arm.items)
            rows.append((f"{trial.learning_rate:g}", arm.condition, str(arm.seed), *figures, trial.gate))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    choice = sweep.choice
    chosen = "none" if choice.learning_rate is None else f"{choice.learning_rate:g} for both arms"
    return "\n".join(["Validation items only", *lines, "", f"Rule: {RULE}.", f"Chosen: {chosen}: {choice.reason}.", ""])


def _figures(score: float, lower: float, upper: float, items: int) -> tuple[str, str, str]:
    return f"{score:.3f}", f"{lower:.3f} to {upper:.3f}", str(items)
