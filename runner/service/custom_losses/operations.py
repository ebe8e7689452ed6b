"""What an uploaded loss may do: pure operations on tensors and numbers, and how large each result may become.

The names are those under which `torch.fx` records what a traced loss calls. None of them reaches a module, a file or
a random number, and none changes its argument. Each has a bound on the size of its result that is known before it
runs, so that what would not fit is refused and never allocated.
"""

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch  # noqa: TID253 (imported by the service process alone)

from runner.service.faults import UserFault

MAX_INTEGER = 2**63
MAX_INTEGER_EXPONENT = 64


@dataclass(frozen=True)
class Operation:
    """A function on tensors and numbers.

    Attributes:
        call: runs it.
        bound: from the same arguments to a number of elements that the result does not exceed.
    """

    call: Callable[..., Any]
    bound: Callable[..., int]


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors in a value: itself, or what a list, tuple, dict or slice holds."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from tensors_in(part)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))
    elif isinstance(value, slice):
        yield from tensors_in([value.start, value.stop, value.step])


def _broadcast(*args: Any, **kwargs: Any) -> int:
    """Bound an operation that combines its tensors element by element, or makes one of them smaller."""
    tensors = list(tensors_in([args, kwargs]))
    try:
        return math.prod(np.broadcast_shapes(*(tuple(tensor.shape) for tensor in tensors)))
    except ValueError:
        # Then it takes one of them as it is (gather), or torch itself refuses the shapes.
        return max(tensor.numel() for tensor in tensors)


def _joined(*args: Any, **kwargs: Any) -> int:
    return sum(tensor.numel() for tensor in tensors_in([args, kwargs]))


def _counted(start: Any, end: Any = None, step: Any = 1, **_settings: Any) -> int:
    first, last = (0, start) if end is None else (start, end)
    return max(0, math.ceil((_number(last) - _number(first)) / _number(step)))


