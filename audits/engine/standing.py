"""Whether a run may carry its plan's claim: the seal, the linked pilot's gate, the required preflights."""

import datetime
from collections.abc import Iterator
from dataclasses import dataclass

from analysis.errors import AuditError
from analysis.plan.lint import blocking
from analysis.plan.model import Plan
from audits.engine.check import Check, CheckReport, combine
from audits.engine.completeness import check_steps
from audits.engine.gate import evaluate_gate
from audits.store.location import beside
from audits.store.manifest import MANIFEST_NAME
from audits.store.preflights import read_result, result_path
from audits.store.reader import Run, open_run
from audits.store.seal import SealedPlan, canonical_json, sha256_hex


@dataclass(frozen=True)
class PilotStanding:
    """What a pilot says about a plan.

    Attributes:
        gate: its gate, recomputed.
        faults: why it does not allow a full run; empty where it does.
        waived: what it allows only because somebody waived it, with owner and expiry.
    """

    gate: CheckReport
    faults: tuple[str, ...]
    waived: tuple[str, ...]


@dataclass(frozen=True)
class Standing:
    """Whether a full run may carry its plan's claim.

    Attributes:
        void: why the claim is void; empty where nothing speaks against it.
        waived: waivers without which it would be void; who reads the verdict must see them.
    """

    void: tuple[str, ...]
    waived: tuple[str, ...] = ()


def judge_pilot(
    pilot: Run, sealed: SealedPlan, *, day: datetime.date | None = None, gate: CheckReport | None = None
) -> PilotStanding:
    """Recompute a pilot's gate and read its preflights.

    Args:
        pilot: the pilot's run.
        sealed: the plan of the full run that it shall allow.
        day: on which a waiver must not have expired: of the full run's start, so that a verdict does not change as
            time passes. Default today, for a run that is about to start.
        gate: the pilot's gate where it was evaluated already, on that day; None evaluates it.

    Raises:
        AuditError: a file of the pilot is damaged, or a preflight result is no such thing.
    """
    gate = gate or evaluate_gate(pilot, sealed.plan, today=day)
    faults = (*_identity(pilot, sealed), *_gate(gate), *_preflights(pilot, sealed))
    return PilotStanding(gate, faults, (*_waived_checks(gate), *_waived_preflights(pilot, sealed)))


def needs_pilot(plan: Plan) -> bool:
    """Return whether a full run of this plan must name a pilot: for its gate, or for preflights kept there."""
    return plan.activation_gate.applicable or bool(required_preflights(plan))


def required_preflights(plan: Plan) -> tuple[str, ...]:
    """Return the ids of the preflights that the plan requires."""
    return tuple(name for name in type(plan.preflights).model_fields if getattr(plan.preflights, name).required)


def gate_sha256(gate: CheckReport) -> str:
    """Return the sha256 of a gate's figures and waivers, which links a full run to what its pilot showed.

    Other wording is left out, and so are watched figures, which no limit of the plan stands against; numbers are
    rounded to 12 digits. So another version that measures the same gives the same sum, whatever else it watches.
    """
    figures = [
        [
            check.id,
            check.definition,
            check.arm,
            check.status,
            f"{check.value:.12g}" if isinstance(check.value, float) else check.value,
            *([] if check.waiver is None else [check.waiver]),
        ]
        for check in gate.checks
        if check.limit is not None
    ]
    return sha256_hex(canonical_json(figures))


def standing_of(run: Run, sealed: SealedPlan, gate: CheckReport | None = None) -> Standing:
    """Return whether this full run may carry the plan's claim, and on which waivers that rests.

    Args:
        run: the full run.
        sealed: its plan.
        gate: of `audits.engine.pilot_evidence.pilot_gate`, where it was evaluated already.

    Raises:
        AuditError: a file of the run or of its pilot is damaged.
    """
    pilot = _linked_pilot(run, sealed, gate)
    return Standing((*_seal(run, sealed), *plan_faults(sealed), *pilot.void), pilot.waived)


def plan_faults(sealed: SealedPlan) -> tuple[str, ...]:
    """Return the lints' errors on a plan: what is unresolved or cannot work, each with its path."""
    return tuple(f"the plan is not sound: {item.path}: {item.message} ({item.lint})" for item in blocking(sealed.plan))


def unfinished(run: Run, plan: Plan, n_items: int) -> tuple[str, ...]:
    """Return what of a full run was planned and is not there; empty where nothing is missing.

    Args:
        run: the full run.
        plan: its sealed plan.
        n_items: items with a final score in every arm.
    """
    found = []
    absent = check_steps(run, plan, plan.rollout.rollout_batches).reason
    if absent is not None:
        found.append(absent)
    elif run.manifest.status != "complete":
        found.append(f"run.json says that it is {run.manifest.status}")
    if n_items != plan.task.test_items:
        found.append(f"{n_items} items were evaluated, the plan says {plan.task.test_items}")
    return tuple(f"the run is not finished: {reason}" for reason in found)


