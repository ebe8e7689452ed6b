"""The one place that makes a run directory of what was imported."""

import shutil
import uuid
from dataclasses import asdict
from pathlib import Path

from audits.store.manifest import Manifest
from audits.store.writer import RunWriter
from runner.importers.engine.imported import Imported
from runner.provenance import git_state, utc_now, versions


def write_run(imported: Imported, out: Path, command_line: list[str]) -> None:
    """Write a run of kind `imported`.

    Args:
        imported: what was read and checked.
        out: run directory to make.
        command_line: for the manifest.

    Raises:
        AuditError: the directory is used or cannot be made.
    """
    manifest = Manifest(
        run_id=uuid.uuid4().hex,
        kind="imported",
        status="running",
        arms=[arm.record for arm in imported.arms],
        started_at=utc_now(),
        planned=dict(imported.planned),
        executed=dict(imported.executed),
        versions=versions(),
        git=git_state(Path.cwd()),
        command_line=command_line,
        source=_source(imported),
    )
    writer = RunWriter.create(out, manifest, None)
    try:
        _write_tables(writer, imported)
        writer.update_manifest(status="complete", finished_at=utc_now())
    except BaseException:
        # The directory was empty or absent before: half an import would look like all of it.
        shutil.rmtree(out)
        raise


def _source(imported: Imported) -> dict[str, object]:
    told = {"notes": list(imported.notes), "ignored": list(imported.ignored)}
    return {
        "importer": imported.importer,
        "files": [asdict(file) for file in imported.files],
        **{name: lines for name, lines in told.items() if lines},
        **imported.details,
    }


def _write_tables(writer: RunWriter, imported: Imported) -> None:
    if imported.prompts is not None:
        writer.write_prompts(imported.prompts)
    for arm in imported.arms:
        name, seed = arm.record.arm, arm.record.seed
        for checkpoint, rows in arm.evals.items():
            writer.write_evals(name, seed, checkpoint, rows)
        for step, tables in arm.steps.items():
            writer.write_step(name, seed, step, tables)
        if arm.scalars is not None:
            writer.write_scalars(name, seed, arm.scalars)
