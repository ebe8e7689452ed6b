"""`audit demo`: the whole story on this machine, in a few minutes."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    out: Annotated[
        Path, typer.Option(help="Folder for the demo's two runs; its own earlier ones are replaced.")
    ] = Path("runs"),
) -> None:
    """Train two arms of a tiny model, from sealed plan to verdict: pilot, gate, full run, decision, report.

    Needs no network and no GPU. It exits 0 whatever the verdict is.
    """
    from audits.store.reader import open_run
    from reports.emitters.html import render_html
    from runner.looks import record
    from runner.loop.demonstration import run_demonstration
    from runner.loop.launch import load_shipped_plan
    from runner.loop.progress import progress_for
    from runner.pages import build_page

    progress = progress_for()
    try:
        run_demonstration(
            load_shipped_plan("demo"),
            out,
            typer.echo,
            progress,
            record,
            lambda run: render_html(build_page(open_run(run))),
        )
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    finally:
        progress.close()
