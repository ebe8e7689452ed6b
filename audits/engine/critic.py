"""How wrong each arm's advantages are against fresh rollouts of the same states, and what reaches its update."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from analysis.advantage_errors import AdvantageError, CalibrationBin, advantage_error, calibration
from analysis.advantages.normalized import Normalization
from analysis.plan.advantages import Advantage
from audits.engine.curve import checkpoint_scores
from audits.store.reader import Run, connect
from audits.store.schema import tables

if TYPE_CHECKING:
    import duckdb

STATES, DIRECTIONS = "state_values", "update_directions"
SQL = {
    "errors": "SELECT * FROM advantage_errors ORDER BY ALL NULLS FIRST",
    "cosines": "SELECT arm, seed, avg(cosine) AS cosine, count(cosine) AS steps FROM update_cosines "
    "GROUP BY GROUPING SETS ((arm), (arm, seed)) ORDER BY ALL NULLS FIRST",
    "budgets": "SELECT * FROM training_budgets ORDER BY ALL",
    "accuracy": "SELECT arm, seed, score FROM checkpoint_scores WHERE checkpoint = 'final' ORDER BY ALL",
}
"""Queries for `audit sql` that give the same figures again."""

_STATES = (
    "arm, seed, step, value, advantage, monte_carlo_value, monte_carlo_value_error, monte_carlo_advantage, "
    "monte_carlo_advantage_error"
)
_FEWEST = 2


@dataclass(frozen=True)
class Measured:
    """Figures of the measured states of an arm: of all its seeds, or of one.

    Attributes:
        advantages: error of the advantages before the normalisation; None where nothing could be measured.
        values: the same of the critic's values; None without a critic.
        cosine: of the update directions, mean over measured steps; None where no step has one.
        cosine_steps: how many steps have one.
        reason: why `advantages` is None; None where it is not.
    """

    advantages: AdvantageError | None
    values: AdvantageError | None
    cosine: float | None
    cosine_steps: int
    reason: str | None = None


@dataclass(frozen=True)
class SeedResult:
    """One training run of an arm.

    Attributes:
        parameters: of the critic, as it was built; None where the run does not say.
        accuracy: mean score of the final checkpoint; None where it was not evaluated, or not every item has a score.
        sampled_tokens: completion tokens that it trained on.
        optimizer_updates: optimiser steps.
    """

    seed: int
    measured: Measured
    parameters: int | None
    accuracy: float | None
    sampled_tokens: int | None
    optimizer_updates: int | None


@dataclass(frozen=True)
class CriticArm:
    """One arm (condition) with all its seeds.

    Attributes:
        arm: its folder's name.
        settings: where its advantages come from; None for group means, or without a plan.
        planned: whether a plan says where they come from.
        hidden_size: of the states that its critic reads; None without one, or where the run does not say.
        measured: over all seeds and measured steps.
        advantage_bins: calibration of the advantages.
        value_bins: calibration of the critic's values; empty without a critic.
        seeds: by seed, those of the plan and those in the log.
    """

    arm: str
    settings: Advantage | None
    planned: bool
    hidden_size: int | None
    measured: Measured
    advantage_bins: tuple[CalibrationBin, ...]
    value_bins: tuple[CalibrationBin, ...]
    seeds: tuple[SeedResult, ...]

    @property
    def normalization(self) -> Normalization:
        """What is taken from a batch's advantages before the update; group means are used as they are."""
        return self.settings.normalization if self.settings is not None else "none"

    @property
    def parameters(self) -> int | None:
        """Parameters of the critic; None where the run does not say, or its seeds differ."""
        found = {own.parameters for own in self.seeds if own.parameters is not None}
        return found.pop() if len(found) == 1 else None

    @property
    def left(self) -> float | None:
        """What the normalisation leaves of the mean squared error; None where that was not measured."""
        found = self.measured.advantages
        return None if found is None else found.left_by(self.normalization)


@dataclass(frozen=True)
class CriticReport:
    """What `audit critic` shows of a run.

    Attributes:
        run: its directory.
        arms: in the order of the plan; empty where none has a critic and no state was measured.
        missing: why nothing was measured; None where something was.
    """

    run: str
    arms: tuple[CriticArm, ...]
    missing: str | None

    @property
    def status(self) -> Literal["measured", "inconclusive"]:
        """Whether at least one arm has figures."""
        return "inconclusive" if self.missing is not None else "measured"

    @cached_property
    def critics(self) -> tuple[CriticArm, ...]:
        """The arms with a critic, those with fewer parameters first."""
        found = [own for own in self.arms if own.settings is not None]
        return tuple(sorted(found, key=lambda own: (own.parameters is None, own.parameters or 0)))


