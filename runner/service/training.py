"""A training run: one adapter, its accumulated gradient and its AdamW state.

The split of a request into microbatches depends on that request and the model alone, so neither the numbers
nor their last bits depend on what else the service is doing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch  # noqa: TID253 (imported by the service process alone)

from runner.service.base_models import BaseModel
from runner.service.custom_losses.loss import CustomLoss, combined, of_batch
from runner.service.faults import UserFault
from runner.service.lora import Adapter, LoraSpec
from runner.service.losses import Loss, loss_named, resolved_config
from runner.service.requests import AdamParams
from runner.service.wire import Array, Datum, ForwardBackward

MAX_LOGIT_VALUES = {"cpu": 1 << 25, "cuda": 1 << 28}
"""Padded tokens x vocabulary in a microbatch: 128 MiB and 1 GiB of float32 logits."""

MAX_MICROBATCH_TOKENS = 8192

MAX_HIDDEN_VALUES = 1 << 26
"""Numbers of hidden states in one answer: 256 MiB of float32."""

Moments = dict[str, torch.Tensor]
"""AdamW's state, `<parameter>/exp_avg`, `<parameter>/exp_avg_sq` and `<parameter>/step`; empty before a step."""


@dataclass(frozen=True)
class ForwardBackwardResult:
    """What a training request answers.

    Attributes:
        logprobs: of each target, one array a datum.
        loss_sum: the sum of the loss.
        metrics: an uploaded loss's own.
        hidden_states: the last layer's states at each input token, [N, D] a datum, from the same pass; None where they
            were not asked for.
    """

    logprobs: list[Array]
    loss_sum: float
    metrics: Mapping[str, float]
    hidden_states: list[Array] | None = None


class TrainingRun:
    """An adapter in training on a base model."""

    def __init__(self, base: BaseModel, spec: LoraSpec, adapter: Adapter, moments: Moments | None = None) -> None:
        self.base = base
        self.spec = spec
        # Sorted, because a checkpoint file has an order of its own, and the norm of the gradient is a sum whose
        # last bits depend on the order: a restored run must go on exactly as the saved one.
        self.parameters: Adapter = {
            name: adapter[name].detach().clone().to(base.device).requires_grad_() for name in sorted(adapter)
        }
        self._gradients: list[torch.Tensor] | None = None
        self._optimizer = torch.optim.AdamW(list(self.parameters.values()))
        for key, tensor in (moments or {}).items():
            name, _, part = key.rpartition("/")
            # AdamW keeps its step counter on the CPU wherever the parameters are.
            device = "cpu" if part == "step" else base.device
            self._optimizer.state[self.parameters[name]][part] = tensor.detach().clone().to(device)

    def adapter(self) -> Adapter:
        """Return a copy of the parameters that later steps do not change."""
        return {name: tensor.detach().clone() for name, tensor in self.parameters.items()}

    def moments(self) -> Moments:
        """Return a copy of the optimiser's state."""
        return {
            f"{name}/{part}": value.detach().clone()
            for name, parameter in self.parameters.items()
            for part, value in self._optimizer.state.get(parameter, {}).items()
        }

    def gradients(self) -> Mapping[str, torch.Tensor]:
        """Return the accumulated gradient by parameter name; empty if there is none."""
        return dict(zip(self.parameters, self._gradients or [], strict=False))

    def forward_backward(self, request: ForwardBackward, custom: CustomLoss | None = None) -> ForwardBackwardResult:
        """Run the network over the data and, unless `forward_only`, add the loss's gradient to what is there.

        Args:
            request: the data and the loss.
            custom: the uploaded loss that the request names, if it names one.

        Raises:
            UserFault: If the loss or its gradient is not finite, or an uploaded loss fails on a datum; then nothing is
                accumulated.
        """
        parameters = list(self.parameters.values())
        total = 0.0
        logprobs: list[Array] = []
        states: list[Array] = []
        metrics: list[Mapping[str, float]] = []
        sums = [torch.zeros_like(parameter) for parameter in parameters]
        with self.base.switch.attached(self.parameters, self.spec), self.base.recomputed.active():
            for batch in _microbatches(request.data, self.base):
                with torch.set_grad_enabled(not request.forward_only):
                    scores = _scores_of(self.base, batch, hidden_states=request.hidden_states)
                    if custom is None:
                        differentiated = _loss_of(request, scores, batch)
                        value = differentiated.item()
                    else:
                        differentiated, value, found = of_batch(custom, _rows(scores), batch, len(logprobs))
                        metrics += found
                total += value
                logprobs.extend(_copies(_rows(scores)))
                states.extend(_copies(_cut(scores.hidden_states, scores.lengths)))
                if not request.forward_only:
                    for gradient, share in zip(sums, torch.autograd.grad(differentiated, parameters), strict=True):
                        gradient += share
        if not np.isfinite(total) or not all(bool(gradient.isfinite().all()) for gradient in sums):
            raise UserFault(f"{request.loss}: the loss ({total}) or its gradient is not finite; nothing was kept")
        if not request.forward_only:
            before = self._gradients or [torch.zeros_like(parameter) for parameter in parameters]
            self._gradients = [old + new for old, new in zip(before, sums, strict=True)]
        return ForwardBackwardResult(logprobs, total, combined(metrics), states if request.hidden_states else None)

    def optim_step(self, params: AdamParams) -> float:
        """Take one AdamW step with these hyperparameters and drop the gradient.

        Returns:
            The gradient's Euclidean norm over all parameters, before clipping.

        Raises:
            UserFault: If no gradient was accumulated since the last step.
        """
        if self._gradients is None:
            raise UserFault("optim_step: there is no gradient; call forward_backward first")
        for parameter, gradient in zip(self.parameters.values(), self._gradients, strict=True):
            parameter.grad = gradient
        limit = params.grad_clip_norm if params.grad_clip_norm > 0 else float("inf")
        norm = torch.nn.utils.clip_grad_norm_(self.parameters.values(), limit)
        for group in self._optimizer.param_groups:
            group["lr"] = params.learning_rate
            group["betas"] = (params.beta1, params.beta2)
            group["eps"] = params.eps
            group["weight_decay"] = params.weight_decay
        self._optimizer.step()
        self._optimizer.zero_grad()
        self._gradients = None
        return float(norm)


