"""From a plan and an output directory to a finished, failed or interrupted run, at once or in several attempts."""

import dataclasses
import os
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.errors import AuditError, Refused
from analysis.plan.model import Plan
from audits.engine.gate import planned_steps
from audits.engine.standing import needs_pilot, plan_faults
from audits.store.durable import held, remove_unfinished
from audits.store.manifest import FILES_NAME, MANIFEST_NAME, ArmRecord, Manifest, PilotLink, read_manifest
from audits.store.preflights import require_free
from audits.store.seal import PLAN_NAME, SealedPlan, seal_text
from audits.store.sweeps import SWEEP_NAME
from audits.store.writer import RunWriter
from runner.loop.backend import Backend, open_backend, resolve_service
from runner.loop.budget import BudgetClock
from runner.loop.chosen_rate import ChosenBy, sweep_of
from runner.loop.experiment import BudgetReached, run_experiment
from runner.loop.journal import PROGRESS_NAME, Journal, pace_of, read_events, seconds_at_work
from runner.loop.names import unresolved_names
from runner.loop.options import RunOptions
from runner.loop.pilots import find_pilot, require_passed_pilot
from runner.loop.plans import plan_text, shipped_plan_text
from runner.loop.progress import Elapsed, Progress
from runner.loop.resume import refuse_changes, refuse_damage, refuse_other_service
from runner.loop.saved_states import STATE_NAME
from runner.loop.setting import Conduct, Kind, settings_that_run
from runner.loop.stopping import terminate_is_interrupt
from runner.provenance import command_line, git_state, source_sha256, utc_now, versions

LOCK_NAME = "writer.lock"


