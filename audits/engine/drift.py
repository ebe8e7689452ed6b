"""Drift of the policy from the sampler, by arm, seed, step and update."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from analysis.plan.model import Plan
from audits.engine.gate import loss_parameters
from audits.engine.measure import measure
from audits.engine.metric import load_metric
from audits.store.reader import Run, connect

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class DriftRow:
    """One minibatch update of one step of one arm; shares are over its loss tokens.

    Attributes:
        masked_share: share masked by the treatment's divergence rule, None without such a loss in the plan.
        clip_share: share with a binding (sign-aware) ratio clip of the baseline's eps, None without such a loss.
        abs_p_q50: median of |p_current - p_sampler|.
        abs_p_q90: 90th percentile of |p_current - p_sampler|.
        abs_p_q99: 99th percentile of |p_current - p_sampler|.
        reward: mean reward of the step's rollouts, None where rollouts were not logged.
    """

    arm: str
    seed: int
    step: int
    update: int
    loss_tokens: int
    masked_share: float | None
    clip_share: float | None
    abs_p_q50: float
    abs_p_q90: float
    abs_p_q99: float
    reward: float | None


def drift_by_step(run: Run, plan: Plan | None) -> tuple[DriftRow, ...]:
    """Return the drift of every minibatch update that was logged, sorted by arm, seed, step and update.

    An update with NaN or infinite numbers has NaN figures, not smaller ones.

    Args:
        run: the run; without a token log the result is empty.
        plan: gives the thresholds; without it the shares are None.

    Raises:
        AuditError: a file of the run is damaged.
    """
    if not run.has("tokens"):
        return ()
    thresholds = loss_parameters(plan) if plan is not None else {}
    columns = 'arm, seed, step, "update", loss_tokens, abs_p_q50, abs_p_q90, abs_p_q99, reward, invalid'
    with connect(run) as connection:
        rows = connection.execute(f"SELECT {columns} FROM update_drift ORDER BY ALL").fetchall()
        scopes = sorted({(arm, update) for arm, _, _, update, *_ in rows})
        masked = _shares(connection, "dppo_masked_token_fraction", thresholds, scopes)
        clipped = _shares(connection, "grpo_clip_fraction", thresholds, scopes)
    return tuple(
        DriftRow(
            arm,
            seed,
            step,
            update,
            loss_tokens=loss_tokens,
            masked_share=math.nan if invalid and masked else masked.get((arm, seed, step, update)),
            clip_share=math.nan if invalid and clipped else clipped.get((arm, seed, step, update)),
            abs_p_q50=q50,
            abs_p_q90=q90,
            abs_p_q99=q99,
            reward=reward,
        )
        for arm, seed, step, update, loss_tokens, q50, q90, q99, reward, invalid in rows
    )


def _shares(
    connection: "duckdb.DuckDBPyConnection",
    metric_id: str,
    thresholds: Mapping[str, str],
    scopes: Iterable[tuple[str, int]],
) -> dict[tuple[object, ...], float]:
    metric = load_metric(metric_id)
    if not metric.parameters <= set(thresholds):
        return {}
    return {
        (arm, step.seed, step.step, update): float(step.value)
        for arm, update in scopes
        for step in measure(connection, metric, thresholds, arm=arm, update=update).steps
    }
