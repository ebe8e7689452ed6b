"""Sampling with a key-value cache: one prompt, all its samples in one batch; on a GPU several prompts.

What the numbers are:

- The reported log-probability of a sampled token is the model's own, at temperature 1 and without top-k or
  top-p. The SDK leaves this open; it is what a trainer's forward pass computes for the same token, so
  importance ratios are 1 on fresh data. It is the behaviour's log-probability exactly when the request
  samples at temperature 1 without truncation; at any other setting it is not.
- Sample s draws from a stream seeded with (seed, s) and the order of draws is the order of its tokens, so
  neither `num_samples` nor `max_tokens` changes what an earlier sample or token was drawn with. Without a
  seed the operating system's randomness is used.
- Temperature 0 takes the most probable token, the lowest id among equals.
- A single request is a batch of its own, so its numbers depend on nothing else. Several requests are padded on
  the left to one length: their tokens are drawn with the same numbers, their log-probabilities may differ from
  those of a request alone in the last bits.
- Generation ends at a stop token or once the text contains a stop string, and what ended it is kept in the
  output. End-of-text ids stop too, beside the stops given; only an empty list of stops switches them off.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch  # noqa: TID253 (imported by the service process alone)
from transformers import DynamicCache

from runner.service import prompt_scores
from runner.service.answers import Completion
from runner.service.base_models import BaseModel
from runner.service.drawing import choose, sample_streams
from runner.service.faults import UserFault
from runner.service.lora import Adapter, LoraSpec
from runner.service.prompt_scores import PromptScorer, PromptScores
from runner.service.requests import Sample, SamplingParams
from runner.service.wire import Array

MAX_LOGIT_VALUES = 1 << 25
"""Prompt tokens x vocabulary in one piece of a prompt that is scored: 128 MiB of float32 logits."""

SMALL_LOGIT_VALUES = 1 << 20
"""Up to this size all of a prompt's logits are computed; above it only those that are needed."""


@dataclass(frozen=True)
class Drawn:
    """The answer to one request: its completions in sample order, and what it asked about its prompt."""

    completions: list[Completion]
    scores: PromptScores | None


@dataclass(frozen=True)
class Stops:
    """What ends a completion."""

    tokens: frozenset[int]
    strings: tuple[str, ...]


@dataclass
class _Row:
    """A completion in the making."""

    stream: np.random.Generator
    stops: Stops
    limit: int
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    topk_tokens: list[Array] = field(default_factory=list)
    topk_logprobs: list[Array] = field(default_factory=list)
    stopped: bool = False

    @property
    def ended(self) -> bool:
        return self.stopped or len(self.tokens) == self.limit


@dataclass
class _Prefix:
    """Prompts that were read: their cache, the logits after each, and where padding stands if there is any."""

    cache: DynamicCache
    logits: torch.Tensor
    mask: torch.Tensor | None = None
    positions: torch.Tensor | None = None

    def repeat(self, counts: Sequence[int]) -> None:
        """Repeat each prompt as often as it is sampled."""
        device = self.logits.device
        rows = torch.arange(len(counts), device=device).repeat_interleave(torch.tensor(counts, device=device))
        if len(rows) > len(counts):
            self.cache.batch_select_indices(rows)
        self.logits = self.logits[rows]
        if self.mask is not None and self.positions is not None:
            self.mask, self.positions = self.mask[rows], self.positions[rows]


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
    if (
        request.sampling_params.top_k == 0
        or max(request.sampling_params.top_k, request.topk_sample_logprobs) > base.vocabulary_size
    ):
        raise UserFault("top_k is -1 (no limit) or from 1 to the vocabulary's size; topk_sample_logprobs likewise")
    prompt_scores.check(request, len(tokens), base.vocabulary_size)


def generate(
    requests: Sequence[Sample], base: BaseModel, adapter: Adapter | None, spec: LoraSpec | None
) -> list[Drawn]:
    """Draw the completions of checked requests, in one batch.

    Args:
        requests: One, or several that share temperature, top-k, top-p and `topk_sample_logprobs` and ask
            nothing about their prompts.
        base: The base model.
        adapter: The adapter's tensors on the model's device; None samples the base model.
        spec: What the adapter is; None without one.

    Raises:
        UserFault: If the model's logits are not finite.
    """
    scorer = PromptScorer(requests[0]) if prompt_scores.wanted(requests[0]) else None
    with torch.inference_mode(), base.switch.attached(adapter, spec):
        prefix = _read_one(requests[0], base, scorer) if len(requests) == 1 else _read_padded(requests, base)
        prefix.repeat([request.num_samples for request in requests])
        rows = _decode(requests, base, prefix)
    scores = scorer.scores() if scorer is not None else None
    completions = iter([_completion(row) for row in rows])
    return [Drawn([next(completions) for _ in range(request.num_samples)], scores) for request in requests]


