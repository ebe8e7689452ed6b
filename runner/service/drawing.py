"""Drawing tokens: from logits and numbers in [0, 1) to token ids, and where those numbers come from."""

import os

import numpy as np
import torch  # noqa: TID253 (imported by the service process alone)

from runner.service.requests import SamplingParams
from runner.service.wire import Array


def choose(logits: torch.Tensor, params: SamplingParams, draws: Array) -> torch.Tensor:
    """Choose one token a row by inverting the cumulative distribution at the row's draw.

    Args:
        logits: Shape [rows, vocabulary].
        params: Temperature, top-k and top-p; top-k is applied first, then top-p to what is left.
        draws: One number in [0, 1) a row.

    Returns:
        Token ids of shape [rows], on the device of the logits.
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
    points = torch.from_numpy(draws).to(logits.device)[:, None] * total
    points = torch.minimum(points, torch.nextafter(total, torch.zeros_like(total)))
    return torch.searchsorted(cumulative, points, right=True).squeeze(-1)


def sample_streams(seed: int | None, count: int) -> list[np.random.Generator]:
    """Return one stream of numbers for each sample; stream s depends on the seed and s alone."""
    root = _root(seed)
    return [np.random.default_rng(np.random.SeedSequence((root, sample))) for sample in range(count)]


def alternatives_stream(seed: int | None) -> np.random.Generator:
    """Return the stream for alternatives to the prompt's tokens, apart from every sample's."""
    return np.random.default_rng(np.random.SeedSequence((_root(seed), 0, 1)))


def _root(seed: int | None) -> int:
    return int.from_bytes(os.urandom(16)) if seed is None else seed % 2**64  # a seed may be negative


def _truncated(probabilities: torch.Tensor, top_k: int, top_p: float) -> torch.Tensor:
    """Zero what top-k and top-p leave out; the smallest set that reaches top_p is kept, ties by token id."""
    ordered, order = probabilities.sort(dim=-1, descending=True, stable=True)
    if top_k != -1:
        ordered[:, top_k:] = 0
    before = ordered.cumsum(dim=-1) - ordered
    ordered[before >= top_p * ordered.sum(dim=-1, keepdim=True)] = 0
    return torch.zeros_like(probabilities).scatter(-1, order, ordered)
