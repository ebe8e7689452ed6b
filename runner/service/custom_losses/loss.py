"""An uploaded loss: what a datum must bring, its value on one datum, and how metrics combine over data."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch  # noqa: TID253 (imported by the service process alone)

from runner.service.custom_losses.graph import Call, Graph, Ref, check_inputs, read_graph, substituted
from runner.service.custom_losses.operations import checked_result
from runner.service.faults import UserFault
from runner.service.requests import CreateCustomLoss, CustomLossInput
from runner.service.wire import Array, Datum

MAX_VALUES = 1 << 25
"""Elements that all calls together may work on for one datum: it bounds the memory and the time."""


class CustomLoss:
    """A loss of one datum's log-probabilities and inputs; a batch's loss is the sum over its data.

    It is given the log-probabilities as float32 and the inputs as they were sent, on the CPU wherever the model is,
    which is what the SDK does with a loss that it runs itself: both have the same numbers.
    """

    def __init__(self, name: str, inputs: Sequence[CustomLossInput], graph: Graph) -> None:
        self.name = name
        self.ranks = (inputs[0].rank,)
        self._inputs = tuple(inputs[1:])
        self._graph = graph

    def check(self, inputs: Mapping[str, Array]) -> None:
        """Check that a datum has what the loss reads, at its declared rank. What it does not read is ignored.

        Raises:
            UserFault: If something is missing or has another rank.
        """
        for each in self._inputs:
            if each.name not in inputs:
                raise UserFault(f"missing {each.name}")
            if not _fits(inputs[each.name], each.rank):
                raise UserFault(f"{each.name} has rank {inputs[each.name].ndim}, the loss declared rank {each.rank}")

    def evaluate(self, logprobs: torch.Tensor, inputs: Mapping[str, Array]) -> tuple[torch.Tensor, dict[str, float]]:
        """Return the loss, a scalar, and the metrics of one datum.

        Args:
            logprobs: log pi of each target, float32 [T] or [T, K].
            inputs: what the datum brought; see `check`.

        Raises:
            UserFault: If a call fails, needs too much memory, or the loss or a metric is no scalar.
        """
        given = [torch.tensor(inputs[each.name]).reshape(_shape(inputs[each.name], each.rank)) for each in self._inputs]
        held: dict[str, Any] = dict(zip(self._graph.inputs, [logprobs, *given], strict=True))
        left = MAX_VALUES
        for call in self._graph.calls:
            try:
                held[call.name], left = _run(call, held, left)
            except UserFault as fault:
                raise UserFault(f"node {call.name!r} ({call.target}) {fault.message}") from fault
        loss = held[self._graph.loss.name]
        if not isinstance(loss, torch.Tensor) or loss.ndim or not loss.is_floating_point():
            shape = f"shape {list(loss.shape)}, {loss.dtype}" if isinstance(loss, torch.Tensor) else type(loss).__name__
            raise UserFault(f"the loss must be a scalar tensor of floating point, not {shape}")
        return loss, {key: _scalar(key, held[metric.name]) for key, metric in self._graph.metrics.items()}


def read_custom_loss(request: CreateCustomLoss) -> CustomLoss:
    """Return the loss that a client uploads.

    Raises:
        UserFault: If its inputs or its graph are not allowed.
    """
    try:
        check_inputs(request.inputs)
        graph = read_graph(request.graph.nodes, request.inputs)
    except UserFault as fault:
        raise UserFault(f"create_custom_loss {request.name!r}: {fault.message}") from fault
    return CustomLoss(request.name, request.inputs, graph)


def of_batch(
    loss: CustomLoss, logprobs: Sequence[torch.Tensor], data: Sequence[Datum], first: int
) -> tuple[torch.Tensor, float, list[dict[str, float]]]:
    """Return what to differentiate for a batch, the sum of its losses, and each datum's metrics.

    The loss is differentiated for each datum apart, so that memory holds one datum's results. What is returned for the
    network is the sum of log-probabilities times those derivatives, which has the same gradient.

    Args:
        loss: the loss.
        logprobs: log pi of each datum's targets, with their graph where a gradient is wanted.
        data: what the client sent, in the same order.
        first: the place of the first datum in its request, for messages.

    Raises:
        UserFault: If the loss fails on a datum, or has no gradient.
    """
    total, metrics = 0.0, []
    differentiated = torch.zeros(())
    for index, (row, datum) in enumerate(zip(logprobs, data, strict=True)):
        leaf = row.detach().cpu().requires_grad_(torch.is_grad_enabled())
        try:
            value, found = loss.evaluate(leaf, datum.inputs)
            if torch.is_grad_enabled():
                differentiated = differentiated.to(row.device) + (_gradient(value, leaf).to(row.device) * row).sum()
        except UserFault as fault:
            raise UserFault(f"custom loss {loss.name!r}, datum {first + index}: {fault.message}") from fault
        total += value.item()
        metrics.append(found)
    return differentiated, total, metrics


def combined(metrics: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the metrics of data, each summed or averaged over the data as the end of its name says."""
    if not metrics:
        return {}
    totals = {key: float(np.sum([each[key] for each in metrics])) for key in metrics[0]}
    return {key: total / len(metrics) if key.endswith(":mean") else total for key, total in totals.items()}


def _run(call: Call, held: Mapping[str, Any], left: int) -> tuple[Any, int]:
    """Return a call's result, and how many elements later results may have."""

    def result_of(ref: Ref) -> Any:
        return held[ref.name]

    args = substituted(call.args, result_of)
    kwargs = substituted(call.kwargs, result_of)
    try:
        cost = call.operation.bound(*args, **kwargs)
        if cost <= left:
            result = call.operation.call(*args, **kwargs)
            cost = max(cost, checked_result(result))
    except UserFault:
        raise
    except Exception as error:
        # Whatever a listed operation says about the arguments that a client chose is for the client to mend.
        raise UserFault(f"failed: {type(error).__name__}: {str(error)[:300]}") from error
    if cost > left:
        raise UserFault(f"goes beyond the {MAX_VALUES} elements that a loss may work on for one datum")
    return result, left - cost


def _gradient(value: torch.Tensor, leaf: torch.Tensor) -> torch.Tensor:
    try:
        (gradient,) = torch.autograd.grad(value, leaf)
    except RuntimeError as error:
        # Detached, not made of logprobs at all, or made by an operation that has no derivative.
        raise UserFault(f"the loss has no gradient for logprobs: {str(error)[:300]}") from error
    return gradient


def _fits(values: Array, rank: int) -> bool:
    # A tensor without a shape comes as a row of its values: a scalar is a row of one.
    return values.ndim == rank or (rank == 0 and values.shape == (1,))


def _shape(values: Array, rank: int) -> tuple[int, ...]:
    return () if rank == 0 else values.shape


def _scalar(key: str, value: Any) -> float:
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        return float(value.detach())
    if isinstance(value, int | float):
        return float(value)
    raise UserFault(f"metric {key!r} must be a scalar")
