"""From a run and a format's id to what stands on the disk."""

from pathlib import Path

from analysis.errors import AuditError
from audits.store.location import is_local
from audits.store.reader import Run
from audits.store.schema import tables
from runner.exporters.engine.registry import load_exporter


def export_run(run: Run, word: str, out: Path) -> list[str]:
    """Write a run's tables in another tool's format.

    Args:
        run: the run.
        word: the format's id.
        out: file or directory to make; it must not be there, or be an empty directory.

    Returns:
        What was written and what could not be carried, as lines for a person.

    Raises:
        AuditError: there is no such format, the run has nothing for it, or `out` is used or cannot be made.
    """
    exporter = load_exporter(word)
    if not run.has(exporter.TABLE):
        raise AuditError(
            f"{run.path}: table {exporter.TABLE} was never logged, and {word} is made of it; "
            f"{tables()[exporter.TABLE].written_by} writes it"
        )
    if is_local(run.path) and out.resolve().is_relative_to(run.path.resolve()):
        raise AuditError(f"--out {out}: lies inside the run, and an export changes nothing there. Choose another place")
    try:
        if exporter.IS_FOLDER:
            out.mkdir(parents=True, exist_ok=True)
            if any(out.iterdir()):
                raise AuditError(f"{out}: is not empty. Name another directory, or remove it first")
        elif out.exists():
            raise AuditError(f"{out}: is there already. Name another file, or remove it first")
        else:
            out.parent.mkdir(parents=True, exist_ok=True)
        return exporter.write(run, out)
    except OSError as error:
        raise AuditError(f"{out}: cannot be written ({error.strerror or error})") from error
