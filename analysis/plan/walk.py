"""Every text in a plan, with its path."""

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel


def texts(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield (path, text) for each string in a plan, in the plan's order.

    Args:
        value: a plan, or any part of one.
        path: where the value stands.
    """
    if isinstance(value, BaseModel):
        value = {name: getattr(value, name) for name in type(value).model_fields}
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from texts(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from texts(item, f"{path}[{index}]")
