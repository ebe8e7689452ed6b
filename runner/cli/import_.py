"""`audit import`: outcomes and logs that other tools wrote, as a run directory."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    importer: Annotated[str, typer.Argument(help="Importer: outcomes (a table with a column of scores an arm).")],
    source: Annotated[Path, typer.Argument(help="The file to import.")],
    out: Annotated[Path, typer.Option(help="Run directory to make.")],
    arm: Annotated[
        list[str], typer.Option(help="ROLE=COLUMN, once an arm; roles are baseline and treatment, others are free.")
    ],
    item: Annotated[str, typer.Option(help="Column that names the item: the pairing key.")] = "item_id",
) -> None:
    """Turn outcomes from elsewhere into a run, so that `audit decide` and `audit report` work on them."""
    from runner.importers.registry import load_importer
    from runner.loop.provenance import command_line

    summary = load_importer(importer).run(source, out=out, item=item, arms=_arms(arm), command_line=command_line())
    typer.echo(summary)


def _arms(pairs: list[str]) -> dict[str, str]:
    from analysis.errors import AuditError

    arms: dict[str, str] = {}
    for pair in pairs:
        role, separator, column = pair.partition("=")
        if not separator or not role or not column:
            raise AuditError(f"--arm {pair!r} is not ROLE=COLUMN, as in --arm baseline=model_a_correct")
        if role in arms:
            raise AuditError(f"--arm {role} is given twice")
        arms[role] = column
    return arms
