"""Where a run left its plan, or was accepted in spite of it, as far as the run's own record tells."""

from collections.abc import Iterator
from dataclasses import dataclass

from audits.engine.audit import run_audit
from audits.engine.check import CheckReport
from audits.engine.pilot_evidence import pilot_of
from audits.store.policy import POLICY_NAME, read_waivers
from audits.store.reader import Run, connect

SETTINGS_AUDIT = "executed_settings"


@dataclass(frozen=True)
class Deviation:
    """One departure.

    Attributes:
        run: of which run: `run` or `pilot`.
        kind: `waiver`, `unfinished run`, `interruption`, `service faults`, `superseded plan`, `uncommitted code` or
            `unread`.
        what: what happened.
        reason: why, as its owner states it; None where nobody states one.
        owner: who answers for it; None where nobody does.
        until: the last day on which a waiver holds; None for anything else.
        source: the file and key that say so.
    """

    run: str
    kind: str
    what: str
    source: str
    reason: str | None = None
    owner: str | None = None
    until: str | None = None


def deviations(run: Run) -> tuple[Deviation, ...]:
    """Return the departures of a run and of its pilot, the run's first.

    Raises:
        AuditError: `policy.json` is not readable, or the pilot is damaged.
    """
    pilot = pilot_of(run)
    found = [*_plan(run), *_of("run", run)]
    return tuple(found if pilot is None or pilot.path == run.path else [*found, *_of("pilot", pilot)])


def _plan(run: Run) -> Iterator[Deviation]:
    if run.sealed is not None and run.sealed.plan.supersedes is not None:
        yield Deviation(
            "run",
            "superseded plan",
            f"the sealed plan replaces the plan with sha256 {run.sealed.plan.supersedes}",
            "plan.json, supersedes",
        )


def _of(name: str, run: Run) -> Iterator[Deviation]:
    manifest = run.manifest
    for waiver in read_waivers(run.path):
        arm = f" ({waiver.arm})" if waiver.arm else ""
        value = "" if waiver.value is None else f" at {waiver.value}"
        yield Deviation(
            name, "waiver", f"{waiver.check}{arm}, {waiver.status}{value}, is accepted", POLICY_NAME,
            reason=waiver.reason, owner=waiver.owner, until=waiver.expires.isoformat(),
        )  # fmt: skip
    if manifest.status != "complete":
        yield Deviation(name, "unfinished run", f"the run is {manifest.status}, not complete", "run.json, status")
    for attempt in manifest.resumed:
        was = f" after it was {attempt['was']}" if "was" in attempt else ""
        yield Deviation(
            name, "interruption", f"resumed{was}, at {attempt.get('at', 'an unknown time')}", "run.json, resumed"
        )
    if manifest.service_faults:
        faults = f"{manifest.service_faults} service {'fault' if manifest.service_faults == 1 else 'faults'}"
        yield Deviation(name, "service faults", f"{faults} borne and tried again", "run.json, service_faults")
    if manifest.git.get("dirty"):
        yield Deviation(name, "uncommitted code", "the working tree held changes that no commit has", "run.json, git")
    for note in run.notes:
        yield Deviation(name, "unread", note, "files.jsonl")


@dataclass(frozen=True)
class SettingDifference:
    """A planned setting that was executed otherwise, or of which nobody logged what ran.

    Attributes:
        setting: its path in the plan.
        arm: the arm it was executed for; None where it belongs to none.
        seed: likewise.
        planned: as the plan has it.
        executed: as it ran; None where nothing says so.
        source: where `executed` was read.
    """

    setting: str
    arm: str | None
    seed: int | None
    planned: str
    executed: str | None
    source: str


def setting_differences(run: Run, integrity: CheckReport) -> tuple[SettingDifference, ...]:
    """Return the settings that the integrity audit found to differ from the plan, those that ran otherwise first.

    Args:
        run: the run.
        integrity: its integrity report; where the audit found nothing, the logs are not read again.

    Raises:
        AuditError: a file of the run is damaged.
    """
    if not any(check.id == SETTINGS_AUDIT and check.value for check in integrity.checks):
        return ()
    with connect(run) as connection:
        found = run_audit(connection, run, SETTINGS_AUDIT)
    names = ("setting", "arm", "seed", "planned", "executed", "source")
    places = [found.columns.index(name) for name in names]
    rows = [SettingDifference(*(row[place] for place in places)) for row in found.rows]  # type: ignore[arg-type]
    return tuple(sorted(rows, key=lambda row: row.executed is None))
