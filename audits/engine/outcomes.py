"""Paired outcomes: the scores of the same items in each arm, checked before any number is computed."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analysis.errors import AuditError, NothingToCompare
from analysis.paired.sample import PairedSample, sample_from_scores, sample_from_seeds
from analysis.printable import printable
from analysis.seeds.sample import SeedScores
from audits.engine.audit import Findings, run_audit
from audits.store.reader import Run, connect
from audits.store.verify import damaged_files

if TYPE_CHECKING:
    import duckdb

_LISTED = 12


@dataclass(frozen=True)
class ItemScores:
    """Mean scores of the same items in each role.

    Attributes:
        item_ids: shape (n,), sorted.
        seed_scores: by role, shape (S, n), one row a training seed; the mean over the seed's samples of the item.
        seeds: by role, the training seeds of the rows, ascending.
        conditions: by role, the arm's folder name.
    """

    item_ids: tuple[str, ...]
    seed_scores: Mapping[str, NDArray[np.float64]]
    seeds: Mapping[str, tuple[int, ...]]
    conditions: Mapping[str, str]

    @property
    def scores(self) -> dict[str, NDArray[np.float64]]:
        """By role, shape (n,): the mean over the role's seeds and samples."""
        return {role: scores.mean(axis=0) for role, scores in self.seed_scores.items()}


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
    damaged = next(damaged_files(run, "evals"), None)
    if damaged:
        raise AuditError(f"{run.path}: {damaged}. Restore it: no verdict rests on outcomes that changed")
    with connect(run) as connection:
        findings = run_audit(connection, run, "pairing")
        # An arm without any evaluation is told below, with what to do about it.
        if any(fault != "not evaluated" for fault, *_ in findings.rows):
            raise AuditError(_broken_pairing(run, findings))
        _refuse_absent_seeds(connection, run, conditions, seeds)
        rows = _item_means(connection, list(conditions.values()), seeds)
    by_arm: dict[str, dict[int, dict[str, float]]] = {}
    for arm, seed, item_id, score in rows:
        by_arm.setdefault(arm, {}).setdefault(seed, {})[item_id] = score
    # The pairing holds, so that any seed of any arm names the items.
    item_ids = tuple(sorted(next(iter(by_arm[next(iter(conditions.values()))].values()))))
    return ItemScores(
        item_ids=item_ids,
        seed_scores={
            role: np.array([[by_arm[arm][seed][item] for item in item_ids] for seed in sorted(by_arm[arm])])
            for role, arm in conditions.items()
        },
        seeds={role: tuple(sorted(by_arm[arm])) for role, arm in conditions.items()},
        conditions=conditions,
    )


