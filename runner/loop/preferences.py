"""What a preference loss trains on: pairs of a better and a worse completion of a prompt, and the base model's view."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from analysis.errors import AuditError
from analysis.losses.preference import preference_losses
from analysis.plan.model import Loss
from runner.loop.backend import Backend
from runner.loop.completion_data import completion_columns, completion_datum
from runner.loop.sampling import RolloutBatch, Sample

if TYPE_CHECKING:
    import tinker

Logprobs = NDArray[np.float32]


@dataclass(frozen=True)
class Pairs:
    """The pairs of one batch.

    Attributes:
        chosen: rollout of the better completion of each pair.
        rejected: rollout of the worse one, in the same order; no rollout is in two pairs.
        base_logprobs: by rollout of a pair, the base model's log-probability of each of its tokens, nats.
    """

    chosen: tuple[int, ...]
    rejected: tuple[int, ...]
    base_logprobs: dict[int, Logprobs]

    def of(self, members: NDArray[np.int64]) -> list[int]:
        """Return the rollouts of the pairs within a minibatch of whole groups, each chosen one before its other."""
        inside = set(members.tolist())
        pairs = zip(self.chosen, self.rejected, strict=True)
        return [rollout for pair in pairs if pair[0] in inside for rollout in pair]


def pairs_weights(
    pairs: Pairs | None, rollout_ids: Sequence[int], current: Sequence[Logprobs], loss: Loss
) -> list[NDArray[np.float64]]:
    """Return minus the derivative of a preference loss by the log-probability of each token, one array a rollout.

    Args:
        pairs: of the batch.
        rollout_ids: each chosen one before its rejected one.
        current: log pi of each rollout's tokens in this update's own forward pass.
        loss: gives beta.

    Raises:
        ValueError: there are no pairs.
    """
    if pairs is None or loss.beta is None:
        raise ValueError("only a preference loss has pairs")
    sums = np.array([values.astype(np.float64).sum() for values in current])
    base = np.array([pairs.base_logprobs[rollout].astype(np.float64).sum() for rollout in rollout_ids])
    pull = -preference_losses(sums[0::2], sums[1::2], base[0::2], base[1::2], beta=loss.beta).gradient
    signed = np.stack([pull, -pull], axis=1).ravel()
    return [np.full(len(values), weight) for values, weight in zip(current, signed, strict=True)]


def no_preference(data: Sequence[Any], logprobs: Sequence[Any]) -> tuple[Any, dict[str, float]]:
    """The loss of completions of which none is better than another of its group: 0, with a gradient of 0."""
    masks = [datum.loss_fn_inputs["mask"].to_numpy().sum() for datum in data]
    counts = {"custom/loss_tokens:sum": float(sum(masks)), "custom/hidden:sum": 0.0}
    return sum((values * 0.0).sum() for values in logprobs), counts


def pairs_of(backend: Backend, base: "tinker.SamplingClient", batch: RolloutBatch) -> Pairs:
    """Pair the completions of each group, the best with the worst, as long as their rewards differ.

    Args:
        backend: the service.
        base: a sampler on the base model.
        batch: what was sampled; an empty completion is in no pair.

    Raises:
        AuditError: the service failed.
    """
    chosen, rejected = [], []
    for group in np.unique(batch.group_ids):
        members = [
            int(place) for place in np.flatnonzero(batch.group_ids == group) if len(batch.samples[place].token_ids)
        ]
        ranked = sorted(members, key=lambda place: (-batch.samples[place].grade.reward, place))
        for better, worse in zip(ranked, reversed(ranked), strict=True):
            if batch.samples[better].grade.reward <= batch.samples[worse].grade.reward:
                break
            chosen.append(better)
            rejected.append(worse)
    rollouts = sorted({*chosen, *rejected})
    found = _base_logprobs(backend, base, [batch.samples[rollout] for rollout in rollouts])
    return Pairs(tuple(chosen), tuple(rejected), dict(zip(rollouts, found, strict=True)))


def preference_datum(sample: Sample, base_logprobs: Logprobs) -> "tinker.Datum":
    """Lay out one completion of a pair; see `analysis.losses.preference.build_preference_loss`."""
    return completion_datum(sample, completion_columns(sample, {"base_logprobs": base_logprobs, "mask": 1.0}))


def _base_logprobs(backend: Backend, base: "tinker.SamplingClient", samples: Sequence[Sample]) -> list[Logprobs]:
    """Return the base model's log-probability of each completion token; all requests are in flight at once."""
    import tinker

    inputs = [tinker.ModelInput.from_ints([*s.prompt.token_ids, *s.token_ids.tolist()]) for s in samples]
    pending = [base.compute_logprobs(each) for each in inputs]
    found = []
    for sample, future in zip(samples, pending, strict=True):
        scores = backend.wait(f"the base model's view of {sample.prompt.problem.prompt_id}", future)
        part = scores[len(scores) - len(sample.token_ids) :]
        if any(value is None for value in part):
            raise AuditError(
                "the service returned no log-probability for a token of a completion under the base model, so that no "
                "preference loss can be computed"
            )
        found.append(np.asarray(part, np.float32))
    return found
