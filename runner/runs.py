"""Which run a command speaks of when none is named."""

from pathlib import Path

import typer

from analysis.errors import AuditError


def choose_run(named: Path | None, *, kinds: tuple[str, ...] = ("pilot", "full", "imported")) -> Path:
    """Return the named run, or the newest one under `runs/` by start time, echoed on stderr.

    Args:
        named: the command's argument.
        kinds: kinds of run that may be chosen when none is named.

    Raises:
        AuditError: none is named and there is none under `runs/`.
    """
    from audits.store.manifest import MANIFEST_NAME, read_manifest

    if named is not None:
        return named
    found = []
    for manifest_path in Path("runs").glob(f"*/{MANIFEST_NAME}"):
        try:
            manifest = read_manifest(manifest_path.parent)
        except AuditError as error:
            typer.echo(f"audit: passed over: {error.message}", err=True)
            continue
        if manifest.kind in kinds:
            found.append((manifest.started_at, manifest_path.parent))
    if not found:
        raise AuditError(f"no {' or '.join(kinds)} run under ./runs; name one, or make one: `audit demo`")
    newest = max(found)[1]
    typer.echo(f"audit: {newest} (the newest)", err=True)
    return newest
