"""From a plan and an output directory to a finished, failed or interrupted run."""

import os
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from analysis.errors import AuditError, Refused
from analysis.plan.model import Plan
from audits.engine.standing import needs_pilot, plan_faults
from audits.store.manifest import FILES_NAME, MANIFEST_NAME, ArmRecord, Manifest, PilotLink
from audits.store.preflights import require_free
from audits.store.seal import PLAN_NAME, SealedPlan, seal_text
from audits.store.writer import RunWriter
from runner.loop.backend import Backend, open_backend, resolve_service
from runner.loop.experiment import Kind, evaluation_split, run_experiment, steps_of
from runner.loop.names import unresolved_names
from runner.loop.pilots import find_pilot, require_passed_pilot
from runner.loop.plans import plan_text, shipped_plan_text
from runner.loop.progress import Progress
from runner.loop.provenance import command_line, git_state, utc_now, versions

STATE_NAME = "state"


@dataclass(frozen=True)
class Launch:
    """What to run: the sealed plan, as a pilot or in full, where to, and which pilot allowed it."""

    kind: Kind
    sealed: SealedPlan
    out: Path
    pilot: PilotLink | None = None


def load_plan(name: str) -> SealedPlan:
    """Return a plan file, or the shipped plan with this id, sealed.

    Raises:
        AuditError: there is neither, or it is not a runnable plan.
    """
    return seal_text(plan_text(name), source=name)


def load_shipped_plan(plan_id: str) -> SealedPlan:
    """Return the shipped plan with this id, sealed, whatever files stand in the working directory.

    Raises:
        AuditError: there is no such plan.
    """
    return seal_text(shipped_plan_text(plan_id), source=plan_id)


def prepare(sealed: SealedPlan, kind: Kind, out: Path, pilot_run: Path | None, progress: Progress) -> Launch:
    """Check what the plan demands before anything runs; a full run needs a passed pilot of the same plan.

    Raises:
        Refused: the pilot or a required preflight is missing or did not pass.
        AuditError: `out` holds more than a pilot's own preflights, or the pilot is not readable.
    """
    require_free(out, sealed.sha256 if kind == "pilot" else None)
    unknown = [f"{finding.path}: {finding.message}" for finding in unresolved_names(sealed.plan)]
    if unknown:
        raise AuditError("\n".join(["this plan names what is not here:", *unknown]))
    faults = plan_faults(sealed)
    if kind == "pilot":
        for fault in faults:
            progress.note(f"warning: no full run may follow: {fault}")
    elif faults:
        raise Refused("\n".join(["no full run of this plan; `audit spec` says what would mend it:", *faults]))
    if kind == "pilot" or not needs_pilot(sealed.plan):
        return Launch(kind, sealed, out)
    if pilot_run is None:
        pilot_run = find_pilot(sealed, out.resolve().parent)
        progress.note(f"pilot: {pilot_run} (the newest of this plan)")
    return Launch(kind, sealed, out, require_passed_pilot(sealed, pilot_run).link_from(out))


def execute(launch: Launch, service: str, progress: Progress) -> Path:
    """Run a prepared launch on a service that is opened for it.

    Raises:
        AuditError: the service cannot be reached or refuses a request.
        KeyboardInterrupt: the run was interrupted; `run.json` says so.
    """
    return _execute(launch, open_backend(service, launch.out / STATE_NAME), progress)


def execute_on(launch: Launch, backend: AbstractContextManager[Backend], progress: Progress) -> Path:
    """Run a prepared launch on a given backend (see `execute`)."""
    return _execute(launch, backend, progress)


def service_for(option: str | None, plan: Plan) -> str:
    """Return where this plan runs: see `runner.loop.backend.resolve_service`."""
    return resolve_service(option, plan.base_model)


def _execute(launch: Launch, opening: AbstractContextManager[Backend], progress: Progress) -> Path:
    writer = RunWriter.create(launch.out, _manifest(launch), launch.sealed)
    with _terminate_is_interrupt(), _recorded(writer), opening as backend:
        writer.update_manifest(backend={"kind": backend.kind, "url": backend.url})
        run_experiment(launch.kind, launch.sealed.plan, backend, writer, progress)
    return launch.out


def _manifest(launch: Launch) -> Manifest:
    plan, started_at = launch.sealed.plan, utc_now()
    stamp = "".join(character for character in started_at[:19] if character.isdigit())
    return Manifest(
        run_id=f"{launch.kind}-{stamp}-{launch.sealed.sha256[:8]}-{os.urandom(2).hex()}",
        kind=launch.kind,
        status="running",
        arms=[
            ArmRecord(arm=arm.condition, seed=arm.seed, role=arm.role, name=arm.name, loss=arm.loss)
            for arm in plan.arms
        ],
        started_at=started_at,
        plan_sha256=launch.sealed.sha256,
        pilot=launch.pilot,
        executed=_settings(launch.kind, plan),
        versions=versions(),
        git=git_state(Path.cwd()),
        command_line=command_line(),
    )


def _settings(kind: Kind, plan: Plan) -> dict[str, Any]:
    """Return the settings that the loop reads; `arms` and `checkpoints` are added as the service reports them."""
    losses = {arm.loss for arm in plan.arms}
    return {
        "steps": steps_of(kind, plan),
        "lora_rank": plan.lora_rank,
        "task": plan.task.model_dump(),
        "rollout": plan.rollout.model_dump(),
        "optimizer": plan.optimizer.model_dump(),
        "losses": {name: loss.model_dump() for name, loss in plan.losses.items() if name in losses},
        "minibatch_split": "whole groups, consecutive",
        "advantage": "reward minus the group's mean reward",
        "evaluation": {**plan.evaluation.model_dump(), "split": evaluation_split(kind)},
    }


@contextmanager
def _recorded(writer: RunWriter) -> Iterator[None]:
    """Let `run.json` say how the run ended; a run that logged nothing because of a mistake leaves nothing behind."""
    try:
        yield
    except KeyboardInterrupt:
        writer.update_manifest(status="interrupted", finished_at=utc_now())
        raise
    except AuditError:
        if (writer.run / FILES_NAME).exists():
            writer.update_manifest(status="failed", finished_at=utc_now())
        else:
            _discard(writer.run)
        raise
    except BaseException:
        writer.update_manifest(status="failed", finished_at=utc_now())
        raise
    writer.update_manifest(status="complete", finished_at=utc_now())


def _discard(run: Path) -> None:
    """Remove what `RunWriter.create` and the service wrote, and nothing that somebody else put there."""
    for name in (PLAN_NAME, MANIFEST_NAME):
        (run / name).unlink(missing_ok=True)
    shutil.rmtree(run / STATE_NAME, ignore_errors=True)
    if not any(run.iterdir()):
        run.rmdir()


@contextmanager
def _terminate_is_interrupt() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C, so that a scheduler's stop is recorded too."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(signum: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
