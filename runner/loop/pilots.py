"""A full run needs a pilot of the same plan whose activation gate passed: found, recomputed, and linked."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.errors import AuditError, Refused
from analysis.plan.model import Plan
from audits.engine.check import CheckReport
from audits.engine.gate import evaluate_gate
from audits.store.manifest import MANIFEST_NAME, PilotLink, read_manifest
from audits.store.reader import open_run
from audits.store.seal import SealedPlan, canonical_json, sha256_hex
from reports.emitters.json import plain

ALLOWING = frozenset({"pass", "warn", "waived"})


@dataclass(frozen=True)
class PassedPilot:
    """A pilot that allows the full run."""

    path: Path
    run_id: str
    gate: CheckReport

    def link_from(self, full_run: Path) -> PilotLink:
        """Return the block for the full run's `run.json`; the path is relative, so both can be moved together."""
        return PilotLink(
            run_id=self.run_id,
            path=Path(os.path.relpath(self.path.resolve(), full_run.resolve())).as_posix(),
            gate_sha256=gate_sha256(self.gate),
            status=self.gate.status,
        )


def needs_pilot(plan: Plan) -> bool:
    """Return whether a full run of this plan must name a pilot: for its gate, or for preflights kept there."""
    return plan.activation_gate.applicable or bool(required_preflights(plan))


def find_pilot(sealed: SealedPlan, beside: Path) -> Path:
    """Return the newest pilot of this very plan in a folder of runs.

    Raises:
        Refused: there is none.
    """
    found = []
    for manifest_path in sorted(beside.glob(f"*/{MANIFEST_NAME}")):
        try:
            manifest = read_manifest(manifest_path.parent)
        except AuditError:
            # A broken neighbour is not this run's business.
            continue
        if manifest.kind == "pilot" and manifest.plan_sha256 == sealed.sha256:
            found.append((manifest.started_at, manifest_path.parent))
    if not found:
        raise Refused(
            f"{beside}: no pilot of this plan (sha256 {sealed.sha256[:12]}…) is here, and a full run needs one that "
            "passed its gate. Run `audit run PLAN --pilot --out DIR` first, or name one with --pilot-run"
        )
    return max(found)[1]


def require_passed_pilot(sealed: SealedPlan, pilot_run: Path) -> PassedPilot:
    """Open a pilot, recompute its gate and check its preflights.

    Raises:
        Refused: it is of another plan, unfinished, or its gate or a required preflight did not pass.
        AuditError: the directory is not readable as a run.
    """
    run = open_run(pilot_run)
    if run.manifest.kind != "pilot":
        raise Refused(f"{pilot_run}: this is a {run.manifest.kind} run, not a pilot. Name a pilot with --pilot-run")
    if run.sealed is None or run.sealed.sha256 != sealed.sha256:
        other = "none" if run.sealed is None else run.sealed.sha256[:12] + "…"
        raise Refused(
            f"{pilot_run}: this pilot's plan is {other}, the plan to run is {sealed.sha256[:12]}…. A pilot speaks for "
            "its own plan only: run a pilot of this one"
        )
    if run.manifest.status != "complete":
        raise Refused(f"{pilot_run}: this pilot is {run.manifest.status}, not complete. Run it again in a new --out")
    gate = evaluate_gate(run, sealed.plan)
    if sealed.plan.activation_gate.applicable and gate.status not in ALLOWING:
        raise Refused(
            "\n".join([f"{pilot_run}: the activation gate is {gate.status}, so no full run:", *_failed(gate)])
        )
    _check_preflights(sealed.plan, pilot_run)
    return PassedPilot(pilot_run, run.manifest.run_id, gate)


def gate_sha256(gate: CheckReport) -> str:
    """Return the sha256 of the canonical JSON of the gate's checks (NaN and infinities as null)."""
    return sha256_hex(canonical_json(plain(gate.checks)))


def required_preflights(plan: Plan) -> tuple[str, ...]:
    """Return the ids of the preflights that the plan requires."""
    return tuple(name for name in type(plan.preflights).model_fields if getattr(plan.preflights, name).required)


def _failed(gate: CheckReport) -> list[str]:
    lines = []
    for check in gate.checks:
        if check.status not in {*ALLOWING, "not_applicable"}:
            value = "no value" if check.value is None else f"{check.value}"
            limit = "" if check.limit is None else f", the plan wants {check.limit}"
            lines.append(f"{check.id}: {check.status}: {value}{limit}" + (f" ({check.reason})" if check.reason else ""))
    return lines


def _check_preflights(plan: Plan, pilot_run: Path) -> None:
    for name in required_preflights(plan):
        path = pilot_run / "preflight" / f"{name}.json"
        if not path.exists():
            raise Refused(
                f"{path}: the plan requires the {name} preflight and there is no result. "
                f"Run `audit preflight` for this pilot first"
            )
        status = _preflight_status(path)
        if status not in ALLOWING:
            raise Refused(f"{path}: the {name} preflight that the plan requires is {status}, not pass")


def _preflight_status(path: Path) -> str:
    try:
        data: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise AuditError(f"{path}: not readable as JSON ({error})") from error
    return str(data.get("status", "unresolved")) if isinstance(data, dict) else "unresolved"
