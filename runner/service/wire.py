"""Training requests, as the SDK packs them in protobuf."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
import numpy.typing as npt
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # it ships no types
from tinker.proto import tinker_public_pb2 as messages

from runner.service.faults import UserFault

PROTOBUF = "application/x-protobuf"
CUSTOM = "custom"
"""The loss_fn of a request that names an uploaded loss in its settings."""
HIDDEN_STATES = "hidden_states"
"""The setting that asks for the last layer's states, and the name under which they are answered."""
MAX_DENSE_VALUES = 1 << 26  # what a small sparse message may claim to expand to
Array = npt.NDArray[Any]

_NUMPY_OF: Mapping[int, np.dtype[Any]] = {
    messages.DTYPE_FLOAT32: np.dtype(np.float32),
    messages.DTYPE_INT64: np.dtype(np.int64),
}


@dataclass(frozen=True)
class Datum:
    """A sequence to train on: tokens int64 [N], and named inputs of shape [N] or [N, K]."""

    tokens: Array
    inputs: Mapping[str, Array]


@dataclass(frozen=True)
class ForwardBackward:
    """A forward pass, or a forward and backward pass, over data.

    Attributes:
        loss_id: an uploaded loss.
        hidden_states: whether the last layer's states are answered too. No other Tinker service has this setting,
            which stands among the loss's own.
    """

    model_id: str
    seq_id: int
    loss: str
    config: Mapping[str, float]
    forward_only: bool
    data: Sequence[Datum]
    fingerprint: bytes
    loss_id: str | None = None
    hidden_states: bool = False


def decode_forward_backward(body: bytes) -> ForwardBackward:
    """Read a training request.

    Raises:
        UserFault: If the body is not such a message, or a tensor does not fit its own shape.
    """
    message = messages.ForwardBackwardRequest()
    try:
        message.ParseFromString(body)
    except DecodeError as error:
        raise UserFault(f"forward_backward: the body is not a ForwardBackwardRequest: {error}") from error
    if message.seq_id < 1:
        raise UserFault("forward_backward: seq_id must be 1 or more")
    if not message.data:
        raise UserFault("forward_backward: no data")
    config, loss_id = _config(message)
    hidden_states = config.pop(HIDDEN_STATES, 0.0)
    if hidden_states not in (0.0, 1.0):
        raise UserFault(f"loss_fn_config: {HIDDEN_STATES} must be 0 or 1")
    return ForwardBackward(
        model_id=message.model_id,
        seq_id=message.seq_id,
        loss=message.loss_fn,
        config=config,
        forward_only=message.forward_only,
        data=[_datum(index, datum) for index, datum in enumerate(message.data)],
        # Map fields may be written in any order, so a repeated request is recognised by its canonical form.
        fingerprint=sha256(message.SerializeToString(deterministic=True)).digest(),
        loss_id=loss_id,
        hidden_states=bool(hidden_states),
    )


def _config(message: Any) -> tuple[dict[str, float], str | None]:
    """Return the loss settings, and the uploaded loss that they name.

    The newer map wins over the older copy, as the SDK writes both.
    """
    config = {name: float(value) for name, value in message.loss_fn_config.items()}
    loss_id = None
    for name, value in message.loss_fn_config_v2.items():
        if value.WhichOneof("value") != "text":
            config[name] = float(value.number)
        elif message.loss_fn == CUSTOM and name == "loss_id":
            loss_id = value.text
        else:
            raise UserFault(f"loss_fn_config: {name} must be a number, not {value.text!r}")
    if unreal := [name for name, value in config.items() if not np.isfinite(value)]:
        raise UserFault(f"loss_fn_config: {', '.join(unreal)} must be finite")
    return config, loss_id


def _datum(index: int, message: Any) -> Datum:
    pieces: list[Array] = []
    for chunk in message.model_input:
        if chunk.WhichOneof("chunk") != "encoded_text":
            raise UserFault(f"datum {index}: only encoded text is served, no images or audio")
        pieces.append(_from_bytes(f"datum {index}: tokens", chunk.encoded_text.tokens, np.dtype(np.int32)))
    tokens = np.concatenate(pieces).astype(np.int64) if pieces else np.empty(0, dtype=np.int64)
    inputs = {name: _tensor(f"datum {index}: {name}", tensor) for name, tensor in message.loss_fn_inputs.items()}
    return Datum(tokens, inputs)


def _tensor(where: str, message: Any) -> Array:
    dtype = _NUMPY_OF.get(message.dtype)
    if dtype is None:
        raise UserFault(f"{where}: the type must be float32 or int64")
    shape = tuple(message.shape)
    if message.HasField("sparse_csr"):
        return _dense_of_csr(where, message.sparse_csr, dtype, shape)
    values = _from_bytes(where, message.dense, dtype)
    if not shape:
        return values
    if math.prod(shape) != values.size:
        raise UserFault(f"{where}: {values.size} values do not fill the shape {list(shape)}")
    return values.reshape(shape)


def _dense_of_csr(where: str, message: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    """Expand compressed rows; what is not listed is 0."""
    values = _from_bytes(where, message.values, dtype)
    rows = _from_bytes(where, message.crow_indices, np.dtype(np.int64))
    columns = _from_bytes(where, message.col_indices, np.dtype(np.int64))
    fits = (
        len(shape) == 2
        and math.prod(shape) <= MAX_DENSE_VALUES
        and rows.size == shape[0] + 1
        and values.size == columns.size
        and int(rows[0]) == 0
        and int(rows[-1]) == values.size
        and bool((np.diff(rows) >= 0).all())
        and bool(((columns >= 0) & (columns < shape[1])).all())
    )
    if not fits:
        raise UserFault(f"{where}: the sparse indices do not fit the shape {list(shape)}")
    dense = np.zeros(shape, dtype=dtype)
    dense[np.repeat(np.arange(shape[0]), np.diff(rows)), columns] = values
    return dense


def _from_bytes(where: str, data: bytes, dtype: np.dtype[Any]) -> Array:
    if len(data) % dtype.itemsize:
        raise UserFault(f"{where}: {len(data)} bytes are no whole number of {dtype.name} values")
    return np.frombuffer(data, dtype=dtype)
