"""The candidates of a top-k divergence: the sampler's most probable tokens and the sampled one, at each loss token."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from analysis.errors import AuditError

if TYPE_CHECKING:
    import tinker


@dataclass(frozen=True)
class Candidates:
    """The candidates of n sampled tokens, as arrays of shape (n, 1 + k) with the sampled token in column 0.

    Attributes:
        token_ids: int32; a cell that is not listed holds some token id.
        sampler_logprobs: float32, log mu in nats at sampling.
        listed: False where the cell repeats the sampled token, which was among the k, or the service left it empty.
    """

    token_ids: NDArray[np.int32]
    sampler_logprobs: NDArray[np.float32]
    listed: NDArray[np.bool_]


def candidates_of(sequence: "tinker.SampledSequence", top_k: int, prompt_id: str) -> Candidates:
    """Return the candidates of a completion that was sampled with `topk_sample_logprobs=top_k`.

    Args:
        sequence: with a log-probability for each token.
        top_k: how many tokens were asked for at each position.
        prompt_id: for messages.

    Raises:
        AuditError: the service did not return them.

    Source: DPPO, arXiv:2602.04879v3, Eq. 15: the set is the k most probable tokens and the sampled one. The official
    code has k in all, since there the sampled token takes the last one's place.
    """
    from tinker.types.topk_logprobs import MASK_LOGPROB

    sampled = np.asarray(sequence.tokens, np.int32)[:, None]
    logprobs = np.asarray(sequence.logprobs, np.float32)[:, None]
    top = sequence.topk_logprobs_np
    if len(sampled) == 0:
        empty = np.zeros((0, 1 + top_k))
        return Candidates(empty.astype(np.int32), empty.astype(np.float32), empty.astype(np.bool_))
    wanted = (len(sampled), top_k)
    if top is None or top.token_ids.shape != wanted or top.logprobs.shape != wanted:
        raise AuditError(
            f"sampling {prompt_id}: the service did not return the {top_k} most probable tokens of each sampled one. "
            "Train with a binary divergence, or on a service that answers topk_sample_logprobs"
        )
    others = (top.token_ids != sampled) & (top.logprobs > MASK_LOGPROB)
    return Candidates(
        np.concatenate([sampled, top.token_ids.astype(np.int32)], axis=1),
        np.concatenate([logprobs, top.logprobs.astype(np.float32)], axis=1),
        np.concatenate([np.ones_like(sampled, np.bool_), others], axis=1),
    )


def candidate_inputs(candidates: Candidates, target_tokens: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """Return the inputs of a datum whose targets are candidates, as `analysis.losses.build_loss` reads them.

    Args:
        candidates: of the completion.
        target_tokens: shape (N,), of prompt and completion. A prompt position has its one target in every cell.
    """
    n_prompt, cells = len(target_tokens) - len(candidates.token_ids), candidates.token_ids.shape[1]
    before = np.zeros((n_prompt, cells), np.float32)
    only_target = before.copy()
    only_target[:, 0] = 1.0
    targets = np.repeat(target_tokens[:, None], cells, axis=1)
    targets[n_prompt:] = candidates.token_ids
    return {
        "target_tokens": targets,
        "candidate_logprobs": np.concatenate([before, candidates.sampler_logprobs]),
        "candidate_listed": np.concatenate([only_target, candidates.listed.astype(np.float32)]),
    }
