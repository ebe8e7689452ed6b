"""Lays out a sampled completion for the service: one place that knows where a completion stands among the targets."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from runner.loop.sampling import Sample

if TYPE_CHECKING:
    import tinker


def completion_columns(sample: Sample, of_tokens: Mapping[str, ArrayLike]) -> dict[str, NDArray[Any]]:
    """Return the inputs of a datum: the targets, and each column at the completion's tokens with 0 before them.

    Position i predicts token i+1, so the completion is the last positions of the targets.

    Args:
        sample: a prompt and what was sampled.
        of_tokens: by name, one number a sampled token, or one number for all of them.
    """
    sequence, length = _sequence(sample), len(sample.token_ids)
    before = np.zeros(len(sequence) - length - 1, np.float32)
    columns: dict[str, NDArray[Any]] = {"target_tokens": np.asarray(sequence[1:], np.int64)}
    for name, values in of_tokens.items():
        columns[name] = np.concatenate([before, np.broadcast_to(np.asarray(values, np.float32), (length,))])
    return columns


def completion_datum(sample: Sample, columns: Mapping[str, NDArray[Any]]) -> "tinker.Datum":
    """Return the datum of a prompt and its completion.

    Args:
        sample: a prompt and what was sampled.
        columns: see `completion_columns`.
    """
    import tinker

    return tinker.Datum(
        model_input=tinker.ModelInput.from_ints(_sequence(sample)[:-1]),
        loss_fn_inputs={name: tinker.TensorData.from_numpy(array) for name, array in columns.items()},
    )


def _sequence(sample: Sample) -> list[int]:
    return [*sample.prompt.token_ids, *sample.token_ids.tolist()]
