"""From the graph on the wire to a list of calls, with everything checked that can be without data."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch  # noqa: TID253 (imported by the service process alone)

from runner.service.custom_losses.operations import (
    DTYPES,
    FUNCTIONS,
    MAX_INTEGER,
    METHODS,
    REFUSED_ARGUMENTS,
    TEXTS,
    Operation,
)
from runner.service.faults import UserFault
from runner.service.requests import CustomLossInput, CustomLossNode

_METRIC_KEY = re.compile(r"custom/[a-z0-9_./-]{1,64}:(sum|mean)")
_INPUT_NAME = re.compile(r"[a-z_][a-z0-9_]{0,63}")
MAX_INPUTS = 16
MAX_NODES = 1000


@dataclass(frozen=True)
class Ref:
    """The result of an earlier call, or an input."""

    name: str


@dataclass(frozen=True)
class Call:
    """One operation: its result's name, its name for the reader, and its arguments, with a `Ref` for each result."""

    name: str
    target: str
    operation: Operation
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


@dataclass(frozen=True)
class Graph:
    """A checked graph: the names of its inputs in order, its calls, and what it returns."""

    inputs: tuple[str, ...]
    calls: tuple[Call, ...]
    loss: Ref
    metrics: Mapping[str, Ref]


def check_inputs(inputs: Sequence[CustomLossInput]) -> None:
    """Check the declared inputs of a loss.

    Raises:
        UserFault: If `logprobs` does not come first with rank 1 or 2, or a name is wrong, given twice or one too many.
    """
    names = [each.name for each in inputs]
    if not names or names[0] != "logprobs" or inputs[0].rank == 0:
        raise UserFault("inputs: the first must be logprobs, of rank 1 or 2")
    if len(names) > MAX_INPUTS or len(set(names)) < len(names):
        raise UserFault(f"inputs: at most {MAX_INPUTS}, each once; there are {len(names)}")
    if wrong := [name for name in names if not _INPUT_NAME.fullmatch(name)]:
        raise UserFault(f"inputs: {wrong[0]!r} must be lowercase letters, digits and underscores")


def read_graph(nodes: Sequence[CustomLossNode], inputs: Sequence[CustomLossInput]) -> Graph:
    """Check a graph's nodes, in execution order, and return its calls.

    Raises:
        UserFault: If a node is not allowed, stands in the wrong place, or refers to what does not come before it; the
            message names the node, what it wants and what is allowed.
    """
    if len(nodes) > MAX_NODES:
        raise UserFault(f"the graph has {len(nodes)} nodes; at most {MAX_NODES} are served")
    known: set[str] = set()
    placeholders: dict[str, str] = {}
    calls: list[Call] = []
    returned: Any = None
    for position, node in enumerate(nodes):
        if node.name in known:
            raise UserFault(f"node {node.name!r}: the name is given twice")
        match node.op:
            case "placeholder":
                placeholders[node.name] = node.target
            case "call_function":
                calls.append(_call(node, FUNCTIONS, "function", known))
            case "call_method":
                calls.append(_call(node, METHODS, "method", known))
            case "output" if position == len(nodes) - 1 and len(node.args) == 1:
                returned = _decoded(node, node.args[0], known)
            case "output":
                raise UserFault(f"node {node.name!r}: the output must be the last node, with one argument")
            case _:
                raise UserFault(
                    f"node {node.name!r}: {node.op} {node.target!r} is not served: a loss reads its inputs alone and "
                    "calls functions and tensor methods"
                )
        known.add(node.name)
    wanted = [each.name for each in inputs]
    if list(placeholders.values()) != wanted:
        raise UserFault(f"the graph takes {list(placeholders.values())}, but its declared inputs are {wanted}")
    if not nodes or nodes[-1].op != "output":
        raise UserFault("the graph has no output: the last node must return (loss, metrics)")
    loss, metrics = _returned(returned)
    return Graph(tuple(placeholders), tuple(calls), loss, metrics)


def substituted(value: Any, replace: Callable[[Ref], Any]) -> Any:
    """Return an argument with each `Ref` replaced."""
    if isinstance(value, Ref):
        return replace(value)
    if isinstance(value, list):
        return [substituted(part, replace) for part in value]
    if isinstance(value, tuple):
        return tuple(substituted(part, replace) for part in value)
    if isinstance(value, dict):
        return {key: substituted(part, replace) for key, part in value.items()}
    if isinstance(value, slice):
        return slice(*(substituted(part, replace) for part in (value.start, value.stop, value.step)))
    return value


def _call(node: CustomLossNode, allowed: Mapping[str, Operation], kind: str, known: set[str]) -> Call:
    if node.target not in allowed:
        raise UserFault(f"node {node.name!r}: {kind} {node.target!r} is not served; allowed: {', '.join(allowed)}")
    if refused := sorted(
        key for key in REFUSED_ARGUMENTS & node.kwargs.keys() if node.kwargs[key] not in (None, False)
    ):
        raise UserFault(f"node {node.name!r}: {node.target} with {refused[0]} is not served")
    return Call(
        node.name,
        node.target,
        allowed[node.target],
        tuple(_decoded(node, arg, known) for arg in node.args),
        {key: _decoded(node, arg, known) for key, arg in node.kwargs.items()},
    )


def _decoded(node: CustomLossNode, value: Any, known: set[str]) -> Any:
    """Return an encoded argument: JSON for itself, and an object of one key for anything else."""
    if value is None or isinstance(value, bool) or (isinstance(value, str) and value in TEXTS):
        return value
    if isinstance(value, int | float):
        if abs(value) < MAX_INTEGER or (isinstance(value, float) and math.isfinite(value)):
            return value
        raise UserFault(f"node {node.name!r}: the number {str(value)[:30]} is not finite or too large")
    if isinstance(value, list):
        return [_decoded(node, part, known) for part in value]
    if isinstance(value, dict) and len(value) == 1:
        ((kind, content),) = value.items()
        match kind, content:
            case "ref", str() if content in known:
                return Ref(content)
            case "ref", _:
                raise UserFault(f"node {node.name!r} refers to {content!r}, which does not come before it")
            case "tuple", list():
                return tuple(_decoded(node, part, known) for part in content)
            case "dict", dict():
                return {key: _decoded(node, part, known) for key, part in content.items()}
            case "slice", [start, stop, step]:
                return slice(*(_decoded(node, part, known) for part in (start, stop, step)))
            case "ellipsis", True:
                return ...
            case "float", "inf" | "-inf" | "nan":
                return float(content)
            case "dtype", str() if content in DTYPES:
                return DTYPES[content]
            case "device", "cpu":
                return torch.device("cpu")
    raise UserFault(
        f"node {node.name!r}: the argument {str(value)[:80]} is not served; allowed: numbers, true, false, null, list, "
        "ref, tuple, dict, slice, ellipsis, float inf, -inf or nan, device cpu, dtype "
        f"{', '.join(DTYPES)}, and the texts {', '.join(sorted(TEXTS))}"
    )


def _returned(value: Any) -> tuple[Ref, Mapping[str, Ref]]:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise UserFault("the output must be (loss, metrics)")
    loss, metrics = value
    if not isinstance(loss, Ref):
        raise UserFault("the output's loss must be the result of a node")
    if not isinstance(metrics, dict):
        raise UserFault("the output's metrics must be a dict")
    for key, metric in metrics.items():
        if not _METRIC_KEY.fullmatch(key) or not isinstance(metric, Ref):
            raise UserFault(
                f"metric {key[:100]!r} must be named custom/<name>:sum or :mean and be the result of a node"
            )
    return loss, metrics
