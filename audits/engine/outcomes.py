"""Paired outcomes: the scores of the same items in each arm, checked before any number is computed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analysis.errors import AuditError
from analysis.paired.sample import PairedSample, sample_from_scores
from audits.engine.audit import Findings, run_audit
from audits.store.reader import Run, connect

if TYPE_CHECKING:
    import duckdb

_LISTED = 12


@dataclass(frozen=True)
class ItemScores:
    """Mean scores of the same items in each role.

    Attributes:
        item_ids: shape (n,), sorted.
        scores: by role, shape (n,); the mean over the role's seeds and samples.
        conditions: by role, the arm's folder name.
    """

    item_ids: tuple[str, ...]
    scores: Mapping[str, NDArray[np.float64]]
    conditions: Mapping[str, str]


def load_item_scores(run: Run, roles: Sequence[str], seeds: Sequence[int] | None) -> ItemScores:
    """Return the final scores of every item in each role.

    Args:
        run: the run.
        roles: the roles that the rule weighs.
        seeds: training seeds to use, None for all that were run.

    Raises:
        AuditError: there is no final evaluation of a role, or the pairing is broken; item ids are named.
    """
    conditions = _conditions(run, roles)
    if not run.has("evals"):
        raise AuditError(
            f"{run.path}: no evaluation was logged, so there is nothing to decide on. "
            "`audit run` evaluates the final checkpoints; `audit import` brings outcomes from elsewhere"
        )
    with connect(run) as connection:
        findings = run_audit(connection, run, "pairing")
        if findings.rows:
            raise AuditError(_broken_pairing(run, findings))
        _refuse_absent_seeds(connection, run, conditions, seeds)
        rows = _item_means(connection, list(conditions.values()), seeds)
    by_arm: dict[str, dict[str, float]] = {}
    for arm, item_id, score in rows:
        by_arm.setdefault(arm, {})[item_id] = score
    item_ids = tuple(sorted(by_arm[next(iter(conditions.values()))]))
    scores = {role: np.array([by_arm[arm][item] for item in item_ids]) for role, arm in conditions.items()}
    return ItemScores(item_ids, scores, conditions)


def contrast_sample(items: ItemScores, weights: Mapping[str, float], score_bounds: tuple[float, float]) -> PairedSample:
    """Return the weighted difference of each item.

    Args:
        items: the scores.
        weights: weight of each role; {"treatment": 1, "baseline": -1} is the usual difference.
        score_bounds: smallest and largest possible score of one item.

    Raises:
        AuditError: a score lies outside the bounds.
    """
    low, high = score_bounds
    for role, scores in items.scores.items():
        outside = np.flatnonzero((scores < low) | (scores > high))
        if outside.size:
            item = items.item_ids[int(outside[0])]
            raise AuditError(
                f"item {item}: the {role} score {scores[outside[0]]:g} lies outside the rule's bounds "
                f"[{low:g}, {high:g}] ({outside.size} items do)"
            )
    used = {role: weight for role, weight in weights.items() if weight}
    if used == {"treatment": 1.0, "baseline": -1.0}:
        return sample_from_scores(items.scores["treatment"], items.scores["baseline"], score_bounds)
    differences = np.sum([weight * items.scores[role] for role, weight in used.items()], axis=0)
    ends = [(weight * low, weight * high) for weight in used.values()]
    return PairedSample(differences, (sum(min(pair) for pair in ends), sum(max(pair) for pair in ends)))


def _conditions(run: Run, roles: Sequence[str]) -> dict[str, str]:
    conditions = {}
    for role in roles:
        if run.sealed is not None:
            # The roles were sealed with the plan; run.json can be edited.
            arms = run.sealed.plan.conditions(role)
        else:
            arms = list(dict.fromkeys(arm.arm for arm in run.manifest.arms if arm.role == role))
        if len(arms) != 1:
            found = ", ".join(arms) or "none"
            raise AuditError(f"{run.path}: the rule needs one arm of role {role}, the run has {found}")
        conditions[role] = arms[0]
    return conditions


def _refuse_absent_seeds(
    connection: "duckdb.DuckDBPyConnection", run: Run, conditions: Mapping[str, str], seeds: Sequence[int] | None
) -> None:
    """Refuse an arm without a final evaluation of a seed: a mean over other seeds answers another question."""
    query = "SELECT DISTINCT arm, seed FROM final_item_scores"
    found = set(connection.execute(query).fetchall())
    for role, arm in conditions.items():
        absent = [seed for seed in seeds or () if (arm, seed) not in found]
        if absent or arm not in {name for name, _ in found}:
            which = f" for seed {', '.join(str(seed) for seed in absent)}" if absent else ""
            raise AuditError(f"{run.path}: the {role} arm {arm!r} has no final evaluation{which}: nothing to decide on")


def _item_means(
    connection: "duckdb.DuckDBPyConnection", arms: list[str], seeds: Sequence[int] | None
) -> list[tuple[str, str, float]]:
    chosen = "" if seeds is None else "AND list_contains($seeds, seed)"
    parameters = {"arms": arms} | ({} if seeds is None else {"seeds": list(seeds)})
    query = (
        f"SELECT arm, item_id, avg(score) FROM final_item_scores WHERE list_contains($arms, arm) {chosen} GROUP BY ALL"
    )
    return connection.execute(query, parameters).fetchall()


def _broken_pairing(run: Run, findings: Findings) -> str:
    lines = [f"{run.path}: the pairing is broken ({len(findings.rows)} faults), so there is no number to trust"]
    for fault, item_id, arm, seed, detail in findings.rows[:_LISTED]:
        where = "" if arm is None else f" in arm {arm}, seed {seed}"
        lines.append(f"  {fault}: item {item_id:.80}{where}: {detail!s:.200}")
    if len(findings.rows) > _LISTED:
        lines.append(f"  … and {len(findings.rows) - _LISTED} more")
    lines.append(f"  {findings.check.mend}")
    return "\n".join(lines)