def check(request: ForwardBackward, base: BaseModel, custom: CustomLoss | None = None) -> None:
    """Check a training request against its loss and its model, before it is queued.

    Raises:
        UserFault: If the loss or a setting is unknown, or a datum's inputs, shapes, ids or length do not fit.
    """
    if custom is None:
        resolved_config(request.loss, request.config)
    elif request.config:
        raise UserFault(f"loss_fn_config of custom: loss_id alone, not {', '.join(request.config)}")
    n_values = sum(datum.tokens.size for datum in request.data) * base.hidden_size
    if request.hidden_states and n_values > MAX_HIDDEN_VALUES:
        raise UserFault(f"hidden_states: {n_values} numbers, and one answer holds {MAX_HIDDEN_VALUES}")
    loss = custom or loss_named(request.loss)
    for index, datum in enumerate(request.data):
        try:
            _check_targets(datum, loss.ranks, base)
            if isinstance(loss, CustomLoss):
                loss.check(datum.inputs)
            else:
                _check_inputs(datum, loss)
        except UserFault as fault:
            raise UserFault(f"{request.loss}, datum {index}: {fault.message}") from fault


def _check_targets(datum: Datum, ranks: Sequence[int], base: BaseModel) -> None:
    if "target_tokens" not in datum.inputs:
        raise UserFault("missing target_tokens")
    targets = datum.inputs["target_tokens"]
    if targets.ndim not in ranks or targets.shape[0] != datum.tokens.size or targets.size == 0:
        raise UserFault(f"target_tokens of shape {list(targets.shape)} do not fit {datum.tokens.size} input tokens")
    if datum.tokens.size > base.context_length:
        raise UserFault(f"{datum.tokens.size} tokens are more than the model's {base.context_length}")
    for name, ids in (("model_input", datum.tokens), ("target_tokens", targets)):
        if ids.dtype.kind != "i" or ids.min() < 0 or ids.max() >= base.vocabulary_size:
            raise UserFault(f"{name}: token ids must be whole numbers from 0 to {base.vocabulary_size - 1}")


