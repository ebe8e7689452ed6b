"""`audit spec`: explain a plan, lint it, seal it, or print the format's JSON Schema."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from analysis.plan.explain import Paragraph
    from analysis.plan.finding import Finding

_WIDTH = 100


def command(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[seal] FILE", help="A plan file, or the id of a shipped plan such as `demo`."),
    ] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of plan format 3.")] = False,
    out: Annotated[Path | None, typer.Option("--out", help="seal: write the canonical JSON here.")] = None,
    format: Annotated[str, typer.Option("--format", help="table or json.")] = "table",
) -> None:
    """Explain a plan in plain words and lint it.

    `audit spec FILE` explains and lints; `audit spec seal FILE` prints the sha256 of the plan's canonical JSON
    (RFC 8785); `audit spec --schema` prints the JSON Schema. A file named seal is given as ./seal.

    Exit code: 0 no finding of severity error, 1 at least one, 2 unreadable or not a plan.
    """
    from analysis.errors import AuditError

    words = words or []
    if format not in ("table", "json"):
        raise AuditError(f"--format {format}: not known here. Use table or json.")
    if schema:
        if words or out:
            raise AuditError("--schema describes the format and takes no FILE and no --out.")
        _print_schema()
        return
    sealing = words[:1] == ["seal"]
    names = words[1:] if sealing else words
    if len(names) != 1:
        raise AuditError(f"audit spec takes one FILE, not {len(names)}. Try `audit spec demo`, or --schema.")
    if sealing:
        _seal(names[0], out, format)
        return
    if out:
        raise AuditError("--out goes with `audit spec seal FILE`.")
    _explain(names[0], format)


def _print_schema() -> None:
    import json

    from analysis.plan.schema import json_schema

    typer.echo(json.dumps(json_schema(), indent=2, sort_keys=True))


def _explain(name: str, format: str) -> None:
    from analysis.plan.explain import explain
    from analysis.plan.lint import lint
    from analysis.plan.model import Plan
    from analysis.plan.parse import format_of, parse_plan
    from analysis.plan.text import load_document
    from audits.store.seal import canonical_json, sha256_hex
    from runner.loop.names import unresolved_names
    from runner.loop.plans import plan_text

    document = load_document(plan_text(name), source=name)
    plan = parse_plan(document, source=name)
    digest = sha256_hex(canonical_json(document))
    names = tuple(unresolved_names(plan)) if isinstance(plan, Plan) else ()
    order = {"error": 0, "warn": 1, "note": 2}
    findings = tuple(sorted((*lint(plan), *names), key=lambda finding: order[finding.severity or "note"]))
    paragraphs, status = explain(plan), _status(findings)
    if format == "json":
        shown = {"source": name, "format": format_of(plan), "title": plan.title, "sha256": digest}
        _print_json(plan=shown, explanation=paragraphs, findings=findings, status=status)
    else:
        _print_table(f"Plan format {format_of(plan)}, sha256 {digest}", paragraphs, findings)
    if status == "fail":
        raise typer.Exit(1)


def _seal(name: str, out: Path | None, format: str) -> None:
    from analysis.plan.lint import lint
    from analysis.plan.parse import format_of, parse_plan
    from analysis.plan.text import load_document
    from audits.store.seal import canonical_json, sha256_hex
    from runner.loop.plans import plan_text
    from runner.provenance import git_state, utc_now

    document = load_document(plan_text(name), source=name)
    plan = parse_plan(document, source=name)
    canonical = canonical_json(document)
    errors = sum(finding.severity == "error" for finding in lint(plan))
    if errors:
        typer.echo(f"audit: warning: findings that block a full run: {errors}. See `audit spec {name}`.", err=True)
    if out is not None:
        _write(out, canonical)
    digest, sealed_at, git = sha256_hex(canonical), utc_now(), git_state(Path.cwd())
    if format == "json":
        sealed = {"source": name, "format": format_of(plan), "sha256": digest, "sealed_at": sealed_at, "git": git}
        _print_json(plan=sealed, blocking_findings=errors)
        return
    typer.echo(digest)
    dirty = " with uncommitted changes" if git["dirty"] else ""
    where = f"git commit {git['commit']}{dirty}" if git["commit"] else "outside a git checkout"
    typer.echo(f"audit: sealed at {sealed_at} by this machine's clock, {where}", err=True)


def _write(out: Path, content: bytes) -> None:
    """Write a new file; an existing one is left alone, because a sealed plan does not change."""
    from analysis.errors import AuditError

    try:
        with out.open("xb") as file:
            file.write(content)
    except FileExistsError as error:
        if out.is_file() and out.read_bytes() == content:
            return
        raise AuditError(
            f"{out}: exists with other content. A sealed plan is not overwritten; name another."
        ) from error
    except OSError as error:
        raise AuditError(f"{out}: cannot be written: {error.strerror or error}. Name a writable file.") from error


def _status(findings: "Sequence[Finding]") -> Literal["pass", "warn", "fail"]:
    severities = {finding.severity for finding in findings}
    if "error" in severities:
        return "fail"
    return "warn" if "warn" in severities else "pass"


def _print_json(**result: Any) -> None:
    from reports.emitters.json import dumps

    typer.echo(dumps(result))


def _print_table(head: str, paragraphs: "Sequence[Paragraph]", findings: "Sequence[Finding]") -> None:
    from analysis.printable import printable

    typer.echo(head)
    for paragraph in paragraphs:
        typer.echo(f"\n{printable(paragraph.heading)}")
        typer.echo(_wrapped(paragraph.text, "  "))
    counts = ", ".join(
        f"{sum(finding.severity == severity for finding in findings)} {severity}"
        for severity in ("error", "warn", "note")
    )
    typer.echo(f"\nFindings: {counts}")
    for finding in findings:
        typer.echo(f"\n  {finding.severity:<5}  {printable(finding.path)}  ({finding.lint})")
        typer.echo(_wrapped(finding.message, "         "))
        typer.echo(_wrapped(f"Mend: {finding.mend}", "         "))


def _wrapped(text: str, indent: str) -> str:
    import textwrap

    from analysis.printable import printable

    return textwrap.fill(
        printable(" ".join(text.split())),
        width=_WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
    )
