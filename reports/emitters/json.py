"""One JSON object on stdout: sorted keys, numbers as numbers, a missing number as null."""

import dataclasses
import json
import math
from collections.abc import Mapping
from typing import Any

SCHEMA_VERSION = 1


def plain(value: Any) -> Any:
    """Return the value as JSON types; NaN and infinities become null.

    Dataclasses become objects, tuples and sets become arrays, numpy scalars become numbers.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "item") and not isinstance(value, str | bytes):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def dumps(result: Mapping[str, Any]) -> str:
    """Return the result as a JSON text with `schema_version`, ending without a newline."""
    body = {"schema_version": SCHEMA_VERSION, **plain(result)}
    return json.dumps(body, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)
