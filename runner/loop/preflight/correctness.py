"""Is the loss that trains the loss that the plan names, and does the service apply its gradient?

Value and gradient of every loss of the plan are compared with independent references: on seeded made tokens that
cover every branch, and on a small batch that the service sampled. A ratio clip is also compared with the service's
own `ppo`, a custom loss with the same loss traced and, where the service runs traced losses, uploaded to it. The API
returns no gradient, so the service's gradients are compared by what one step along them does to the batch's
log-probabilities.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.errors import AuditError
from analysis.losses.agreement import Tolerance
from analysis.losses.independent import references_of
from analysis.losses.made_tokens import made_samplers
from analysis.plan.model import Loss
from audits.store.preflights import Comparison
from runner.loop.policy import Policy
from runner.loop.probes.findings import NOT_EXECUTED, Subject, agreement, direction, open_question
from runner.loop.probes.loss_comparisons import (
    LossTolerances,
    evaluate_reference,
    gradient_of,
    made_comparisons,
    on_every_position,
    where_of,
)
from runner.loop.probes.loss_effects import Batch, Vector, loss_effects
from runner.loop.probes.service import (
    Preparation,
    forward_backward,
    logprobs_of,
    made_advantages,
    sample_small_batch,
    service_layout,
    with_sampler,
)
from runner.loop.sampling import Sample

if TYPE_CHECKING:
    import torch

ALIGNED = 0.05
"""Largest mean difference, in nats, between sampler and trainer on tokens that the same weights sampled."""

_TOPK_UNCOMPARED = (
    "no independent reference of a top-k divergence is compared yet: the made tokens have no candidates beside the "
    "sampled one. A plan that requires this preflight needs a binary divergence"
)


def run(preparation: Preparation) -> Iterator[Comparison]:
    """Yield the comparisons of every loss that an arm of the plan trains with.

    Of a loss with a top-k divergence one comparison says that it is open.

    Raises:
        AuditError: the service refused a request that any run needs, or a setting is not understood.
    """
    plan = preparation.sealed.plan
    arms = {arm.loss: arm for arm in reversed(plan.arms)}
    for loss_id in arms:
        preparation.note(f"correctness: {loss_id} on made tokens")
        loss = plan.losses[loss_id]
        if loss.top_k is not None:
            yield open_question(f"{loss_id}/{loss.form}", "loss", _TOPK_UNCOMPARED)
            continue
        yield from made_comparisons(preparation, loss_id, loss, tolerances(preparation.settings, loss))
    first = plan.arms[0]
    preparation.note("correctness: sampling a small batch")
    policy = preparation.fresh(first)
    samples = sample_small_batch(preparation, policy, first.seed)
    current = _completions(preparation, policy, samples)
    noise = _largest_difference(current, _completions(preparation, preparation.fresh(first), samples))
    sampled = Batch("sampled", samples, made_advantages(samples), current)
    yield _alignment(samples, current)
    for loss_id, arm in arms.items():
        if plan.losses[loss_id].top_k is not None:
            continue
        preparation.note(f"correctness: {loss_id} on the service")
        loss = plan.losses[loss_id]
        made = replace(sampled, name="made_sampler", samples=_made(loss, samples, current))
        for batch in (sampled, made):
            yield from _through_the_sdk(preparation, policy, loss_id, loss, batch)
        yield from loss_effects(preparation, loss_id, arm, made, noise, tolerances(preparation.settings, loss))


def tolerances(settings: Mapping[str, Any], loss: Loss) -> LossTolerances:
    """Return the plan's tolerances: `baseline_*` for a ratio clip, `reference_*` for a divergence mask.

    Raises:
        AuditError: the plan has a path of another kind, or a tolerance that is no number.
    """
    side, default = "baseline" if loss.kind == "ratio_clip" else "reference", LossTolerances()
    paths = settings.get("paths") or [{}]
    try:
        if len(paths) != 1 or paths[0].get("kind", "loss") != "loss":
            raise ValueError("one path of kind 'loss' is understood")
        given = paths[0].get("tolerances", {})
        value, gradient = given.get(f"{side}_loss", {}), given.get(f"{side}_gradient", {})
        return LossTolerances(
            Tolerance(float(value.get("atol", default.loss.atol)), float(value.get("rtol", default.loss.rtol))),
            Tolerance(
                float(gradient.get("atol", default.gradient.atol)), float(gradient.get("rtol", default.gradient.rtol))
            ),
            float(gradient.get("min_cosine", default.min_cosine)),
        )
    except (AttributeError, TypeError, ValueError) as error:
        raise AuditError(f"preflights.correctness.settings.paths: {error}. See `audit spec --schema`") from error


def _through_the_sdk(
    preparation: Preparation, policy: Policy, loss_id: str, loss: Loss, batch: Batch
) -> Iterator[Comparison]:
    """Compare value and gradient of the custom loss, as the SDK evaluated it, with the references."""
    leaves: list[torch.Tensor] = []
    custom = preparation.build_loss(loss)

    def capturing(data: Sequence[Any], logprobs: Sequence["torch.Tensor"]) -> Any:
        leaves[:] = logprobs
        return custom(data, logprobs)

    data = [preparation.lay_out(*pair) for pair in zip(batch.samples, batch.advantages, strict=True)]
    metrics = forward_backward(preparation.backend, policy.client, data, capturing)
    current = [
        np.asarray(leaf.detach().numpy()[-len(sample.token_ids) :], np.float64)
        for leaf, sample in zip(leaves, batch.samples, strict=True)
    ]
    wanted = tolerances(preparation.settings, loss)
    for reference in references_of(loss):
        path, source = f"{loss_id}/{loss.form}/{batch.name}/{reference.id}", f"{reference.source}: {NOT_EXECUTED}"
        values, gradients = evaluate_reference(reference, batch.samples, batch.advantages, current)
        expected = on_every_position(batch.samples, gradients)
        whole = Subject(path, source, None, "the custom loss through the SDK, summed over the batch")
        tokens = Subject(path, source, where_of(batch.samples), "the custom loss through the SDK, token by token")
        total = agreement(whole, "loss", [metrics["loss:sum"]], [np.concatenate(values).sum()], wanted.loss)
        yield total.model_copy(update={"notes": [_coverage(batch, gradients)]})
        yield agreement(tokens, "gradient", gradient_of(leaves), expected, wanted.gradient)
        yield direction(tokens, "gradient_cosine", gradient_of(leaves), expected, wanted.min_cosine)


def _coverage(batch: Batch, gradients: Sequence[Vector]) -> str:
    """Return in words how many tokens of a batch the reference hides, so that a reader sees what was tried."""
    pairs = [(a, gradient) for a, part in zip(batch.advantages, gradients, strict=True) for gradient in part]
    hidden = sum(a != 0.0 and gradient == 0.0 for a, gradient in pairs)
    return f"{hidden} of {len(pairs)} tokens lose their gradient to the clip or the mask"


def _alignment(samples: Sequence[Sample], current: Sequence[Vector]) -> Comparison:
    """Compare the trainer's log-probabilities with the sampler's on tokens that the same weights sampled."""
    sampler = np.concatenate([np.asarray(sample.logprobs, np.float64) for sample in samples])
    trainer = np.concatenate(list(current))
    deviation = np.abs(trainer - sampler)
    mean, index = float(deviation.mean()), int(deviation.argmax())
    lengths = np.cumsum([len(sample.token_ids) for sample in samples])
    rollout = int(np.searchsorted(lengths, index, side="right"))
    position = index - (int(lengths[rollout - 1]) if rollout else 0)
    place = f"rollout {rollout}, completion position {position}"
    return Comparison(
        path="alignment/sampled",
        metric="sampler_minus_trainer_mean",
        status="pass" if mean <= ALIGNED else "fail",
        value=mean,
        unit="nats",
        limit={"max": ALIGNED},
        where={"index": index, "rollout": rollout, "completion position": position},
        reference="the sampler's own log-probabilities",
        n=int(deviation.size),
        reason=None
        if mean <= ALIGNED
        else f"mean difference {mean:.4g} nats, largest {deviation[index]:.4g} at {place}: the log-probabilities that "
        "train do not belong to the tokens that were sampled",
        notes=[f"largest difference {deviation[index]:.4g} nats at {place}"],
        measures="mean absolute difference of log-probabilities, trainer against sampler, with the same weights",
    )


def _completions(preparation: Preparation, policy: Policy, samples: Sequence[Sample]) -> list[Vector]:
    """Return log pi of each sample's completion under a client's weights, from an independent layout."""
    found = logprobs_of(preparation.backend, policy.client, service_layout(samples, made_advantages(samples)))
    return [values[-len(sample.token_ids) :] for values, sample in zip(found, samples, strict=True)]


def _made(loss: Loss, samples: Sequence[Sample], current: Sequence[Vector]) -> list[Sample]:
    """Return the samples with sampler log-probabilities on all sides of the loss's thresholds."""
    return with_sampler(samples, [made_samplers(loss, values, seed) for seed, values in enumerate(current)])


def _largest_difference(left: Sequence[Vector], right: Sequence[Vector]) -> float:
    return float(np.abs(np.concatenate(list(left)) - np.concatenate(list(right))).max())