def started_on(run: Run) -> datetime.date:
    """Return the day on which a run started, UTC.

    Raises:
        AuditError: run.json has no such time.
    """
    try:
        return datetime.datetime.fromisoformat(run.manifest.started_at).astimezone(datetime.UTC).date()
    except ValueError as error:
        raise AuditError(
            f"{run.path / MANIFEST_NAME}: started_at: {run.manifest.started_at!r:.60} is no time ({error})"
        ) from error


def linked_pilot(run: Run) -> tuple[Run | None, str]:
    """Return the pilot that a full run names, or None and why there is none.

    Raises:
        AuditError: it is there and damaged.
    """
    link = run.manifest.pilot
    if link is None:
        return None, "no pilot is linked to this run"
    try:
        path = beside(run.path, link.path)
        if not path.is_dir():
            return None, f"the linked pilot {link.path} is not there"
    except (OSError, ValueError):
        return None, f"{link.path!r} is no path of a pilot"
    pilot = open_run(path)
    if pilot.manifest.run_id != link.run_id:
        return None, f"{link.path} holds run {pilot.manifest.run_id}, not the pilot {link.run_id} that allowed this run"
    return pilot, ""


def _seal(run: Run, sealed: SealedPlan) -> Iterator[str]:
    if run.manifest.plan_sha256 != sealed.sha256:
        yield (
            f"the plan changed after it was sealed: plan.json has sha256 {sealed.sha256[:12]}…, "
            f"run.json was sealed with {str(run.manifest.plan_sha256)[:12]}…"
        )


def _linked_pilot(run: Run, sealed: SealedPlan, gate: CheckReport | None) -> Standing:
    if not needs_pilot(sealed.plan):
        return Standing(())
    pilot, absence = linked_pilot(run)
    if pilot is None or run.manifest.pilot is None:
        what = "a gate" if sealed.plan.activation_gate.applicable else "a preflight"
        return Standing((f"the plan requires {what}, and {absence}",))
    standing = judge_pilot(pilot, sealed, day=started_on(run), gate=gate)
    if not standing.faults and gate_sha256(standing.gate) != run.manifest.pilot.gate_sha256:
        changed = (
            f"the gate of {pilot.path} gives other figures or waivers now than when it allowed this run: its log or "
            f"policy.json changed since. `audit verify {pilot.path}` names the files"
        )
        return Standing((changed,), standing.waived)
    return Standing(standing.faults, standing.waived)


def _identity(pilot: Run, sealed: SealedPlan) -> Iterator[str]:
    if pilot.manifest.kind != "pilot":
        yield f"{pilot.path} is a {pilot.manifest.kind} run, not a pilot"
    if pilot.sealed is None or pilot.sealed.sha256 != sealed.sha256:
        other = "no plan" if pilot.sealed is None else f"plan {pilot.sealed.sha256[:12]}…"
        yield f"the pilot {pilot.path} ran {other}, and this is plan {sealed.sha256[:12]}…: it speaks for its own only"
    if pilot.manifest.status != "complete":
        yield f"the pilot {pilot.path} is {pilot.manifest.status}, not complete"


def _gate(gate: CheckReport) -> Iterator[str]:
    for check in gate.checks:
        if check.status in {"fail", "inconclusive"}:
            yield f"the pilot's gate is {check.status}: {_told(check)}"


def _waived_checks(gate: CheckReport) -> Iterator[str]:
    for check in gate.checks:
        if check.status == "waived":
            yield f"the pilot's gate passed only with a waiver: {_told(check)}"


def _told(check: Check) -> str:
    arm = "" if check.arm is None else f" ({check.arm})"
    measured = "no value" if check.value is None else _shown(check.value)
    limit = "" if check.limit is None else f", the plan wants {check.limit}"
    return f"{check.id}{arm}: {measured}{limit}: {check.reason}"


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


def _preflights(pilot: Run, sealed: SealedPlan) -> Iterator[str]:
    for name in required_preflights(sealed.plan):
        path, result = result_path(pilot.path, name), read_result(pilot.path, name)
        if result is None:
            yield f"the plan requires the {name} preflight, and the pilot {pilot.path} holds no result of it"
        elif result.plan_sha256 != sealed.sha256:
            yield f"the {name} preflight in {path} is another plan's"
        elif result.status != "waived":
            # What a result holds counts, and not only what it says of itself.
            status = combine([result.status, *(item.status for item in result.comparisons)])
            if status not in {"pass", "warn"}:
                behind = [item for item in result.comparisons if item.status == status]
                first = [f"{item.path}, {item.metric}: {item.reason}" for item in behind[:1]]
                yield ": ".join([f"the {name} preflight is {status}", *first])


def _waived_preflights(pilot: Run, sealed: SealedPlan) -> Iterator[str]:
    for name in required_preflights(sealed.plan):
        result = read_result(pilot.path, name)
        if result is not None and result.status == "waived":
            reasons = "; ".join(result.reasons) or "its result gives no reason"
            yield f"the plan requires the {name} preflight, and its result says that it was waived: {reasons}"
