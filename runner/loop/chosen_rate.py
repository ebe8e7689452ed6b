"""The sweep that chose a plan's learning rate: found or named, checked, and copied into the run that uses the rate."""

import os
from dataclasses import dataclass
from pathlib import Path

from analysis.errors import AuditError
from audits.store.manifest import MANIFEST_NAME, SweepLink
from audits.store.seal import SealedPlan
from audits.store.sweeps import SWEEP_NAME, SweepTable, sweep_sha256, sweep_table, sweep_text
from runner.loop.progress import Progress


@dataclass(frozen=True)
class ChosenBy:
    """What a run keeps of its sweep: the text of the table, and the link for `run.json`."""

    text: str
    link: SweepLink


def sweep_of(sealed: SealedPlan, out: Path, named: Path | None, progress: Progress) -> ChosenBy | None:
    """Return the sweep of a plan's grid, None where the plan has no grid or nobody swept it.

    Args:
        sealed: the plan that is to run.
        out: its run directory, which need not exist.
        named: the sweep's folder; None takes the newest sweep of this plan, or of the one it supersedes, beside `out`.
        progress: told what was found, and whether the sweep chose another rate than the plan's.

    Raises:
        AuditError: the plan has no grid and a sweep was named, or the named folder holds no sweep of this plan.
    """
    if sealed.plan.sweep is None:
        if named is not None:
            raise AuditError("--sweep: this plan has no grid. Keep `sweep` in the plan that uses the chosen rate")
        return None
    folder = named or _newest(sealed, out.resolve().parent)
    if folder is None:
        progress.note(
            f"warning: {out.resolve().parent} holds no sweep of this plan's grid, so nobody can say which rate was "
            "best and the audit fair_tuning stays inconclusive. `audit sweep` makes one; --sweep names its folder"
        )
        return None
    text = sweep_text(folder)
    if text is None:
        raise AuditError(f"{folder}: holds no {SWEEP_NAME}. Name the folder that `audit sweep --out` wrote")
    table = sweep_table(folder, text)
    if not table.is_of(sealed):
        raise AuditError(
            f"{folder}: is the sweep of plan {table.plan_sha256[:12]}…, which is neither this plan "
            f"({sealed.sha256[:12]}…) nor the one that it supersedes"
        )
    progress.note(f"sweep: {folder}")
    _compare(sealed, table, progress)
    path = Path(os.path.relpath(folder.resolve(), out.resolve())).as_posix()
    return ChosenBy(text, SweepLink(path=path, sha256=sweep_sha256(text)))


def _newest(sealed: SealedPlan, beside: Path) -> Path | None:
    """Return the folder of the newest sweep; a run's copy is no sweep, and a broken neighbour not this run's matter."""
    found = []
    for path in beside.glob(f"*/{SWEEP_NAME}"):
        folder = path.parent
        if (folder / MANIFEST_NAME).exists():
            continue
        try:
            text = sweep_text(folder)
            if text is not None and sweep_table(folder, text).is_of(sealed):
                found.append((path.stat().st_mtime_ns, folder))
        except AuditError:
            continue
    return max(found)[1] if found else None


def _compare(sealed: SealedPlan, table: SweepTable, progress: Progress) -> None:
    chosen, rate = table.chosen.learning_rate, sealed.plan.optimizer.learning_rate
    if chosen != rate:
        said = "no rate" if chosen is None else f"{chosen:g}"
        progress.note(
            f"warning: the sweep chose {said}, and this plan runs at {rate:g}: the audit fair_tuning will fail. To "
            "adopt a rate, write a plan that supersedes the swept one"
        )