def _read_one(request: Sample, base: BaseModel, scorer: PromptScorer | None) -> _Prefix:
    """Read a prompt in pieces whose logits fit in memory."""
    prompt = torch.tensor([request.prompt.tokens()], device=base.device)
    cache = DynamicCache(config=base.network.config)
    width = max(1, MAX_LOGIT_VALUES // base.vocabulary_size)
    for start in range(0, prompt.shape[1], width):
        piece = prompt[:, start : start + width]
        all_logits = scorer is not None or piece.shape[1] * base.vocabulary_size <= SMALL_LOGIT_VALUES
        kept = {} if all_logits else {"logits_to_keep": 1}
        logits = base.network(input_ids=piece, past_key_values=cache, use_cache=True, **kept).logits.float()
        if scorer is not None:
            scorer.read(logits[0], start)
    return _Prefix(cache, logits[:, -1])


def _read_padded(requests: Sequence[Sample], base: BaseModel) -> _Prefix:
    """Read several prompts at once, padded on the left, so that each one's next token comes last."""
    prompts = [request.prompt.tokens() for request in requests]
    width = max(map(len, prompts))
    tokens = torch.tensor([[0] * (width - len(prompt)) + prompt for prompt in prompts], device=base.device)
    lengths = torch.tensor([len(prompt) for prompt in prompts], device=base.device)
    mask = (torch.arange(width, device=base.device) >= width - lengths[:, None]).long()
    positions = (mask.cumsum(dim=-1) - 1).clamp(min=0)
    cache = DynamicCache(config=base.network.config)
    logits = base.network(
        input_ids=tokens,
        attention_mask=mask,
        position_ids=positions,
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=1,
    ).logits.float()
    return _Prefix(cache, logits[:, -1], mask, positions[:, -1:])


def _decode(requests: Sequence[Sample], base: BaseModel, prefix: _Prefix) -> list[_Row]:
    """Extend all samples token by token; finished rows stay in the batch, so its shape never changes."""
    rows = [row for request in requests for row in _rows(request, base)]
    params, topk = requests[0].sampling_params, requests[0].topk_sample_logprobs
    logits = prefix.logits
    while True:
        if not bool(logits.isfinite().all()):
            raise UserFault("the model's logits are not finite: its weights have diverged")
        draws = np.array([row.stream.random() for row in rows])
        chosen = choose(logits, params, draws)
        _extend(rows, logits, chosen, topk, base)
        if all(row.ended for row in rows):
            return rows
        logits = _next_logits(base, prefix, chosen)


def _next_logits(base: BaseModel, prefix: _Prefix, chosen: torch.Tensor) -> torch.Tensor:
    padding = {}
    if prefix.mask is not None and prefix.positions is not None:
        prefix.mask = torch.cat([prefix.mask, prefix.mask.new_ones(len(chosen), 1)], dim=-1)
        # A finished row may stand at the end of the context while others go on; what it computes is dropped.
        prefix.positions = (prefix.positions + 1).clamp(max=base.context_length - 1)
        padding = {"attention_mask": prefix.mask, "position_ids": prefix.positions}
    output = base.network(input_ids=chosen[:, None], past_key_values=prefix.cache, use_cache=True, **padding)
    logits: torch.Tensor = output.logits[:, -1].float()
    return logits


def _rows(request: Sample, base: BaseModel) -> list[_Row]:
    params = request.sampling_params
    limit = params.max_tokens or base.context_length + 1 - len(request.prompt.tokens())
    stops = _stops(params, base.eos_ids)
    return [_Row(stream, stops, limit) for stream in sample_streams(params.seed, request.num_samples)]


def _extend(rows: Sequence[_Row], logits: torch.Tensor, chosen: torch.Tensor, topk: int, base: BaseModel) -> None:
    logprobs = torch.log_softmax(logits, dim=-1)
    picked = logprobs.gather(-1, chosen[:, None]).squeeze(-1).tolist()
    top = logprobs.topk(topk, dim=-1) if topk else None
    top_tokens, top_logprobs = (top.indices.cpu().numpy(), top.values.cpu().numpy()) if top is not None else ((), ())
    for index, (row, token) in enumerate(zip(rows, chosen.tolist(), strict=True)):
        if row.ended:
            continue
        row.tokens.append(token)
        row.logprobs.append(picked[index])
        if topk:
            row.topk_tokens.append(top_tokens[index])
            row.topk_logprobs.append(top_logprobs[index])
        row.stopped = _is_stopped(row, base)


def _is_stopped(row: _Row, base: BaseModel) -> bool:
    if row.tokens[-1] in row.stops.tokens:
        return True
    if not row.stops.strings:
        return False
    text = base.tokenizer.decode(row.tokens, skip_special_tokens=False)
    return any(stop in text for stop in row.stops.strings)


def _stops(params: SamplingParams, eos_ids: frozenset[int]) -> Stops:
    if params.stop is None:
        return Stops(eos_ids, ())
    given = [params.stop] if isinstance(params.stop, str) else params.stop
    if not given:
        return Stops(frozenset(), ())
    strings = tuple(stop for stop in given if isinstance(stop, str) and stop)
    return Stops(eos_ids | {stop for stop in given if isinstance(stop, int)}, strings)


def _completion(row: _Row) -> Completion:
    return Completion(
        tokens=row.tokens,
        logprobs=row.logprobs,
        stop_reason="stop" if row.stopped else "length",
        topk_tokens=np.stack(row.topk_tokens) if row.topk_tokens else None,
        topk_logprobs=np.stack(row.topk_logprobs) if row.topk_logprobs else None,
    )
