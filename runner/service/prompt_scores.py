"""What a request may ask about its prompt: log-probabilities of its tokens, of the best, of named and of drawn ones.

All are the model's own, at temperature 1. Position 0 has nothing before it and is never scored.
"""

from dataclasses import dataclass

import numpy as np
import torch  # noqa: TID253 (imported by the service process alone)

from runner.service.drawing import alternatives_stream, choose
from runner.service.faults import UserFault
from runner.service.requests import Sample, SamplingParams, TargetTokens
from runner.service.wire import Array

NOT_SCORED = -99999.0
"""The SDK's mark of an empty cell among top-k log-probabilities; its token id is 0."""

MAX_CELLS = 1 << 24
"""Prompt tokens x candidates a position."""


@dataclass(frozen=True)
class PromptScores:
    """Answers about a prompt of n tokens; None where a request did not ask.

    Attributes:
        logprobs: float32 [n], NaN where not scored.
        topk_tokens: int32 [n, k], best first.
        topk_logprobs: float32 [n, k].
        target_logprobs: float32, one for each cell that the request sent, in its order; 0 for an empty cell.
        alternative_tokens: int64 [n - 1, k], drawn at the request's temperature.
        alternative_logprobs: float32 [n - 1, k].
    """

    logprobs: Array | None = None
    topk_tokens: Array | None = None
    topk_logprobs: Array | None = None
    target_logprobs: Array | None = None
    alternative_tokens: Array | None = None
    alternative_logprobs: Array | None = None


def wanted(request: Sample) -> bool:
    """Say whether a request asks for anything about its prompt."""
    return bool(
        request.prompt_logprobs
        or request.topk_prompt_logprobs
        or request.prompt_alt_tokens_k
        or request.target_prompt_logprobs is not None
    )


def check(request: Sample, length: int, vocabulary_size: int) -> None:
    """Check what a request asks about its prompt of `length` tokens.

    Raises:
        UserFault: If a width, a range or a shape does not fit the prompt or the vocabulary.
    """
    last_n = request.prompt_logprobs_last_n
    if last_n is not None and not (request.prompt_logprobs and last_n < length):
        raise UserFault("prompt_logprobs_last_n needs prompt_logprobs, and a prompt longer than that")
    if request.topk_prompt_logprobs > vocabulary_size:
        raise UserFault(f"topk_prompt_logprobs is more than the vocabulary of {vocabulary_size}")
    if max(request.topk_prompt_logprobs, request.prompt_alt_tokens_k) * length > MAX_CELLS:
        raise UserFault(f"topk_prompt_logprobs, prompt_alt_tokens_k: more than {MAX_CELLS} cells for this prompt")
    if request.prompt_alt_tokens_k and length < 2:
        raise UserFault("prompt_alt_tokens_k: a prompt of one token has no position to draw for")
    if request.target_prompt_logprobs is not None:
        _check_targets(request.target_prompt_logprobs, length - 1, vocabulary_size)


def _check_targets(targets: TargetTokens, rows: int, vocabulary_size: int) -> None:
    if targets.shape[0] != rows:
        raise UserFault(f"target_prompt_logprobs has {targets.shape[0]} rows; this prompt needs {rows}")
    ids = np.asarray(targets.data, dtype=np.int64)
    if not (ids >= 0).any() or ids.min() < -1 or ids.max() >= vocabulary_size:
        raise UserFault(
            f"target_prompt_logprobs: ids from 0 to {vocabulary_size - 1}, -1 for an empty cell, and at least one id"
        )


class PromptScorer:
    """Gathers the answers while the prompt is read, a piece at a time."""

    def __init__(self, request: Sample) -> None:
        self._request = request
        self._prompt = request.prompt.tokens()
        length, top = len(self._prompt), request.topk_prompt_logprobs
        self._logprobs = np.full(length, np.nan, dtype=np.float32)
        self._topk_tokens = np.zeros((length, top), dtype=np.int32)
        self._topk_logprobs = np.full((length, top), NOT_SCORED, dtype=np.float32)
        targets = request.target_prompt_logprobs
        self._target_rows = targets.cell_rows() if targets is not None else np.empty(0, dtype=np.int64)
        self._target_ids = np.asarray(targets.data if targets is not None else [], dtype=np.int64)
        self._target_logprobs = np.zeros(self._target_ids.shape, dtype=np.float32)
        self._alternatives = np.zeros((2, length - 1, request.prompt_alt_tokens_k))
        self._stream = alternatives_stream(request.sampling_params.seed)

    def read(self, logits: torch.Tensor, start: int) -> None:
        """Take the logits after the prompt's tokens from `start` on, of shape [tokens, vocabulary]."""
        end = min(start + len(logits), len(self._prompt) - 1)  # what follows the last token is not the prompt
        if end <= start:
            return
        logits = logits[: end - start]
        logprobs = torch.log_softmax(logits, dim=-1)
        following = torch.tensor(self._prompt[start + 1 : end + 1], device=logits.device)
        self._logprobs[start + 1 : end + 1] = logprobs.gather(-1, following[:, None]).squeeze(-1).cpu().numpy()
        if width := self._request.topk_prompt_logprobs:
            top = logprobs.topk(width, dim=-1)
            self._topk_tokens[start + 1 : end + 1] = top.indices.cpu().numpy()
            self._topk_logprobs[start + 1 : end + 1] = top.values.cpu().numpy()
        cells = np.flatnonzero((self._target_rows >= start) & (self._target_rows < end) & (self._target_ids >= 0))
        rows, ids = torch.from_numpy(self._target_rows[cells] - start), torch.from_numpy(self._target_ids[cells])
        self._target_logprobs[cells] = logprobs[rows.to(logits.device), ids.to(logits.device)].cpu().numpy()
        if self._request.prompt_alt_tokens_k:
            self._draw(logits, logprobs, start)

    def _draw(self, logits: torch.Tensor, logprobs: torch.Tensor, start: int) -> None:
        params = SamplingParams(temperature=self._request.sampling_params.temperature)
        draws = self._stream.random((len(logits), self._request.prompt_alt_tokens_k))
        for column in range(draws.shape[1]):
            chosen = choose(logits, params, draws[:, column])
            scored = logprobs.gather(-1, chosen[:, None]).squeeze(-1)
            self._alternatives[0, start : start + len(logits), column] = chosen.cpu().numpy()
            self._alternatives[1, start : start + len(logits), column] = scored.cpu().numpy()

    def scores(self) -> PromptScores:
        """Return what was asked for."""
        request = self._request
        if request.prompt_logprobs_last_n is not None:
            hidden = len(self._prompt) - request.prompt_logprobs_last_n
            self._logprobs[:hidden] = np.nan
            self._topk_tokens[:hidden], self._topk_logprobs[:hidden] = 0, NOT_SCORED
        top, drawn = request.topk_prompt_logprobs > 0, request.prompt_alt_tokens_k > 0
        return PromptScores(
            logprobs=self._logprobs if request.prompt_logprobs else None,
            topk_tokens=self._topk_tokens if top else None,
            topk_logprobs=self._topk_logprobs if top else None,
            target_logprobs=self._target_logprobs if request.target_prompt_logprobs is not None else None,
            alternative_tokens=self._alternatives[0].astype(np.int64) if drawn else None,
            alternative_logprobs=self._alternatives[1].astype(np.float32) if drawn else None,
        )
