"""Do the estimated and the Monte Carlo advantages push the weights the same way? Told by three gradient norms.

A Tinker service does not answer a gradient, but it answers its norm with an optimiser step. From |a|, |b| and |a + b|
follows the cosine. The gradients are taken on a copy of the weights that is let go afterwards.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.plan.model import Optimizer
from runner.loop.backend import Backend
from runner.loop.completion_data import completion_columns, completion_datum
from runner.loop.credit.measurement import Measured
from runner.loop.policy import Policy, adam_params, save_state
from runner.loop.sampling import RolloutBatch

_NORM = "grad_norm"


@dataclass(frozen=True)
class Directions:
    """Norms of the two gradients and of their sum; columns as in `sql/schema.sql`."""

    states: int
    estimated_norm: float
    monte_carlo_norm: float
    sum_norm: float


def directions(
    backend: Backend, policy: Policy, optimizer: Optimizer, batch: RolloutBatch, measured: Sequence[Measured], name: str
) -> Directions | None:
    """Return the norms of the policy gradients over the measured states, with either kind of advantage.

    Args:
        backend: the service.
        policy: the weights that sampled the batch.
        optimizer: the plan's; the copy takes its steps and is then forgotten.
        batch: what was sampled.
        measured: its measured states.
        name: a name on the service for the state that is copied; it is written over by the next one.

    Returns:
        The norms; None where the service does not answer them.

    Raises:
        AuditError: the service failed.
    """
    estimated = {(row.rollout_id, row.position): row.update_advantage for row in measured}
    monte_carlo = {(row.rollout_id, row.position): row.monte_carlo_advantage for row in measured}
    both = {place: estimated[place] + monte_carlo[place] for place in estimated}
    path = save_state(backend, policy, name)
    norms = [_norm(backend, path, optimizer, batch, weights) for weights in (estimated, monte_carlo, both)]
    found = [norm for norm in norms if norm is not None]
    return Directions(len(measured), *found) if len(found) == len(norms) else None


def _norm(
    backend: Backend,
    path: str,
    optimizer: Optimizer,
    batch: RolloutBatch,
    weights: dict[tuple[int, int], float],
) -> float | None:
    doing = "comparing update directions"
    # A fresh copy for each: a step moves the weights, and a gradient must be of the weights that sampled.
    opened = backend.submit(doing, lambda: backend.client.create_training_client_from_state(path))
    copy = backend.wait(doing, opened)
    rollouts = sorted({rollout_id for rollout_id, _ in weights})
    # The gradient of cross-entropy with these weights is the policy gradient with these advantages.
    of_rollout = {rollout_id: {"weights": _of_rollout(batch, rollout_id, weights)} for rollout_id in rollouts}
    samples = {rollout_id: batch.samples[rollout_id] for rollout_id in rollouts}
    data = [completion_datum(samples[each], completion_columns(samples[each], of_rollout[each])) for each in rollouts]
    backend.wait(doing, backend.submit(doing, lambda: copy.forward_backward(data, "cross_entropy")))
    params = adam_params(optimizer)
    answer: Any = backend.wait(doing, backend.submit(doing, lambda: copy.optim_step(params)))
    metrics = answer.metrics or {}
    return float(metrics[_NORM]) if _NORM in metrics else None


def _of_rollout(batch: RolloutBatch, rollout_id: int, weights: dict[tuple[int, int], float]) -> NDArray[np.float32]:
    length = len(batch.samples[rollout_id].token_ids)
    return np.array([weights.get((rollout_id, position), 0.0) for position in range(length)], np.float32)
