"""Which run a command speaks of when none is named."""

from pathlib import Path

import typer

from analysis.errors import AuditError


def choose_run(named: str | None, *, kinds: tuple[str, ...] = ("pilot", "full", "imported")) -> Path:
    """Return the named run, or the newest one under `runs/` by start time, echoed on stderr.

    Args:
        named: the command's argument: a directory, or a URL of an object store.
        kinds: kinds of run that may be chosen when none is named.

    Raises:
        AuditError: none is named and there is none under `runs/`, or a URL cannot be reached.
    """
    from audits.store.location import is_local, locate
    from audits.store.manifest import MANIFEST_NAME, read_manifest

    if named is not None:
        path = locate(named)
        if not is_local(path):
            typer.echo(f"audit: {named} is only read: nothing is recorded there", err=True)
        return path
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
