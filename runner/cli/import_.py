"""`audit import`: outcomes and logs that other tools wrote, as a run directory."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[IMPORTER] SOURCE", help="The file or log directory; an importer's id where needed."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Run directory to make.")] = None,
    arm: Annotated[
        list[str] | None,
        typer.Option(
            help="ROLE=COLUMN (or the source's name of an arm), once an arm; without SOURCE, ROLE=PATH. Roles are "
            "baseline and treatment, others are free."
        ),
    ] = None,
    item: Annotated[
        str | None, typer.Option(help="Column that names the item: the pairing key; default item_id.")
    ] = None,
    mapping: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            help="FIELD=NAME, repeatable: the column, or what else of the source, that a field is taken from; --list "
            "has the fields.",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be imported, and write nothing.")] = False,
    listed: Annotated[
        bool,
        typer.Option(
            "--list", help="List the importers and the fields of a table; with an importer's id, all that it says."
        ),
    ] = False,
) -> None:
    """Turn outcomes and logs from elsewhere into a run, so that every audit works on them.

    What is read: tables (CSV, JSON lines, Parquet) and the logs of other tools, by the importers of `audit import
    --list`. One row an item, or one row an outcome:

    audit import x.csv --arm baseline=a_correct --arm treatment=b_correct --out runs/x

    audit import x.jsonl --map arm=model --map correct=ok --arm baseline=a --arm treatment=b --out runs/x
    """
    from analysis.errors import AuditError

    if listed:
        typer.echo(_listed(words or []))
        return

    from runner.importers.engine.importing import import_run
    from runner.provenance import command_line

    if out is None and not dry_run:
        raise AuditError("--out is needed: the run directory to make (or --dry-run, to see what would be imported)")
    summary = import_run(
        words or [],
        arms=[
            _pair("--arm", text, "ROLE=COLUMN or ROLE=PATH, as in --arm baseline=model_a_correct") for text in arm or []
        ],
        item=item,
        mapping=[_pair("--map", text, "FIELD=NAME, as in --map correct=is_correct") for text in mapping or []],
        out=None if dry_run else out,
        command_line=command_line(),
    )
    typer.echo("\n".join(_printable(line) for line in summary.split("\n")))


def _listed(words: list[str]) -> str:
    from analysis.errors import AuditError
    from runner.importers.engine.documentation import importer_words, importers_list
    from runner.importers.engine.registry import known_importer

    if len(words) > 1:
        raise AuditError("--list explains one importer at a time, as in `audit import --list outcomes`")
    return importer_words(known_importer(words[0])) if words else importers_list()


def _printable(line: str) -> str:
    from analysis.printable import printable

    return printable(line)


def _pair(option: str, text: str, form: str) -> tuple[str, str]:
    from analysis.errors import AuditError

    name, separator, value = text.partition("=")
    if not separator or not name or not value:
        raise AuditError(f"{option} {text!r} is not {form}")
    return name, value