def _check_inputs(datum: Datum, loss: Loss) -> None:
    given, targets = set(datum.inputs), datum.inputs["target_tokens"]
    if missing := sorted(set(loss.inputs) - given - {"weights"}):
        raise UserFault(f"missing {', '.join(missing)}")
    if surplus := sorted(given - {"target_tokens", *loss.inputs}):
        raise UserFault(f"{', '.join(surplus)}: not an input of this loss")
    for name in given - {"target_tokens"}:
        values = datum.inputs[name]
        if values.shape != targets.shape:
            raise UserFault(f"{name} has shape {list(values.shape)}, target_tokens {list(targets.shape)}")
        if not np.isfinite(values).all():
            raise UserFault(f"{name}: every value must be finite")


def _microbatches(data: Sequence[Datum], base: BaseModel) -> Iterator[list[Datum]]:
    """Cut the data, in the order given, into batches whose padded size is bounded; targets share one shape."""
    limit = min(MAX_MICROBATCH_TOKENS, max(1, MAX_LOGIT_VALUES[base.device] // base.vocabulary_size))
    batch: list[Datum] = []
    width = 0
    for datum in data:
        wider = max(width, datum.tokens.size)
        same_shape = not batch or _trailing(batch[0]) == _trailing(datum)
        if batch and (wider * (len(batch) + 1) > limit or not same_shape):
            yield batch
            batch, wider = [], datum.tokens.size
        batch.append(datum)
        width = wider
    yield batch


def _trailing(datum: Datum) -> tuple[int, ...]:
    return datum.inputs["target_tokens"].shape[1:]


@dataclass(frozen=True)
class _Scores:
    """The target log-probabilities of a microbatch, padded to one width, and how long each datum is."""

    padded: torch.Tensor
    lengths: Sequence[int]
    hidden_states: torch.Tensor | None


def _scores_of(base: BaseModel, batch: Sequence[Datum], *, hidden_states: bool) -> _Scores:
    lengths = [datum.tokens.size for datum in batch]
    width = max(lengths)
    # Padding stands on the right: a causal model's earlier positions cannot see it, so no mask is needed.
    tokens = _stacked([datum.tokens for datum in batch], width).to(base.device)
    targets = _stacked([datum.inputs["target_tokens"] for datum in batch], width).to(base.device)
    found = base.network(input_ids=tokens, use_cache=False, output_hidden_states=hidden_states)
    columns = targets.reshape(len(batch), width, -1)
    logprobs = torch.log_softmax(found.logits.float(), dim=-1).gather(-1, columns).reshape(targets.shape)
    return _Scores(logprobs, lengths, found.hidden_states[-1].float() if hidden_states else None)


def _rows(scores: _Scores) -> list[torch.Tensor]:
    return _cut(scores.padded, scores.lengths)


def _cut(padded: torch.Tensor | None, lengths: Sequence[int]) -> list[torch.Tensor]:
    return [] if padded is None else [padded[row, :length] for row, length in enumerate(lengths)]


def _copies(rows: Sequence[torch.Tensor]) -> Iterator[Array]:
    return (row.detach().cpu().numpy().copy() for row in rows)


def _loss_of(request: ForwardBackward, scores: _Scores, batch: Sequence[Datum]) -> torch.Tensor:
    """Return one of the service's own losses, summed over a microbatch, in float64."""
    loss, config = loss_named(request.loss), resolved_config(request.loss, request.config)
    width, device = scores.padded.shape[1], scores.padded.device
    within = torch.arange(width) < torch.tensor(scores.lengths)[:, None]
    real = within.reshape(len(batch), width, *[1] * (scores.padded.ndim - 2)).to(device)
    p = torch.where(real, scores.padded.double(), 0.0)
    inputs = {
        name: _stacked([_input_of(datum, name) for datum in batch], width).double().to(device) for name in loss.inputs
    }
    return torch.where(real, loss.value(p, inputs, config), 0.0).sum()


def _input_of(datum: Datum, name: str) -> Array:
    """Return an input; targets without weights count once each, which is how the SDK's examples use them."""
    return datum.inputs[name] if name in datum.inputs else np.ones(datum.inputs["target_tokens"].shape)


def _stacked(rows: Sequence[Array], width: int) -> torch.Tensor:
    stacked = np.zeros((len(rows), width, *rows[0].shape[1:]), dtype=rows[0].dtype)
    for row, values in zip(stacked, rows, strict=True):
        row[: len(values)] = values
    return torch.from_numpy(stacked)
