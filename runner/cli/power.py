"""`audit power`: what a decision method can show before the evaluation is paid for."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from runner.formats import TableFormat


def command(
    method: Annotated[
        list[str] | None, typer.Option(help="Decision method, more than once to compare; default: the plan's.")
    ] = None,
    items: Annotated[
        int | None, typer.Option(help="Number of test items; default: the plan's, else the run's.")
    ] = None,
    discordance: Annotated[
        list[float] | None,
        typer.Option(help="Share of items that exactly one arm has right, more than once; default: .05 .1 .2 .3."),
    ] = None,
    gap: Annotated[
        list[float] | None, typer.Option(help="True gap in accuracy: its power, and the items for the target.")
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(help="Two-sided error probability; default: the plan's or .05.")
    ] = None,
    margin: Annotated[float | None, typer.Option(help="Validated needs the interval above it.")] = None,
    band: Annotated[float | None, typer.Option(help="Tie needs the interval inside [-band, band]: its power.")] = None,
    half_width: Annotated[float | None, typer.Option(help="Items for a half-width of at most this.")] = None,
    target: Annotated[float, typer.Option(help="The power asked for.")] = 0.8,
    plan: Annotated[str | None, typer.Option(help="Plan file, or the id of a shipped plan: take its rule.")] = None,
    run: Annotated[str | None, typer.Option(help="Pilot or run: take its observed discordance, and its plan.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the methods that draw.")] = None,
    format: Annotated[TableFormat, typer.Option(help="How the figures are printed.")] = TableFormat.table,
    chart: Annotated[Path | None, typer.Option(help="Draw power against the gap: FILE.html or FILE.svg.")] = None,
) -> None:
    """Say which true gaps a method can validate, with how many items, and which ties it can certify.

    Right/wrong scores only: their law is enumerated exactly, nothing is simulated. All figures are shares: 0.02 is two
    points. Reads no outcome but the number of items on which the arms differ, so that no look is recorded.

    Exit codes: 0 computed, 2 usage or unreadable input.
    """
    from audits.store.location import locate
    from audits.store.reader import open_run
    from reports.emitters.power import emit_power, write_chart
    from runner.power_question import Options, ask

    options = Options(
        methods=tuple(method or ()), items=items, discordances=tuple(discordance or ()), gaps=tuple(gap or ()),
        alpha=alpha, margin=margin, band=band, half_width=half_width, target=target, seed=seed,
        points=61 if chart is not None else 0,
    )  # fmt: skip
    answer = ask(options, plan, open_run(locate(run)) if run is not None else None)
    if chart is not None:
        write_chart(answer, chart)
        typer.echo(f"audit: {chart} written", err=True)
    emit_power(answer, format.value, sys.stdout)