def critic_report(run: Run) -> CriticReport:
    """Return what was measured of every arm's advantages.

    Raises:
        AuditError: a file of the run is damaged.
    """
    settings, plan = _settings(run), run.sealed.plan if run.sealed is not None else None
    with connect(run) as connection:
        scores = {(own.arm, own.seed): own.score for own in checkpoint_scores(run) if own.checkpoint == "final"}
        states = connection.execute(f"SELECT {_STATES} FROM {STATES} ORDER BY ALL").fetchnumpy()
        cosines = {row[:2]: row[2:] for row in connection.execute(SQL["cosines"]).fetchall()}
        budgets = _budgets(connection)
    columns = {name: _plain(values) for name, values in states.items()}
    logged = list(zip(columns["arm"].tolist(), columns["seed"].tolist(), strict=True))
    built = _built(run)
    measured_arms = {arm for arm, _ in logged}
    names = list(settings) if measured_arms or any(settings.values()) else []
    names += sorted(measured_arms - set(names))
    known = {(own.arm, own.seed) for own in run.manifest.arms} | set(logged) | _planned_cells(run)
    arms = []
    for arm in names:
        seeds = [
            SeedResult(
                seed=seed,
                measured=_measured(columns, (columns["arm"] == arm) & (columns["seed"] == seed), cosines, arm, seed),
                parameters=built.get((arm, seed), {}).get("parameters"),
                accuracy=_finite(scores.get((arm, seed))),
                sampled_tokens=budgets.get((arm, seed), (None, None))[0],
                optimizer_updates=budgets.get((arm, seed), (None, None))[1],
            )
            for seed in sorted(seed for own, seed in known if own == arm)
        ]
        chosen = columns["arm"] == arm
        measured = _measured(columns, chosen, cosines, arm, None)
        if arm in settings and plan is not None and plan.loss_of(arm).kind == "preference":
            measured = replace(measured, reason="its preference loss knows no advantage")
        arms.append(
            CriticArm(
                arm=arm,
                settings=settings.get(arm),
                planned=arm in settings,
                hidden_size=next((own.get("hidden_size") for key, own in built.items() if key[0] == arm), None),
                measured=measured,
                advantage_bins=_bins(columns, chosen, "advantage") if measured.advantages else (),
                value_bins=_bins(columns, chosen, "value") if measured.values else (),
                seeds=tuple(seeds),
            )
        )
    return CriticReport(str(run.path), tuple(arms), _missing(run, arms))


def _missing(run: Run, arms: list[CriticArm]) -> str | None:
    if not run.has(STATES):
        return (
            f"table {STATES} was never logged, so no advantage can be compared with fresh rollouts; "
            f"{tables()[STATES].written_by} writes it where the plan has an advantage_measurement"
        )
    if all(own.measured.advantages is None for own in arms):
        return "; ".join(f"{own.arm}: {own.measured.reason}" for own in arms)
    return None


def _settings(run: Run) -> dict[str, Advantage | None]:
    """Return where each condition's advantages come from, in the plan's order; empty without a plan."""
    if run.sealed is None:
        return {}
    plan = run.sealed.plan
    return {arm.condition: plan.advantages[arm.advantage] if arm.advantage else None for arm in plan.arms}


def _planned_cells(run: Run) -> set[tuple[str, int]]:
    return set() if run.sealed is None else {(arm.condition, arm.seed) for arm in run.sealed.plan.arms}


def _built(run: Run) -> dict[tuple[str, int], Mapping[str, int]]:
    """Return what `run.json` says of each critic as it was built: whole numbers under their keys."""
    stated = run.manifest.executed.get("critics")
    found: dict[tuple[str, int], Mapping[str, int]] = {}
    for entry in stated if isinstance(stated, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("arm"), str) and type(entry.get("seed")) is int:
            counts = {name: entry[name] for name in ("parameters", "hidden_size") if type(entry.get(name)) is int}
            found[entry["arm"], entry["seed"]] = counts
    return found


def _budgets(connection: "duckdb.DuckDBPyConnection") -> dict[tuple[str, int], tuple[int | None, int | None]]:
    rows = connection.execute("SELECT arm, seed, sampled_tokens, optimizer_updates FROM training_budgets").fetchall()
    return {(arm, seed): (tokens, updates) for arm, seed, tokens, updates in rows}


def _measured(
    columns: Mapping[str, NDArray[Any]],
    chosen: NDArray[np.bool_],
    cosines: Mapping[tuple[str, int | None], tuple[float | None, int]],
    arm: str,
    seed: int | None,
) -> Measured:
    cosine, steps = cosines.get((arm, seed), (None, 0))
    error, reason = _error(columns, chosen, "advantage")
    with_value = chosen & ~np.isnan(columns["value"])
    values, _ = _error(columns, with_value, "value")
    return Measured(error, values if error is not None else None, cosine, steps, reason)


def _error(
    columns: Mapping[str, NDArray[Any]], chosen: NDArray[np.bool_], quantity: str
) -> tuple[AdvantageError | None, str | None]:
    """Return the error of one quantity over the chosen states, or why there is none."""
    estimate, truth, deviation = (columns[name][chosen] for name in _names(quantity))
    if len(estimate) < _FEWEST:
        return None, f"{len(estimate)} measured states, and an error needs at least {_FEWEST}"
    wrong = sum(~(np.isfinite(estimate) & np.isfinite(truth) & np.isfinite(deviation) & (deviation >= 0)))
    if wrong:
        return None, f"{wrong:,} of {len(estimate):,} measured states have a number that is none, or an error below 0"
    batches = np.unique(np.stack([columns["seed"][chosen], columns["step"][chosen]]), axis=1, return_inverse=True)[1]
    return advantage_error(estimate, truth, deviation, batches.ravel()), None


def _bins(columns: Mapping[str, NDArray[Any]], chosen: NDArray[np.bool_], quantity: str) -> tuple[CalibrationBin, ...]:
    estimate, truth, deviation = (columns[name][chosen] for name in _names(quantity))
    known = ~np.isnan(estimate)
    return calibration(estimate[known], truth[known], deviation[known])


def _names(quantity: str) -> tuple[str, str, str]:
    return quantity, f"monte_carlo_{quantity}", f"monte_carlo_{quantity}_error"


def _plain(values: Any) -> NDArray[Any]:
    """Return a column without a mask: a number that is missing is NaN."""
    return np.ma.filled(values.astype(np.float64), np.nan) if np.ma.isMaskedArray(values) else np.asarray(values)


def _finite(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)
