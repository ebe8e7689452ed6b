"""Going on with a run that ended early: what must be the same, and from which step each arm goes on."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from analysis.errors import AuditError, Refused
from analysis.plan.model import Arm
from audits.engine.completeness import whole_steps
from audits.store.layout import checkpoint_of, partition_of, step_of
from audits.store.manifest import FileRecord, Manifest
from audits.store.reader import open_run
from audits.store.verify import damaged_files
from audits.store.writer import RunWriter
from runner.loop.saved_states import SavedState, SavedStates


def refuse_changes(run: Path, before: Manifest, now: Manifest) -> None:
    """Check that a run would be resumed as what it was begun as.

    Args:
        run: the run directory.
        before: its manifest.
        now: the manifest that a run begun now would have.

    Raises:
        Refused: the kind, the plan, the code or its dependencies differ; the message says each.
    """
    differences = list(_differences(before, now))
    if differences:
        raise Refused(
            "\n".join(
                [
                    f"{run}: cannot be resumed, because its rows would come from two different experiments:",
                    *differences,
                    "Go back to what it was begun with, or begin a new run with another --out",
                ]
            )
        )


def refuse_other_service(run: Path, before: Manifest, kind: str, url: str) -> None:
    """Check that a run would be resumed on the service that holds its saved states.

    Raises:
        Refused: it was begun elsewhere.
    """
    was = before.backend
    here = "embedded" if kind == "embedded" else url
    there = "embedded" if was.get("kind") == "embedded" else was.get("url")
    if was and here != there:
        raise Refused(
            f"{run}: cannot be resumed on another service: it was begun on {there} and its saved states are there, not "
            f"on {here}. Pass --service {there}"
        )


def _differences(before: Manifest, now: Manifest) -> Iterator[str]:
    for what, old, new in (
        ("kind", before.kind, now.kind),
        ("plan (sha256)", before.plan_sha256, now.plan_sha256),
        ("git commit", before.git.get("commit"), now.git.get("commit")),
        ("uncommitted changes (sha256 of the diff)", before.git.get("diff_sha256"), now.git.get("diff_sha256")),
        ("source of runaudit (sha256)", before.versions.get("source_sha256"), now.versions.get("source_sha256")),
        ("pilot", _pilot(before), _pilot(now)),
    ):
        if old != new:
            yield f"{what}: {old} when it was begun, {new} here"
    # A run may go on on another machine of the same kind; what computes its numbers must be the same.
    for package in sorted({*before.versions, *now.versions} - {"platform", "source_sha256"}):
        old, new = before.versions.get(package), now.versions.get(package)
        if old != new:
            yield f"version of {package}: {old} when it was begun, {new} here"


def _pilot(manifest: Manifest) -> Any:
    return None if manifest.pilot is None else f"{manifest.pilot.run_id} (gate {manifest.pilot.gate_sha256[:12]}…)"


def refuse_damage(run: Path) -> None:
    """Check that every listed file is the bytes that were written.

    Raises:
        AuditError: one is not, with its name.
    """
    damaged = list(damaged_files(open_run(run)))
    if damaged:
        raise AuditError("\n".join([f"{run}: cannot be resumed, its log is damaged:", *damaged]))


def rewind(writer: RunWriter, arm: Arm, states: SavedStates) -> SavedState | None:
    """Bring an arm's log back to its latest saved state, so that the rows and the weights are of one history.

    With a state saved at every step only a step that was not logged whole is taken out.

    Args:
        writer: of the run.
        arm: the arm.
        states: its saved states; later ones are forgotten.

    Returns:
        The state to go on from, None where the arm begins anew.
    """
    state = states.usable(_last_whole_step(writer, arm))
    last = -1 if state is None else state.step
    states.forget_after(last)

    def is_later(record: FileRecord) -> bool:
        if partition_of(record.path) != (arm.condition, arm.seed):
            return False
        step, checkpoint = step_of(record.path), checkpoint_of(record.path)
        trained = _batches_of(checkpoint) if checkpoint is not None else None
        return (step is not None and step > last) or (trained is not None and trained > last + 1)

    if any(is_later(record) for record in writer.files()):
        writer.drop(is_later)
    return state


def _last_whole_step(writer: RunWriter, arm: Arm) -> int:
    """Return the last step up to which every step is whole, -1 for none."""
    whole = set(whole_steps(open_run(writer.run)).get((arm.condition, arm.seed), []))
    last = -1
    while last + 1 in whole:
        last += 1
    return last


def _batches_of(checkpoint: str) -> int | None:
    """Return after how many rollout batches a checkpoint of a curve was taken, None for one that is not of a curve."""
    digits = checkpoint.removeprefix("step")
    return int(digits) if checkpoint.startswith("step") and digits.isdigit() else None
