"""Sampling with a key-value cache: one prompt, all its samples in one batch.

What the numbers are:

- The reported log-probability of a sampled token is the model's own, at temperature 1 and without top-k or
  top-p. The SDK leaves this open; it is what a trainer's forward pass computes for the same token, so
  importance ratios are 1 on fresh data. It is the behaviour's log-probability exactly when the request
  samples at temperature 1 without truncation; at any other setting it is not.
- Sample s draws from a stream seeded with (seed, s) and the order of draws is the order of its tokens, so
  neither `num_samples` nor `max_tokens` changes what an earlier sample or token was drawn with. Without a
  seed the operating system's randomness is used.
- Temperature 0 takes the most probable token, the lowest id among equals.
- Generation ends at a stop token or once the text contains a stop string, and what ended it is kept in the
  output. End-of-text ids stop too, beside the stops given; only an empty list of stops switches them off.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch  # noqa: TID253 (imported by the service process alone)
from transformers import DynamicCache

from runner.service.base_models import BaseModel
from runner.service.faults import UserFault
from runner.service.lora import Adapter, LoraSpec
from runner.service.requests import Sample, SamplingParams
from runner.service.wire import Array, Completion


@dataclass(frozen=True)
class Stops:
    """What ends a completion."""

    tokens: frozenset[int]
    strings: tuple[str, ...]


@dataclass
class _Row:
    """A completion in the making."""

    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    topk_tokens: list[Array] = field(default_factory=list)
    topk_logprobs: list[Array] = field(default_factory=list)
    stopped: bool = False


def check(request: Sample, base: BaseModel) -> None:
    """Check a sampling request against its model, before it is queued.

    Raises:
        UserFault: If the prompt is empty, foreign to the vocabulary or too long for the context.
    """
    tokens = request.prompt.tokens()
    limit = base.context_length
    if not tokens:
        raise UserFault("prompt: it has no tokens")
    if max(tokens) >= base.vocabulary_size:
        raise UserFault(f"prompt: token id {max(tokens)} is outside the vocabulary of {base.vocabulary_size}")
    # The last token is drawn but never read back, so it needs no place in the context.
    if len(tokens) + (request.sampling_params.max_tokens or 1) > limit + 1:
        raise UserFault(
            f"a prompt of {len(tokens)} tokens and max_tokens {request.sampling_params.max_tokens or 1} "
            f"exceed the model's context of {limit}"
        )
    if request.prompt_logprobs_last_n is not None and not (
        request.prompt_logprobs and request.prompt_logprobs_last_n < len(tokens)
    ):
        raise UserFault("prompt_logprobs_last_n needs prompt_logprobs, and a prompt longer than that")
    if (
        request.sampling_params.top_k == 0
        or max(request.sampling_params.top_k, request.topk_sample_logprobs) > base.vocabulary_size
    ):
        raise UserFault("top_k is -1 (no limit) or from 1 to the vocabulary's size; topk_sample_logprobs likewise")


def generate(
    request: Sample, base: BaseModel, adapter: Adapter | None, spec: LoraSpec | None
) -> tuple[list[Completion], Array | None]:
    """Draw the completions of a checked request.

    Returns:
        The completions in sample order, and the prompt's log-probabilities (float32 of the prompt's length,
        NaN for the first token and those not asked for), or None if they were not asked for.
    """
    prompt = request.prompt.tokens()
    with torch.inference_mode(), base.switch.attached(adapter, spec):
        cache = DynamicCache(config=base.network.config)
        logits = base.network(input_ids=torch.tensor([prompt]), past_key_values=cache, use_cache=True).logits.float()
        scores = _prompt_scores(logits, prompt, request.prompt_logprobs_last_n) if request.prompt_logprobs else None
        if request.num_samples > 1:
            cache.batch_repeat_interleave(request.num_samples)
        rows = _decode(request, base, cache, logits[:, -1].expand(request.num_samples, -1))
    return [_completion(row) for row in rows], scores


def _decode(request: Sample, base: BaseModel, cache: DynamicCache, logits: torch.Tensor) -> list[_Row]:
    """Extend all samples token by token; finished rows stay in the batch, so its shape never changes."""
    params = request.sampling_params
    stops = _stops(params, base.eos_ids)
    rows = [_Row() for _ in range(request.num_samples)]
    streams = _streams(params.seed, request.num_samples)
    limit = params.max_tokens or base.context_length + 1 - len(request.prompt.tokens())
    for step in range(limit):
        if not bool(logits.isfinite().all()):
            raise UserFault("the model's logits are not finite: its weights have diverged")
        draws = np.array([stream.random() for stream in streams])
        chosen = choose(logits, params, draws)
        _extend(rows, logits, chosen, request.topk_sample_logprobs)
        for row in rows:
            row.stopped = row.stopped or _is_stopped(row, stops, base)
        if step + 1 == limit or all(row.stopped for row in rows):
            break
        logits = base.network(input_ids=chosen[:, None], past_key_values=cache, use_cache=True).logits[:, -1].float()
    return rows


def choose(logits: torch.Tensor, params: SamplingParams, draws: Array) -> torch.Tensor:
    """Choose one token a row by inverting the cumulative distribution at the row's draw.

    Args:
        logits: Shape [rows, vocabulary].
        params: Temperature, top-k and top-p; top-k is applied first, then top-p to what is left.
        draws: One number in [0, 1) a row.

    Returns:
        Token ids of shape [rows].
    """
    if params.temperature == 0:
        return logits.argmax(dim=-1)
    shifted = logits.double() - logits.amax(dim=-1, keepdim=True)  # so that a tiny temperature cannot overflow
    probabilities = torch.softmax(shifted / params.temperature, dim=-1)
    if params.top_k != -1 or params.top_p < 1:
        probabilities = _truncated(probabilities, params.top_k, params.top_p)
    cumulative = probabilities.cumsum(dim=-1)
    total = cumulative[:, -1:]
    # Strictly below the total, and searched from the right: a token of probability 0 is never chosen.
    points = torch.minimum(torch.from_numpy(draws)[:, None] * total, torch.nextafter(total, torch.zeros_like(total)))
    return torch.searchsorted(cumulative, points, right=True).squeeze(-1)


def _truncated(probabilities: torch.Tensor, top_k: int, top_p: float) -> torch.Tensor:
    """Zero what top-k and top-p leave out; the smallest set that reaches top_p is kept, ties by token id."""
    ordered, order = probabilities.sort(dim=-1, descending=True, stable=True)
    if top_k != -1:
        ordered[:, top_k:] = 0
    before = ordered.cumsum(dim=-1) - ordered
    ordered[before >= top_p * ordered.sum(dim=-1, keepdim=True)] = 0
    return torch.zeros_like(probabilities).scatter(-1, order, ordered)


def _extend(rows: Sequence[_Row], logits: torch.Tensor, chosen: torch.Tensor, topk: int) -> None:
    logprobs = torch.log_softmax(logits, dim=-1)
    picked = logprobs.gather(-1, chosen[:, None]).squeeze(-1).tolist()
    top = logprobs.topk(topk, dim=-1) if topk else None
    for index, (row, token) in enumerate(zip(rows, chosen.tolist(), strict=True)):
        if row.stopped:
            continue
        row.tokens.append(token)
        row.logprobs.append(picked[index])
        if top is not None:
            row.topk_tokens.append(top.indices[index].numpy())
            row.topk_logprobs.append(top.values[index].numpy())


def _is_stopped(row: _Row, stops: Stops, base: BaseModel) -> bool:
    if row.tokens[-1] in stops.tokens:
        return True
    if not stops.strings:
        return False
    text = base.tokenizer.decode(row.tokens, skip_special_tokens=False)
    return any(stop in text for stop in stops.strings)


def _stops(params: SamplingParams, eos_ids: frozenset[int]) -> Stops:
    if params.stop is None:
        return Stops(eos_ids, ())
    given = [params.stop] if isinstance(params.stop, str) else params.stop
    if not given:
        return Stops(frozenset(), ())
    strings = tuple(stop for stop in given if isinstance(stop, str) and stop)
    return Stops(eos_ids | {stop for stop in given if isinstance(stop, int)}, strings)


def _streams(seed: int | None, count: int) -> list[np.random.Generator]:
    root = int.from_bytes(os.urandom(16)) if seed is None else seed % 2**64  # a seed may be negative
    return [np.random.default_rng(np.random.SeedSequence((root, sample))) for sample in range(count)]


def _prompt_scores(logits: torch.Tensor, prompt: Sequence[int], last_n: int | None) -> Array:
    scores = np.full(len(prompt), np.nan, dtype=np.float32)
    logprobs = torch.log_softmax(logits[0, :-1], dim=-1)
    targets = torch.tensor(prompt[1:], dtype=torch.int64)
    scores[1:] = logprobs.gather(-1, targets[:, None]).squeeze(-1).numpy()
    if last_n is not None:
        scores[: len(prompt) - last_n] = np.nan
    return scores


def _completion(row: _Row) -> Completion:
    return Completion(
        tokens=row.tokens,
        logprobs=row.logprobs,
        stop_reason="stop" if row.stopped else "length",
        topk_tokens=np.stack(row.topk_tokens) if row.topk_tokens else None,
        topk_logprobs=np.stack(row.topk_logprobs) if row.topk_logprobs else None,
    )
