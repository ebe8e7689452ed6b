"""A full run needs a pilot of the same plan whose activation gate passed: found, judged again, and linked."""

import os
from dataclasses import dataclass
from pathlib import Path

from analysis.errors import AuditError, Refused
from audits.engine.check import CheckReport
from audits.engine.standing import gate_sha256, judge_pilot
from audits.store.manifest import MANIFEST_NAME, PilotLink, read_manifest
from audits.store.reader import open_run
from audits.store.seal import SealedPlan


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
    """Open a pilot, recompute its gate and read its preflights.

    Raises:
        Refused: it is of another plan, unfinished, or its gate or a required preflight did not pass.
        AuditError: the directory is not readable as a run.
    """
    run = open_run(pilot_run)
    standing = judge_pilot(run, sealed)
    if standing.faults:
        raise Refused("\n".join([f"{pilot_run} does not allow a full run of this plan:", *standing.faults]))
    return PassedPilot(pilot_run, run.manifest.run_id, standing.gate)
