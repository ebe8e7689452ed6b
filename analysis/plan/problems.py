"""What is wrong with a plan, in words: the path of the key, the fault, and the nearest known name."""

import inspect
import json
import typing
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from analysis.nearest import nearest_name

_BOUNDS = {
    "greater_than": ("gt", ">"),
    "greater_than_equal": ("ge", ">="),
    "less_than": ("lt", "<"),
    "less_than_equal": ("le", "<="),
}
_LONGEST = 60


def describe(error: ValidationError, model: type[BaseModel]) -> list[str]:
    """Return a line a problem, `path: fault`: unknown keys first, because one of them often is a missing key.

    Args:
        error: what pydantic found.
        model: the model that was asked for.
    """
    problems = sorted(error.errors(include_url=False), key=lambda problem: problem["type"] != "extra_forbidden")
    return [f"{path_text(problem['loc'])}: {_fault(problem, model)}" for problem in problems]


def path_text(location: Sequence[int | str]) -> str:
    """Return `arms[0].loss` for ("arms", 0, "loss")."""
    text = ""
    for part in location:
        text = f"{text}[{part}]" if isinstance(part, int) else join_key(text, part)
    return text or "plan"


def join_key(path: str, key: str) -> str:
    """Return the path of a key; a key that a terminal would obey is shown with escapes."""
    plain = key if key.isprintable() else repr(key)
    return f"{path}.{plain}" if path else plain


def nearest(name: str, known: Sequence[str]) -> str:
    """Return `; did you mean "delta"?`, or nothing where no known name is near."""
    near = nearest_name(name.lower(), known)
    return f'; did you mean "{near}"?' if near else ""


def _fault(problem: ErrorDetails, model: type[BaseModel]) -> str:
    kind, context, value = problem["type"], problem.get("ctx", {}), problem["input"]
    if kind == "extra_forbidden":
        owner = _model_at(model, problem["loc"][:-1])
        known = list(owner.model_fields) if owner else []
        return "unknown key" + (nearest(str(problem["loc"][-1]), known) or f". Known: {', '.join(sorted(known))}")
    if kind == "missing":
        return "missing"
    if kind in _BOUNDS:
        key, sign = _BOUNDS[kind]
        return f"{_shown(value)} is not {sign} {context[key]}"
    if kind == "literal_error":
        expected = str(context["expected"])
        known = [name.strip("' ") for name in expected.replace(" or ", ",").split(",")]
        return f"{_shown(value)} is not {expected}" + (nearest(value, known) if isinstance(value, str) else "")
    if kind == "value_error":
        return problem["msg"].removeprefix("Value error, ")
    if kind == "finite_number":
        return f"{_shown(value)} is not a finite number"
    return f"{_shown(value)} is not valid: {problem['msg'][0].lower()}{problem['msg'][1:]}"


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "an array"
    text = json.dumps(value) if value is None or isinstance(value, bool) else repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _model_at(model: type[BaseModel], location: Sequence[int | str]) -> type[BaseModel] | None:
    """Return the model that stands at a location, following lists and mappings."""
    owner: type[BaseModel] | None = model
    inside_container = False
    for part in location:
        if inside_container:
            inside_container = False
            continue
        if owner is None or part not in owner.model_fields:
            return None
        parts = list(_walk(owner.model_fields[str(part)].annotation))
        owner = next((found for found in parts if _is_model(found)), None)
        inside_container = any(typing.get_origin(found) in (list, dict) for found in parts)
    return owner


def _is_model(annotation: Any) -> bool:
    return inspect.isclass(annotation) and issubclass(annotation, BaseModel)


def _walk(annotation: Any) -> Iterator[Any]:
    """Yield an annotation and everything inside it: `dict[str, Loss] | None`, `dict[str, Loss]`, `Loss`."""
    yield annotation
    for argument in typing.get_args(annotation):
        yield from _walk(argument)