def contrast_sample(
    items: ItemScores, weights: Mapping[str, float], score_bounds: tuple[float, float], *, by_seed: bool = False
) -> PairedSample:
    """Return the weighted difference of each item.

    Args:
        items: the scores.
        weights: weight of each role; {"treatment": 1, "baseline": -1} is the usual difference.
        score_bounds: smallest and largest possible score of one item.
        by_seed: keep the scores of each training seed, for a claim about the training.

    Raises:
        AuditError: a score lies outside the bounds; with `by_seed`, too few seeds or arms that cannot be added.
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
    ends = [(weight * low, weight * high) for weight in used.values()]
    bounds = (sum(min(pair) for pair in ends), sum(max(pair) for pair in ends))
    if by_seed:
        return sample_from_seeds(_seed_scores(items, used), bounds)
    plus, minus = ([role for role, weight in used.items() if weight == sign] for sign in (1.0, -1.0))
    # A table of counts calls its sides treatment and baseline: no contrast may put them the other way round.
    if len(used) == len(plus) + len(minus) == 2 and "baseline" not in plus and "treatment" not in minus:
        return sample_from_scores(items.scores[plus[0]], items.scores[minus[0]], score_bounds)
    return PairedSample(_weighted(items.scores, used), bounds)


def _weighted(scores: Mapping[str, NDArray[np.float64]], weights: Mapping[str, float]) -> NDArray[np.float64]:
    return np.asarray(np.sum([weight * scores[role] for role, weight in weights.items()], axis=0), dtype=np.float64)


def _seed_scores(items: ItemScores, weights: Mapping[str, float]) -> SeedScores:
    """Return the two sides of a contrast by seed: arms of one side are added seed by seed."""
    sides = []
    for sign in (1.0, -1.0):
        side = {role: abs(weight) for role, weight in weights.items() if weight * sign > 0.0}
        seeds = {items.seeds[role] for role in side}
        if len(seeds) > 1:
            raise AuditError(
                f"the arms {', '.join(sorted(items.conditions[role] for role in side))} are added in the contrast and "
                "have different training seeds: evaluate the same seeds in each"
            )
        sides.append((_weighted(items.seed_scores, side), seeds))
    (treatment, seeds_treatment), (baseline, seeds_baseline) = sides
    return SeedScores(treatment, baseline, paired=seeds_treatment == seeds_baseline)


def arms_of_role(run: Run, role: str) -> list[str]:
    """Return the folder names of the arms of a role; more than one where conditions share it."""
    if run.sealed is not None:
        # The roles were sealed with the plan; run.json can be edited.
        return list(run.sealed.plan.conditions(role))
    # An arm that is neither baseline nor treatment is named by its folder, as `--weights` names it.
    named = [arm for arm in run.manifest.arms if role == (arm.arm if arm.role == "other" else arm.role)]
    return list(dict.fromkeys(arm.arm for arm in named))


def arm_name(run: Run, condition: str) -> str:
    """Return how an arm is called: by its name, or by its folder where its seeds have names of their own."""
    names = [arm.name for arm in run.manifest.arms if arm.arm == condition]
    return names[0] if len(names) == 1 else condition


def _conditions(run: Run, roles: Sequence[str]) -> dict[str, str]:
    conditions = {}
    for role in roles:
        arms = arms_of_role(run, role)
        if len(arms) != 1:
            found = ", ".join(arms) or "none"
            way_out = "" if arms else _way_out(run)
            raise NothingToCompare(f"{run.path}: the rule needs one arm of role {role}, the run has {found}{way_out}")
        conditions[role] = arms[0]
    return conditions


def _way_out(run: Run) -> str:
    """Return which arms an imported run has and what to type to compare them; a sealed plan names its own arms."""
    # As `--weights` names them: by role, or by folder where the role is free.
    names = list(dict.fromkeys(arm.arm if arm.role == "other" else arm.role for arm in run.manifest.arms))
    if run.sealed is not None or not names:
        return ""
    listed = ", ".join(printable(name, limit=60) for name in names[:_LISTED]) + (", …" if len(names) > _LISTED else "")
    again = "import again with --arm baseline=… --arm treatment=…"
    if len(names) == 1:
        return f": its only arm is {listed}, and a comparison needs two; {again}"
    minus, plus = sorted(names, key=lambda name: "base" not in name.lower())[:2]
    weights = shlex.quote(f"{printable(plus, limit=60)}=1,{printable(minus, limit=60)}=-1")
    return f": its arms are {listed}; {again}, or compare two by `audit decide {run.path} --weights {weights}`"


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
            raise AuditError(
                f"{run.path}: the {role} arm {arm!r} has no final evaluation{which}: nothing to decide on. "
                "A run that was interrupted goes on with the same `audit run` and --resume"
            )


def _item_means(
    connection: "duckdb.DuckDBPyConnection", arms: list[str], seeds: Sequence[int] | None
) -> list[tuple[str, int, str, float]]:
    """Return arm, seed, item and the mean over the item's samples: samples of one item are not more items."""
    chosen = "" if seeds is None else "AND list_contains($seeds, seed)"
    parameters = {"arms": arms} | ({} if seeds is None else {"seeds": list(seeds)})
    query = (
        f"SELECT arm, seed, item_id, avg(score) FROM final_item_scores "
        f"WHERE list_contains($arms, arm) {chosen} GROUP BY ALL"
    )
    return connection.execute(query, parameters).fetchall()


def _broken_pairing(run: Run, findings: Findings) -> str:
    total = int(findings.check.value or 0)
    lines = [f"{run.path}: the pairing is broken ({total} faults), so there is no number to trust"]
    for fault, item_id, arm, seed, detail, _severity in findings.rows[:_LISTED]:
        where = "" if arm is None else f" in arm {arm}, seed {seed}"
        named, told = printable(str(item_id), limit=80), printable(str(detail), limit=200)
        lines.append(f"  {fault}: item {named}{where}: {told}")
    if total > _LISTED:
        lines.append(f"  … and {total - _LISTED} more")
    lines.append(f"  {findings.check.mend}")
    return "\n".join(lines)
