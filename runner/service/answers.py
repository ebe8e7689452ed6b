"""The two results that the SDK wants packed in protobuf: of training requests and of sampling requests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tinker.proto import tinker_public_pb2 as messages

from runner.service.prompt_scores import PromptScores
from runner.service.requests import TargetTokens
from runner.service.wire import HIDDEN_STATES, Array

_STOP_REASONS = {"stop": messages.STOP_REASON_STOP, "length": messages.STOP_REASON_LENGTH}


@dataclass(frozen=True)
class Completion:
    """A sampled sequence: tokens and their log-probabilities, both of length n; top-k arrays are [n, k]."""

    tokens: Sequence[int]
    logprobs: Sequence[float]
    stop_reason: str
    topk_tokens: Array | None = None
    topk_logprobs: Array | None = None


def encode_forward_backward(
    logprobs: Sequence[Array], metrics: Mapping[str, float], hidden_states: Sequence[Array] | None = None
) -> bytes:
    """Pack what a training request answers.

    Args:
        logprobs: of each target, float32 [N] or [N, K] a datum.
        metrics: such as `loss:sum`.
        hidden_states: of each input token, float32 [N, D] a datum, where they were asked for.
    """
    output = messages.ForwardBackwardOutput(loss_fn_output_type="ArrayRecord", metrics=dict(metrics))
    start = 0
    while start < len(logprobs):
        trailing = logprobs[start].shape[1:]
        end = start
        while end < len(logprobs) and logprobs[end].shape[1:] == trailing:  # a record is rectangular
            end += 1
        record = output.loss_fn_outputs.add(type_tag="ArrayRecord", num_datums=end - start)
        _fill(record.fields["logprobs"], logprobs[start:end])
        if hidden_states is not None:
            _fill(record.fields[HIDDEN_STATES], hidden_states[start:end])
        start = end
    return bytes(output.SerializeToString())


def _fill(field: Any, arrays: Sequence[Array]) -> None:
    packed = [np.ascontiguousarray(array, dtype=np.float32) for array in arrays]
    field.data = b"".join(array.tobytes() for array in packed)
    field.offsets = np.cumsum([0, *(array.nbytes for array in packed)], dtype=np.int64).tobytes()
    field.dtype = messages.DTYPE_FLOAT32
    field.trailing_shape.extend(packed[0].shape[1:])


def encode_samples(
    completions: Sequence[Completion], scores: PromptScores | None, targets: TargetTokens | None = None
) -> bytes:
    """Pack completions, and what was asked about the prompt; `targets` gives the layout of the named tokens."""
    response = messages.SampleResponse()
    for completion in completions:
        sequence = response.sequences.add(
            stop_reason=_STOP_REASONS[completion.stop_reason],
            tokens=np.asarray(completion.tokens, dtype=np.int32).tobytes(),
            logprobs=np.asarray(completion.logprobs, dtype=np.float32).tobytes(),
        )
        if completion.topk_tokens is not None and completion.topk_logprobs is not None:
            _fill_topk(sequence.topk_sampled_logprobs, completion.topk_tokens, completion.topk_logprobs)
    if scores is not None:
        _fill_scores(response, scores, targets)
    return bytes(response.SerializeToString())


def _fill_topk(message: Any, tokens: Array, logprobs: Array) -> None:
    message.token_ids = tokens.astype(np.int32).tobytes()
    message.logprobs = logprobs.astype(np.float32).tobytes()
    message.length, message.k = tokens.shape


def _fill_scores(response: Any, scores: PromptScores, targets: TargetTokens | None) -> None:
    if scores.logprobs is not None:
        response.prompt_logprobs = scores.logprobs.tobytes()
    if scores.topk_tokens is not None and scores.topk_logprobs is not None:
        _fill_topk(response.topk_prompt_logprobs, scores.topk_tokens, scores.topk_logprobs)
    if scores.target_logprobs is not None and targets is not None:
        message = response.target_prompt_logprobs
        message.dtype, message.shape[:] = messages.DTYPE_FLOAT32, targets.shape
        if targets.sparse_crow_indices is None:
            message.dense = scores.target_logprobs.tobytes()
        else:
            message.sparse_csr.values = scores.target_logprobs.tobytes()
            message.sparse_csr.crow_indices = np.asarray(targets.sparse_crow_indices, dtype=np.int64).tobytes()
            message.sparse_csr.col_indices = np.asarray(targets.sparse_col_indices, dtype=np.int64).tobytes()
    if scores.alternative_tokens is not None and scores.alternative_logprobs is not None:
        drawn = response.prompt_alt_tokens
        for part, values in ((drawn.tokens, scores.alternative_tokens), (drawn.logprobs, scores.alternative_logprobs)):
            part.dense, part.shape[:] = values.tobytes(), values.shape
            part.dtype = messages.DTYPE_INT64 if values.dtype == np.int64 else messages.DTYPE_FLOAT32
