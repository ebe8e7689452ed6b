"""`audit report`: one run's page for a reviewer, or two runs side by side."""

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from runner.arguments import RunArgument

if TYPE_CHECKING:
    from audits.store.reader import Run


class PageFormat(StrEnum):
    """The formats of a report: for a reviewer, for a pull request, for programs."""

    html = "html"
    md = "md"
    json = "json"


def command(
    run: RunArgument = None,
    other: Annotated[str | None, typer.Argument(help="A second run, to compare the first with.")] = None,
    format: Annotated[PageFormat, typer.Option(help="html is one file, md fits a pull request.")] = PageFormat.html,
    out: Annotated[
        Path | None,
        typer.Option(help="File to write, - for stdout; default: report.html in the run, md and json on stdout."),
    ] = None,
    redact: Annotated[
        bool,
        typer.Option(
            "--redact",
            help="Leave out questions, answers and completions; item ids stay. Default file: report.redacted.html.",
        ),
    ] = False,
) -> None:
    """Write the decision report as one file that needs no network. It records no look at the outcomes.

    With two runs: their verdicts, gates, settings and items side by side, in comparison.html in the first run.
    """
    from audits.store.reader import open_run
    from reports.emitters.emit import comparison_text
    from runner.pages import comparison_inputs
    from runner.runs import choose_run

    opened = open_run(choose_run(run))
    to_stdout = str(out) == "-" or (out is None and format is not PageFormat.html)
    # The redacted page never takes the other one's place: who hands one over must see which it is.
    name = f"{'report' if other is None else 'comparison'}{'.redacted' if redact else ''}.html"
    target = None if to_stdout else _target(opened.path, out, name)
    if other is None:
        written = _report(opened, format, redact)
    else:
        inputs = comparison_inputs(opened, open_run(choose_run(other)), redact=redact)
        written = comparison_text(inputs, format.value)
    if target is None:
        typer.echo(written, nl=False)
        return
    _write(target, written.encode())
    typer.echo(f"{target} ({len(written.encode()) / 1e6:.2f} MB){' (redacted)' if redact else ''}")


def _report(run: "Run", format: PageFormat, redact: bool) -> str:
    from reports.emitters.emit import report_text
    from reports.emitters.html import draw
    from reports.model import build_report
    from runner.cache import cache_root
    from runner.other_processes import beside, integrity_beside, other_processes
    from runner.pages import inputs_but_integrity
    from runner.vega_script import kept_script, made_script

    with other_processes() as pool:
        integrity = integrity_beside(pool, run)
        if format is not PageFormat.html:
            return report_text(replace(inputs_but_integrity(run, redact=redact), **integrity()), format.value)
        kept = kept_script(cache_root())
        script = beside(pool, made_script, cache_root()) if kept is None else lambda: kept
        inputs = inputs_but_integrity(run, redact=redact)
        # Charts are drawn while the audits run; no chart is of them.
        drawings = draw(build_report(inputs))
        return report_text(replace(inputs, **integrity()), format.value, drawings=drawings, script_of=script)


def _target(run: Path, out: Path | None, name: str) -> Path:
    from analysis.errors import AuditError
    from audits.store.location import is_local

    if out is None and not is_local(run):
        raise AuditError(f"{run}: the page cannot be written there. Name a file of this machine with --out")
    if out is None:
        return run / name
    whole = out.resolve()
    holder = next((folder for folder in whole.parents if (folder / "run.json").is_file()), None)
    page = whole.parent == holder and (
        whole.suffix in {".html", ".md"} or whole.name.partition(".")[0] in {"report", "comparison"}
    )
    if holder is not None and not page:
        raise AuditError(
            f"{out}: lies in the run {holder}, whose own files a page must not replace. Inside a run a page is an "
            ".html or .md file beside run.json, or report.json; any place outside it is free"
        )
    return out


def _write(target: Path, page: bytes) -> None:
    from analysis.errors import AuditError
    from audits.store.durable import write_whole

    try:
        write_whole(target, page)
    except OSError as error:
        raise AuditError(f"{target}: cannot be written ({error.strerror}). Choose another place with --out") from error
