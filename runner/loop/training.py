"""Trains on one rollout batch: minibatches of whole groups, one forward-backward and one optimiser step each."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.errors import AuditError
from analysis.losses import build_loss
from analysis.plan.model import Loss, Optimizer
from runner.loop.backend import Backend
from runner.loop.candidates import candidate_inputs
from runner.loop.completion_data import completion_columns, completion_datum
from runner.loop.credit.estimation import Credit
from runner.loop.policy import Policy, adam_params
from runner.loop.preferences import Pairs, no_preference, pairs_weights, preference_datum
from runner.loop.sampling import RolloutBatch, Sample

if TYPE_CHECKING:
    import tinker

Clock = Callable[[], float]


@dataclass(frozen=True)
class Update:
    """One minibatch update as it was executed.

    Attributes:
        update: 0-based inside the rollout batch.
        rollout_ids: rollouts of this minibatch that had at least one loss token.
        current_logprobs: one array a rollout: log pi of its loss tokens in this update's own forward pass.
        loss: the value that was differentiated, summed over loss tokens.
        n_hidden: loss tokens whose gradient the clip or the mask took away.
        sent: the optimiser settings as they were sent to the service.
        seconds_forward_backward: wall time.
        seconds_optim: wall time.
        advantages: one array a rollout: what multiplied the ratio of each loss token; of a preference loss minus the
            loss's derivative by the token's log-probability.
        candidate_logprobs: one array a rollout: log pi of its loss tokens' candidates in the same pass, shape (n, c);
            empty where the loss needs none.
    """

    update: int
    rollout_ids: tuple[int, ...]
    current_logprobs: tuple[NDArray[np.float32], ...]
    loss: float
    n_hidden: int
    sent: Mapping[str, float]
    seconds_forward_backward: float
    seconds_optim: float
    advantages: tuple[NDArray[np.float64], ...]
    candidate_logprobs: tuple[NDArray[np.float32], ...] = ()

    @property
    def n_loss_tokens(self) -> int:
        """Loss tokens of this minibatch, zero advantage included."""
        return sum(len(logprobs) for logprobs in self.current_logprobs)


def minibatches(group_ids: NDArray[np.int64], updates_per_batch: int) -> list[NDArray[np.int64]]:
    """Split rollouts into minibatches of whole, consecutive groups, as even as possible.

    Args:
        group_ids: the group of each rollout, shape (n,).
        updates_per_batch: how many minibatches.

    Returns:
        Rollout indices of each minibatch; together they are all rollouts, each once.

    Raises:
        AuditError: there are fewer groups than updates.
    """
    groups = np.unique(group_ids)
    if len(groups) < updates_per_batch:
        raise AuditError(
            f"rollout.updates_per_batch is {updates_per_batch}, but a batch has only {len(groups)} groups, and a group "
            "is never split. Plan more groups a batch or fewer updates"
        )
    return [np.flatnonzero(np.isin(group_ids, part)) for part in np.array_split(groups, updates_per_batch)]


def train_batch(
    backend: Backend,
    policy: Policy,
    loss: Loss,
    optimizer: Optimizer,
    batch: RolloutBatch,
    credit: Credit,
    updates_per_batch: int,
    pairs: Pairs | None = None,
    clock: Clock = time.monotonic,
) -> list[Update]:
    """Run all updates of one rollout batch, in order; each sampled token is used once.

    Args:
        backend: the service.
        policy: what is trained.
        loss: the arm's.
        optimizer: the plan's.
        batch: what was sampled.
        credit: the advantages of its tokens.
        updates_per_batch: how many minibatches.
        pairs: of the batch, for a preference loss and no other.
        clock: gives seconds.

    Raises:
        AuditError: the service refused a request or went away, or a minibatch has no loss token.
    """
    evaluate = build_loss(loss)
    done = []
    for number, members in enumerate(minibatches(batch.group_ids, updates_per_batch)):
        where = f"step {batch.step}, update {number}"
        share = _laid_out(batch, members, credit, pairs, evaluate)
        if not share.rollout_ids:
            raise AuditError(f"{where}: every completion is empty, so there is no loss token")
        captured: list[Sequence[Any]] = []
        begun = clock()
        metrics = _forward_backward(backend, policy, share.data, _capturing(share.loss, captured), where)
        between = clock()
        sent = _optim_step(backend, policy, optimizer, where)
        ended = clock()
        found = _completion_part(captured[-1], [batch.samples[index] for index in share.rollout_ids])
        current = [values if values.ndim == 1 else values[:, 0] for values in found]
        advantages = share.advantages or pairs_weights(pairs, share.rollout_ids, current, loss)
        order = np.argsort(share.rollout_ids)
        done.append(
            Update(
                update=number,
                rollout_ids=tuple(share.rollout_ids[place] for place in order),
                current_logprobs=tuple(current[place] for place in order),
                loss=float(metrics["loss:sum"]),
                n_hidden=int(metrics["custom/hidden:sum"]),
                sent=sent,
                seconds_forward_backward=between - begun,
                seconds_optim=ended - between,
                advantages=tuple(advantages[place] for place in order),
                candidate_logprobs=tuple(found[place] for place in order if found[place].ndim == 2),
            )
        )
    return done


@dataclass(frozen=True)
class _Minibatch:
    """What one update sends: its rollouts, their data and the loss.

    `advantages` are empty where they follow from the update's own forward pass.
    """

    rollout_ids: list[int]
    data: list["tinker.Datum"]
    loss: Callable[..., Any]
    advantages: list[NDArray[np.float64]]


def _laid_out(
    batch: RolloutBatch,
    members: NDArray[np.int64],
    credit: Credit,
    pairs: Pairs | None,
    evaluate: Callable[..., Any],
) -> _Minibatch:
    filled = [int(index) for index in members if len(batch.samples[index].token_ids)]
    if pairs is None:
        data = [rollout_datum(batch.samples[index], credit.advantages[index]) for index in filled]
        return _Minibatch(filled, data, evaluate, [credit.advantages[index] for index in filled])
    paired = pairs.of(members)
    if paired:
        data = [preference_datum(batch.samples[index], pairs.base_logprobs[index]) for index in paired]
        return _Minibatch(paired, data, evaluate, [])
    # All alike: the step is taken without a gradient, as every other loss takes it where all advantages are 0.
    nothing = [np.zeros(len(batch.samples[index].token_ids)) for index in filled]
    data = [rollout_datum(batch.samples[index], zeros) for index, zeros in zip(filled, nothing, strict=True)]
    return _Minibatch(filled, data, no_preference, nothing)


def rollout_datum(sample: Sample, advantage: ArrayLike) -> "tinker.Datum":
    """Lay out one rollout for a loss of tokens.

    The advantage is one number, or one a token. Where the sample has candidates, they are the targets of each
    position, the sampled token first.
    """
    of_tokens = {"sampler_logprobs": sample.logprobs, "advantages": advantage, "mask": 1.0}
    columns = completion_columns(sample, of_tokens)
    if sample.candidates is not None:
        columns |= candidate_inputs(sample.candidates, columns["target_tokens"])
    return completion_datum(sample, columns)


def _capturing(evaluate: Callable[..., Any], captured: list[Sequence[Any]]) -> Callable[..., Any]:
    """Keep the log-probabilities that the loss is handed: they are this update's forward pass and no other."""

    def custom_loss(data: Sequence[Any], logprobs: Sequence[Any]) -> Any:
        captured.append([values.detach() for values in logprobs])
        return evaluate(data, logprobs)

    return custom_loss


def _completion_part(logprobs: Sequence[Any], samples: Sequence[Sample]) -> tuple[NDArray[np.float32], ...]:
    return tuple(
        values.numpy()[len(values) - len(sample.token_ids) :].astype(np.float32)
        for values, sample in zip(logprobs, samples, strict=True)
    )


def _forward_backward(
    backend: Backend, policy: Policy, data: list["tinker.Datum"], custom_loss: Callable[..., Any], where: str
) -> Mapping[str, float]:
    doing = f"{where}: forward_backward_custom"
    pending = backend.submit(doing, lambda: policy.client.forward_backward_custom(data, custom_loss))
    return backend.wait(doing, pending).metrics


def _optim_step(backend: Backend, policy: Policy, optimizer: Optimizer, where: str) -> Mapping[str, float]:
    doing, params = f"{where}: optim_step", adam_params(optimizer)
    backend.wait(doing, backend.submit(doing, lambda: policy.client.optim_step(params)))
    return params.model_dump()
