"""`audit critic`: how wrong the advantages were, and how much of that reached the update."""

import sys
from typing import Annotated

import typer

from runner.arguments import ExitZero, RunArgument
from runner.formats import TableFormat


def command(
    run: RunArgument = None,
    format: Annotated[TableFormat, typer.Option(help="How it is printed.")] = TableFormat.table,
    exit_zero: ExitZero = False,
) -> None:
    """Compare every arm's advantages with fresh rollouts of the same states, and split their error.

    Mean squared error = offset² + scale + residual: the mean that is subtracted from a batch takes the offset away, a
    z-score the scale too. Accuracy is set against what is left only where every planned run finished, with 3 seeds or
    more a critic.

    Exit codes: 0 measured, 2 unreadable input, 4 nothing was measured.
    """
    from audits.engine.critic import critic_report
    from audits.store.reader import open_run
    from reports.emitters.critic import emit_critic
    from runner.runs import choose_run

    report = critic_report(open_run(choose_run(run)))
    emit_critic(report, format.value, sys.stdout)
    raise typer.Exit(0 if exit_zero or report.status == "measured" else 4)