def _picked(value: Any, index: Any) -> int:
    """Bound `value[index]`: an index tensor stands alone, so that it replaces the first dimension."""
    if not isinstance(value, torch.Tensor):
        return 0
    if isinstance(index, torch.Tensor) and index.dtype != torch.bool:
        return index.numel() * (value.numel() // max(1, value.shape[0])) if value.ndim else value.numel()
    if not isinstance(index, torch.Tensor) and any(True for _ in tensors_in(index)):
        raise UserFault("an index tensor must be the whole index: take other positions with torch.gather")
    return value.numel()


def _small(*_args: Any) -> int:
    return 0


def _number(value: Any) -> float:
    if isinstance(value, torch.Tensor) or not isinstance(value, int | float):
        raise UserFault(f"takes numbers, not a {type(value).__name__}")
    return value


def _arithmetic(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a Python operator that takes tensors and bounded numbers alone: no text, no list, no endless power."""

    def call(*args: Any) -> Any:
        numbers = [_number(arg) for arg in args if not isinstance(arg, torch.Tensor)]
        integers = len(numbers) == len(args) and all(isinstance(number, int) for number in numbers)
        if function is operator.pow and integers and abs(numbers[1]) > MAX_INTEGER_EXPONENT:
            raise UserFault(f"the exponent of a whole number may be at most {MAX_INTEGER_EXPONENT}")
        return function(*args)

    return call


def _of_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of `math` that refuses tensors: it would take the value and lose the gradient."""

    def call(*args: Any) -> Any:
        if any(True for _ in tensors_in(args)):
            raise UserFault("is given a tensor and would lose its gradient; use the function of torch")
        return function(*(_number(arg) for arg in args))

    return call


def _attribute(value: Any, name: Any) -> Any:
    """Return one of the few attributes that say something about a tensor, or a part of a named result."""
    described = isinstance(value, torch.Tensor) and name in ("shape", "ndim", "dtype", "device", "T")
    named = isinstance(value, tuple) and name in ("values", "indices")
    if not described and not named:
        raise UserFault(
            f"reads {name!r} of a {type(value).__name__}; a tensor has shape, ndim, dtype, device and T here"
        )
    return getattr(value, name)


_OPERATORS = [
    "abs", "add", "and_", "eq", "floordiv", "ge", "gt", "invert", "le", "lt", "mod", "mul", "ne", "neg", "or_",
    "pos", "pow", "sub", "truediv", "xor",
]  # fmt: skip
_MATH = ["ceil", "exp", "expm1", "floor", "log", "log10", "log1p", "log2", "pow", "sqrt"]
_BOTH = [  # functions of torch and methods of a tensor
    "abs", "absolute", "add", "all", "amax", "amin", "any", "argmax", "argmin", "ceil", "clamp", "clamp_max",
    "clamp_min", "clip", "cos", "count_nonzero", "cummax", "cummin", "cumprod", "cumsum", "detach", "diff", "div",
    "divide", "dot", "eq", "erf", "exp", "exp2", "expm1", "flatten", "flip", "floor", "fmod", "gather", "ge", "gt",
    "isfinite", "isinf", "isnan", "le", "log", "log10", "log1p", "log2", "log_softmax", "logaddexp", "logcumsumexp",
    "logical_and", "logical_not", "logical_or", "logical_xor", "logit", "logsumexp", "lt", "masked_fill", "max",
    "maximum", "mean", "median", "min", "minimum", "mul", "multiply", "nan_to_num", "ne", "neg", "negative", "pow",
    "prod", "reciprocal", "relu", "remainder", "reshape", "roll", "round", "rsqrt", "select", "sigmoid", "sign",
    "sin", "softmax", "sort", "sqrt", "square", "squeeze", "std", "sub", "subtract", "sum", "tanh", "transpose",
    "true_divide", "trunc", "unsqueeze", "var", "where", "xlogy",
]  # fmt: skip
_FUNCTIONS = ["clone", "full_like", "ones_like", "zeros_like"]
_FUNCTIONAL = ["huber_loss", "kl_div", "l1_loss", "log_softmax", "mse_loss", "relu", "smooth_l1_loss", "softmax"]
_METHODS = [
    "bool", "clone", "contiguous", "dim", "double", "expand", "expand_as", "float", "int", "long", "numel",
    "permute", "size", "t", "to", "type_as", "view", "view_as",
]  # fmt: skip

FUNCTIONS: Mapping[str, Operation] = {
    **{f"operator.{name}": Operation(_arithmetic(getattr(operator, name)), _broadcast) for name in _OPERATORS},
    **{f"math.{name}": Operation(_of_numbers(getattr(math, name)), _small) for name in _MATH},
    **{f"torch.{name}": Operation(getattr(torch, name), _broadcast) for name in [*_BOTH, *_FUNCTIONS]},
    **{
        f"torch.nn.functional.{name}": Operation(getattr(torch.nn.functional, name), _broadcast) for name in _FUNCTIONAL
    },
    # What torch.nn.functional and torch.special record for functions that torch implements in C.
    "torch._C._nn.log_sigmoid": Operation(torch.nn.functional.logsigmoid, _broadcast),
    "torch._C._nn.softplus": Operation(torch.nn.functional.softplus, _broadcast),
    "torch._C._special.special_expit": Operation(torch.special.expit, _broadcast),
    "torch.arange": Operation(torch.arange, _counted),
    "torch.cat": Operation(torch.cat, _joined),
    "torch.stack": Operation(torch.stack, _joined),
    "operator.getitem": Operation(operator.getitem, _picked),
    "getattr": Operation(_attribute, _small),
}
"""By the name that the traced graph has for a function."""

METHODS: Mapping[str, Operation] = {
    name: Operation(getattr(torch.Tensor, name), _broadcast) for name in [*_BOTH, *_METHODS]
}
"""By the name of a tensor's method."""

REFUSED_ARGUMENTS = frozenset({"out", "inplace", "generator", "requires_grad"})
"""Keywords with which an operation would write into its argument, or hold on to more than its result."""

TEXTS = frozenset(
    {"cpu", "none", "mean", "sum", "batchmean", "floor", "trunc"}
    | {"shape", "ndim", "dtype", "device", "T", "values", "indices"}
)
"""Every text that an argument may be: a device, a reduction, a rounding or an attribute."""

DTYPES: Mapping[str, torch.dtype] = {
    name: getattr(torch, name) for name in ("bool", "int32", "int64", "bfloat16", "float16", "float32", "float64")
}
"""By the name that the traced graph has for an element type."""


def checked_result(value: Any) -> int:
    """Return how many elements a result has, over all its tensors.

    Raises:
        UserFault: If it holds a whole number that is too large.
    """
    if isinstance(value, int) and abs(value) >= MAX_INTEGER:
        raise UserFault("gives a whole number of more than 63 bits")
    return sum(tensor.numel() for tensor in tensors_in(value))
