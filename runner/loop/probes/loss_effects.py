"""One loss as several programs execute it: its value on a batch, and what one step along its gradient does.

The API returns no gradient, so gradients are compared by how one step along each moves the log-probabilities of the
batch, at a rate at which that is seen above the noise.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.errors import AuditError
from analysis.losses.traced import INPUT_RANKS, token_loss
from analysis.plan.model import Arm, Loss
from audits.store.preflights import Comparison
from runner.loop.probes.findings import Subject, agreement, direction, open_question
from runner.loop.probes.loss_comparisons import LossTolerances, where_of
from runner.loop.probes.service import (
    Preparation,
    along_the_gradient,
    forward_backward,
    logprobs_of,
    optimizer_step,
    service_layout,
)
from runner.loop.sampling import Sample

FIRST_RATE = 1e-6
MOVED = 0.05
"""How far, in nats, a step along a gradient should move the log-probability that it moves most."""

_NOT_UPLOADED = (
    "the service runs no traced losses (custom_loss_server_side), so the SDK ran this one: not compared was a loss "
    "that the service runs itself"
)

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Batch:
    """Rollouts as they would train: samples, an advantage each, and log pi of each completion.

    `name` says where the sampler's log-probabilities come from.
    """

    name: str
    samples: Sequence[Sample]
    advantages: Sequence[float]
    current: Sequence[Vector]


@dataclass(frozen=True)
class _Other:
    """Another execution of a loss: its name in the path, what it is, and the request that executes it."""

    name: str
    source: str
    data: Sequence[Any]
    loss_fn: Any
    config: dict[str, float] | None
    notes: Sequence[str] = ()


def loss_effects(
    preparation: Preparation, loss_id: str, arm: Arm, batch: Batch, noise: float, wanted: LossTolerances
) -> Iterator[Comparison]:
    """Compare the custom loss with the service's own and with the traced one: value, and what a step does.

    Args:
        preparation: of the preflight.
        loss_id: the loss's id in the plan.
        arm: one that trains with it.
        batch: the rollouts.
        noise: nats by which log-probabilities differ between two clients of the same weights.
        wanted: the plan's tolerances.

    Raises:
        AuditError: the service refused the custom loss; another execution that it refuses is an open comparison.
    """
    loss, plain = preparation.sealed.plan.losses[arm.loss], service_layout(batch.samples, batch.advantages)
    laid_out = [preparation.lay_out(*pair) for pair in zip(batch.samples, batch.advantages, strict=True)]
    custom = preparation.build_loss(loss)
    rate = _rate(preparation, arm, laid_out, custom, noise)
    ours = _step(preparation, arm, laid_out, custom, None, rate)
    others: list[_Other] = []
    if loss.kind == "ratio_clip" and loss.truncation is None:
        eps = loss.eps or 0.0
        bounds = {"clip_low_threshold": 1.0 - eps, "clip_high_threshold": 1.0 + eps}
        thresholds = f"{bounds['clip_low_threshold']:g} and {bounds['clip_high_threshold']:g}"
        others.append(
            _Other("service_ppo", f"the service's ppo, thresholds {thresholds}: executed", plain, "ppo", bounds)
        )
    try:
        others.append(_traced(preparation, loss, laid_out))
    except AuditError as error:
        yield open_question(f"{loss_id}/{loss.form}/{batch.name}/traced", "loss", error.message)
    loss_noise = noise * _sensitivity(batch)
    for other in others:
        path = f"{loss_id}/{loss.form}/{batch.name}/{other.name}"
        try:
            theirs = _step(preparation, arm, other.data, other.loss_fn, other.config, rate)
        except AuditError as error:
            yield open_question(path, "loss", error.message, reference=other.source)
            continue
        whole = Subject(path, other.source, None, "both losses on one batch, summed")
        tokens = Subject(
            path, other.source, where_of(batch.samples), "change of log-probability after one step along each gradient"
        )
        total = agreement(whole, "loss", [ours[0]], [theirs[0]], wanted.loss, loss_noise)
        yield total.model_copy(update={"notes": list(other.notes)})
        yield agreement(tokens, "gradient_effect", ours[1], theirs[1], wanted.gradient, noise)
        if noise <= wanted.gradient.atol:
            yield direction(tokens, "gradient_effect_cosine", ours[1], theirs[1], wanted.min_cosine)


def _step(
    preparation: Preparation, arm: Arm, data: Sequence[Any], loss_fn: Any, config: dict[str, float] | None, rate: float
) -> tuple[float, Vector]:
    """Return a loss on a batch and the change of its log-probabilities after one step of a fresh client."""
    backend, policy = preparation.backend, preparation.fresh(arm)
    before = np.concatenate(logprobs_of(backend, policy.client, data))
    metrics = forward_backward(backend, policy.client, data, loss_fn, config)
    optimizer_step(backend, policy.client, along_the_gradient(rate))
    return float(metrics["loss:sum"]), np.concatenate(logprobs_of(backend, policy.client, data)) - before


def _rate(preparation: Preparation, arm: Arm, data: Sequence[Any], custom: Any, noise: float) -> float:
    """Return the learning rate at which a step is seen well above the noise, and is still small.

    The step is linear in the rate as long as it is small, so one step that is seen at all gives it.
    """
    rate, wanted, seen = FIRST_RATE, max(MOVED, 100.0 * noise), max(MOVED / 500.0, 10.0 * noise)
    largest = 0.0
    for _ in range(4):
        _, moved = _step(preparation, arm, data, custom, None, rate)
        largest = float(np.abs(moved).max())
        if largest >= seen:
            return rate * wanted / largest
        rate *= 100.0
    return rate


def _traced(preparation: Preparation, loss: Loss, data: Sequence[Any]) -> _Other:
    """Return the loss as the SDK traces it: uploaded where the service runs traced losses, else run by the SDK.

    Raises:
        AuditError: the SDK cannot trace it, or the service refused it.
    """
    backend, doing = preparation.backend, "preflight: tracing the custom loss"
    if loss not in preparation.traced:
        # The SDK takes each traced loss once a session.
        pending = backend.submit(doing, lambda: backend.client.create_custom_loss(token_loss(loss), INPUT_RANKS))
        preparation.traced[loss] = backend.wait(doing, pending)
    handle = preparation.traced[loss]
    ran, notes = ("service", ()) if handle.loss_id is not None else ("SDK", (_NOT_UPLOADED,))
    return _Other("traced", f"the same loss, traced by the SDK, run by the {ran}: executed", data, handle, None, notes)


def _sensitivity(batch: Batch) -> float:
    """Return by how much a loss can change for each nat that all log-probabilities are off, to first order."""
    parts = [
        abs(advantage) * np.exp(values - sample.logprobs)
        for sample, advantage, values in zip(batch.samples, batch.advantages, batch.current, strict=True)
    ]
    return float(np.concatenate(parts).sum())
