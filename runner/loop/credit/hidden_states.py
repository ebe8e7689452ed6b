"""The policy's own states, from one forward pass over the batch that was sampled: what a critic reads."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from analysis.errors import AuditError
from runner.loop.backend import Backend
from runner.loop.completion_data import completion_columns, completion_datum
from runner.loop.policy import Policy
from runner.loop.sampling import Sample

_SETTING = "hidden_states"
_LACKING = (
    "this service does not answer the policy's hidden states, which a critic reads, so an arm with a critic cannot run "
    "here. The embedded service and `audit serve` do; with another service, plan arms without a critic"
)


def hidden_states(backend: Backend, policy: Policy, samples: Sequence[Sample]) -> list[NDArray[np.float32]]:
    """Return the last layer's state before each sampled token, one array of shape (tokens, hidden size) a sample.

    The state before token t is that of the position which predicts it: prompt and earlier tokens, nothing of t.

    Args:
        backend: the service.
        policy: whose states.
        samples: completions; an empty one has no state.

    Raises:
        AuditError: the service has no such answer, or failed.
    """
    filled = [sample for sample in samples if len(sample.token_ids)]
    doing = "asking for the hidden states of the batch"
    if not filled:
        return [np.zeros((0, 0), np.float32) for _ in samples]
    data = [completion_datum(sample, completion_columns(sample, {})) for sample in filled]
    try:
        pending = backend.submit(doing, lambda: policy.client.forward(data, "cross_entropy", {_SETTING: 1.0}))
        outputs = backend.wait(doing, pending).loss_fn_outputs
    except AuditError as error:
        if _SETTING in error.message:
            raise AuditError(_LACKING) from error
        raise
    if any(_SETTING not in output for output in outputs):
        raise AuditError(_LACKING)
    found = iter(
        output[_SETTING].to_numpy().astype(np.float32)[-len(sample.token_ids) :]
        for output, sample in zip(outputs, filled, strict=True)
    )
    return [next(found) if len(sample.token_ids) else np.zeros((0, 0), np.float32) for sample in samples]