@dataclass(frozen=True)
class Launch:
    """What to run: the sealed plan, as a pilot or in full, where to, which pilot allowed it and which sweep chose.

    Attributes:
        before: `run.json` of the run to go on with; None for a new run.
    """

    kind: Kind
    sealed: SealedPlan
    out: Path
    pilot: PilotLink | None = None
    before: Manifest | None = None
    sweep: ChosenBy | None = None

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to do."""
        return self.before is not None and self.before.status == "complete"


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


def prepare(
    sealed: SealedPlan,
    kind: Kind,
    out: Path,
    pilot_run: Path | None,
    progress: Progress,
    *,
    resume: bool = False,
    sweep: Path | None = None,
) -> Launch:
    """Check what the plan demands before anything runs; a full run needs a passed pilot of the same plan.

    Args:
        sealed: the plan.
        kind: pilot or full.
        out: the run directory.
        pilot_run: the pilot of a full run; None finds the newest.
        progress: told what was found.
        resume: go on with the run in `out`; where nothing was logged yet, it is begun anew.
        sweep: folder of the sweep of the plan's learning rates; None finds the newest. A resumed run keeps its own.

    Raises:
        Refused: the pilot or a required preflight is missing or did not pass, or the run to go on with was begun with
            another plan or other code.
        AuditError: `out` holds more than a pilot's own preflights, the pilot or the run to go on with is not
            readable, or `sweep` holds no sweep of this plan.
    """
    before = _begun(out, sealed) if resume else None
    if before is None:
        if (out / MANIFEST_NAME).exists():
            raise AuditError(f"{out}: holds a run. Choose another --out, or go on with that run: --resume")
        require_free(out, sealed.sha256 if kind == "pilot" else None)
    elif before.pilot is not None:
        pilot_run = out / before.pilot.path
    unknown = [f"{finding.path}: {finding.message}" for finding in unresolved_names(sealed.plan)]
    if unknown:
        raise AuditError("\n".join(["this plan names what is not here:", *unknown]))
    faults = plan_faults(sealed)
    if kind == "pilot":
        for fault in faults:
            progress.note(f"warning: no full run may follow: {fault}")
    elif faults:
        raise Refused("\n".join(["no full run of this plan; `audit spec` says what would mend it:", *faults]))
    launch = Launch(kind, sealed, out, before=before)
    if before is not None and (before.kind, before.plan_sha256) != (kind, sealed.sha256):
        refuse_changes(out, before, _manifest(launch))
    if kind != "pilot" and needs_pilot(sealed.plan):
        if pilot_run is None:
            pilot_run = find_pilot(sealed, out.resolve().parent)
            progress.note(f"pilot: {pilot_run} (the newest of this plan)")
        launch = dataclasses.replace(launch, pilot=require_passed_pilot(sealed, pilot_run).link_from(out))
    if before is not None:
        refuse_changes(out, before, _manifest(launch))
        return launch
    return dataclasses.replace(launch, sweep=sweep_of(sealed, out, sweep, progress))


def _begun(out: Path, sealed: SealedPlan) -> Manifest | None:
    """Return the manifest of the run that stands in a directory, None where the process died before it had one."""
    if (out / MANIFEST_NAME).exists():
        return read_manifest(out)
    plan = out / PLAN_NAME
    if plan.is_file() and plan.read_bytes() == sealed.canonical:
        plan.unlink()
        (out / SWEEP_NAME).unlink(missing_ok=True)
    if out.is_dir():
        remove_unfinished(out)
    return None


def execute(launch: Launch, service: str, progress: Progress, options: RunOptions | None = None) -> Path:
    """Run a prepared launch on a service that is opened for it.

    Raises:
        AuditError: the service cannot be reached or refuses a request.
        Refused: the run to go on with was begun on another service, or the plan's budget is spent.
        KeyboardInterrupt: the run was interrupted; `run.json` says so.
    """
    if launch.before is not None:
        refuse_other_service(launch.out, launch.before, service, service)
    return _execute(launch, open_backend(service, launch.out / STATE_NAME), progress, options or RunOptions())


def execute_on(
    launch: Launch,
    backend: AbstractContextManager[Backend],
    progress: Progress,
    options: RunOptions | None = None,
) -> Path:
    """Run a prepared launch on a given backend (see `execute`)."""
    return _execute(launch, backend, progress, options or RunOptions())


def service_for(option: str | None, plan: Plan) -> str:
    """Return where this plan runs: see `runner.loop.backend.resolve_service`."""
    return resolve_service(option, plan.base_model)


def _execute(launch: Launch, opening: AbstractContextManager[Backend], progress: Progress, options: RunOptions) -> Path:
    if launch.before is None:
        sweep = None if launch.sweep is None else launch.sweep.text
        RunWriter.create(launch.out, _manifest(launch), launch.sealed, sweep)
    with held(launch.out / STATE_NAME / LOCK_NAME):
        if launch.before is not None:
            refuse_damage(launch.out)
        writer = RunWriter.reopen(launch.out)
        conduct = _conduct(launch, writer, progress, options)
        with _recorded(launch, conduct), terminate_is_interrupt():
            _note_beginning(launch, conduct)
            with opening as backend:
                refuse_other_service(launch.out, writer.manifest, backend.kind, backend.url)
                writer.update_manifest(backend={"kind": backend.kind, "url": backend.url})
                session = dataclasses.replace(backend, patience=options.patience)
                run_experiment(launch.kind, launch.sealed.plan, session, conduct)
    return launch.out


def _conduct(launch: Launch, writer: RunWriter, progress: Progress, options: RunOptions) -> Conduct:
    events = read_events(launch.out)
    elapsed = Elapsed(seconds_at_work(events))
    pilot = None if launch.pilot is None else read_manifest(launch.out / launch.pilot.path)
    spent_before = 0.0 if pilot is None else pilot.wall_seconds or 0.0
    budget = BudgetClock(launch.sealed.plan.budget, options.gpus, lambda: elapsed.seconds, spent_before)
    return Conduct(writer, progress, Journal(launch.out, elapsed), budget, options, pace=pace_of(events))


def _note_beginning(launch: Launch, conduct: Conduct) -> None:
    """Say in `run.json` and in the journal that an attempt begins."""
    plan, described = launch.sealed.plan, conduct.options.described()
    facts: dict[str, Any] = {"arms": [arm.name for arm in plan.arms], "steps": planned_steps(launch.kind, plan)}
    if launch.before is None:
        conduct.writer.change_manifest(lambda manifest: {"executed": {**manifest.executed, "options": described}})
        conduct.journal.write("started", **facts)
        return
    attempt = {
        "at": utc_now(),
        "was": launch.before.status,
        "options": described,
        "command_line": command_line(),
        "platform": versions()["platform"],
    }
    conduct.writer.change_manifest(
        lambda manifest: {"status": "running", "finished_at": None, "resumed": [*manifest.resumed, attempt]}
    )
    conduct.journal.write("resumed", was=launch.before.status, **facts)
    conduct.note(f"{launch.out}: going on with a run that {_ended(launch.before.status)}")


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
        sweep=None if launch.sweep is None else launch.sweep.link,
        executed=settings_that_run(launch.kind, plan),
        versions={**versions(), "source_sha256": source_sha256()},
        git=git_state(Path.cwd()),
        command_line=command_line(),
    )


@contextmanager
def _recorded(launch: Launch, conduct: Conduct) -> Iterator[None]:
    """Let `run.json` say how the attempt ended; a run that logged nothing, by a mistake, leaves nothing behind."""

    def ended(status: str) -> None:
        seconds = round(conduct.budget.elapsed(), 3)
        conduct.writer.update_manifest(status=status, finished_at=utc_now(), wall_seconds=seconds)
        conduct.journal.write("ended", status=status)

    try:
        yield
    except KeyboardInterrupt:
        ended("interrupted")
        raise
    except BudgetReached:
        ended("stopped_by_budget")
        raise
    except AuditError:
        if launch.before is not None or (launch.out / FILES_NAME).exists():
            ended("failed")
        else:
            _discard(launch.out)
        raise
    except BaseException:
        ended("failed")
        raise
    ended("complete")


def _discard(run: Path) -> None:
    """Remove what `RunWriter.create`, the journal and the service wrote, and nothing that somebody else put there."""
    for name in (PLAN_NAME, MANIFEST_NAME, SWEEP_NAME, PROGRESS_NAME):
        (run / name).unlink(missing_ok=True)
    shutil.rmtree(run / STATE_NAME, ignore_errors=True)
    if not any(run.iterdir()):
        run.rmdir()


def _ended(status: str) -> str:
    """Say how an earlier attempt ended; a killed one could not write it down."""
    return "was killed" if status == "running" else f"ended as {status}"
