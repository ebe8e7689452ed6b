"""`audit report`: one HTML page for a reviewer."""

from pathlib import Path
from typing import Annotated

import typer

from runner.arguments import RunArgument


def command(
    run: RunArgument = None,
    out: Annotated[Path | None, typer.Option(help="File to write; default: report.html in the run.")] = None,
) -> None:
    """Write the decision report as one file that needs no network. It records no look at the outcomes."""
    from analysis.errors import AuditError
    from audits.store.durable import write_whole
    from audits.store.location import is_local
    from audits.store.reader import open_run
    from reports.emitters.html import render_html
    from runner.pages import build_page
    from runner.runs import choose_run

    opened = open_run(choose_run(run))
    if out is None and not is_local(opened.path):
        raise AuditError(f"{opened.path}: the page cannot be written there. Name a file of this machine with --out")
    page = render_html(build_page(opened)).encode()
    target = out if out is not None else opened.path / "report.html"
    try:
        write_whole(target, page)
    except OSError as error:
        raise AuditError(f"{target}: cannot be written ({error.strerror}). Choose another place with --out") from error
    typer.echo(f"{target} ({len(page) / 1e6:.2f} MB)")
