"""Whether a run may carry its plan's claim: the seal, the linked pilot's gate, the required preflights."""

import json
from collections.abc import Iterator
from typing import get_args

from analysis.errors import AuditError
from analysis.plan.model import Plan
from audits.engine.check import CheckReport, Status
from audits.engine.completeness import check_steps
from audits.engine.gate import evaluate_gate
from audits.store.reader import Run, open_run
from audits.store.seal import SealedPlan, canonical_json, sha256_hex


def void_reasons(run: Run, sealed: SealedPlan) -> tuple[str, ...]:
    """Return why the plan's claim is void on this full run; empty where nothing speaks against it.

    Raises:
        AuditError: a file of the run or of its pilot is damaged.
    """
    return tuple(_seal(run, sealed)) + tuple(_gate(run, sealed)) + tuple(_preflights(run, sealed))


def missing_steps(run: Run, plan: Plan) -> str | None:
    """Return which planned steps of a full run were not finished, None where all were."""
    return check_steps(run, plan, plan.rollout.rollout_batches).reason


def unfinished(run: Run, plan: Plan, n_items: int) -> tuple[str, ...]:
    """Return what of a full run was planned and is not there; empty where nothing is missing.

    Args:
        run: the full run.
        plan: its sealed plan.
        n_items: items with a final score in every arm.
    """
    found = []
    absent = missing_steps(run, plan)
    if absent is not None:
        found.append(absent)
    elif run.manifest.status != "complete":
        found.append(f"run.json says that it is {run.manifest.status}")
    if n_items != plan.task.test_items:
        found.append(f"{n_items} items were evaluated, the plan says {plan.task.test_items}")
    return tuple(f"the run is not finished: {reason}" for reason in found)


def linked_pilot(run: Run) -> Run | None:
    """Open the pilot that a full run names; None where it names none.

    Raises:
        AuditError: the pilot's directory is gone or another run's.
    """
    link = run.manifest.pilot
    if link is None:
        return None
    pilot = open_run(run.path / link.path)
    if pilot.manifest.run_id != link.run_id:
        raise AuditError(
            f"{pilot.path}: is run {pilot.manifest.run_id}, and {run.path} was allowed by pilot {link.run_id}; "
            "put the right pilot back in its place"
        )
    return pilot


def gate_sha256(report: CheckReport) -> str:
    """Return the sha256 of a gate's measured figures, which links a full run to what its pilot showed."""
    figures = [[check.id, check.arm, check.status, check.value] for check in report.checks]
    return sha256_hex(canonical_json(figures))


def _seal(run: Run, sealed: SealedPlan) -> Iterator[str]:
    if run.manifest.plan_sha256 != sealed.sha256:
        yield (
            f"the plan changed after it was sealed: plan.json has sha256 {sealed.sha256[:12]}…, "
            f"run.json was sealed with {str(run.manifest.plan_sha256)[:12]}…"
        )


def _gate(run: Run, sealed: SealedPlan) -> Iterator[str]:
    if not sealed.plan.activation_gate.applicable:
        return
    pilot, fault = _found_pilot(run)
    if pilot is None:
        yield f"the plan requires a gate, and {fault}"
        return
    if pilot.sealed is None or pilot.sealed.sha256 != sealed.sha256:
        yield f"the linked pilot {pilot.path} ran another plan"
        return
    if pilot.manifest.kind != "pilot":
        yield f"the linked run {pilot.path} is not a pilot"
        return
    report = evaluate_gate(pilot, sealed.plan)
    if report.status in {"fail", "inconclusive"}:
        for check in report.checks:
            if check.status in {"fail", "inconclusive"}:
                arm = "" if check.arm is None else f" ({check.arm})"
                yield f"the pilot's gate is {check.status}: {check.id}{arm}: {check.reason}"


def _found_pilot(run: Run) -> tuple[Run | None, str]:
    """Return the linked pilot, or why there is none; one that is there and damaged is an error."""
    link = run.manifest.pilot
    if link is None:
        return None, "no pilot is linked to this run"
    try:
        if not (run.path / link.path).is_dir():
            return None, f"the linked pilot {link.path} is not there"
    except (OSError, ValueError):
        return None, f"{link.path!r} is no path of a pilot"
    pilot = open_run(run.path / link.path)
    if pilot.manifest.run_id != link.run_id:
        return None, f"{link.path} holds run {pilot.manifest.run_id}, not the pilot {link.run_id} that allowed this run"
    return pilot, ""


def _preflights(run: Run, sealed: SealedPlan) -> Iterator[str]:
    for name in type(sealed.plan.preflights).model_fields:
        if not getattr(sealed.plan.preflights, name).required:
            continue
        pilot, _ = _found_pilot(run)
        path = None if pilot is None else pilot.path / "preflight" / f"{name}.json"
        if path is None or not path.exists():
            yield f"the plan requires the {name} preflight, and the linked pilot holds no result of it"
            continue
        try:
            result = json.loads(path.read_text(encoding="utf-8"))
            status, plan = result["status"], result["plan_sha256"]
            if status not in get_args(Status):
                raise ValueError(f"its status is {status!r}")
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise AuditError(f"{path}: not a preflight result ({error!r:.200})") from error
        if plan != sealed.sha256:
            yield f"the {name} preflight in {path} is another plan's"
        elif status != "pass":
            yield f"the {name} preflight is {status}"
