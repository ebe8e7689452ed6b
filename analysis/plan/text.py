"""From the text of a plan file to a document: strict JSON, every refusal with its place.

The `json` module reads more than JSON: NaN, a key given twice (the last one wins in silence), numbers that
overflow to infinity. A plan that means something else than it says must not be sealed, so all are refused.
"""

import json
import math
from collections import Counter
from typing import Any, NoReturn

from analysis.errors import AuditError
from analysis.plan.problems import join_key

MAX_DEPTH = 64
MAX_INTEGER = 2**53 - 1


def load_document(text: str, *, source: str) -> Any:
    """Return the JSON value of a text.

    Args:
        text: the file's text.
        source: the file's name, for messages.

    Raises:
        AuditError: invalid JSON (with line and column), a key given twice, NaN or an infinity, an integer that
            canonical JSON cannot hold, a lone surrogate, or nesting deeper than 64 levels.
    """

    def refuse(constant: str) -> NoReturn:
        raise AuditError(f"{source}: {constant} is not a JSON number. Write null where nothing is known.")

    def number(literal: str) -> float:
        value = float(literal)
        if not math.isfinite(value):
            raise AuditError(f"{source}: {literal[:40]} is too large for a number. Write the value that is meant.")
        return value

    try:
        document = json.loads(text, object_pairs_hook=_Object, parse_constant=refuse, parse_float=number)
    except json.JSONDecodeError as error:
        raise AuditError(
            f"{source}: not JSON: {error.msg} at line {error.lineno}, column {error.colno}. Mend that place."
        ) from error
    except RecursionError as error:
        raise AuditError(f"{source}: nested deeper than {MAX_DEPTH} levels. A plan needs fewer than ten.") from error
    except ValueError as error:
        # The interpreter refuses integers of thousands of digits with a plain ValueError.
        raise AuditError(f"{source}: an integer has too many digits. Write the value that is meant.") from error
    return _checked(document, "", source, 0)


class _Object(dict[str, Any]):
    """A JSON object that remembers which keys were given twice."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.repeated = [key for key, times in Counter(key for key, _ in pairs).items() if times > 1]


def _checked(value: Any, path: str, source: str, depth: int) -> Any:
    """Return the value with plain dicts, after refusing what canonical JSON cannot hold."""
    where = path or "the document"
    if depth > MAX_DEPTH:
        raise AuditError(f"{source}: nested deeper than {MAX_DEPTH} levels. A plan needs fewer than ten.")
    if isinstance(value, _Object):
        if value.repeated:
            key = join_key(path, value.repeated[0])
            raise AuditError(f"{source}: {key}: the key is given twice. Keep one of them.")
        for key in value:
            _refuse_surrogates(key, f"a key of {where}", source)
        return {key: _checked(item, join_key(path, key), source, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_checked(item, f"{path}[{index}]", source, depth + 1) for index, item in enumerate(value)]
    if isinstance(value, str):
        _refuse_surrogates(value, where, source)
    elif isinstance(value, int) and not isinstance(value, bool) and abs(value) > MAX_INTEGER:
        raise AuditError(f"{source}: {where}: integers beyond 2^53 - 1 have no exact canonical form.")
    return value


def _refuse_surrogates(text: str, where: str, source: str) -> None:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise AuditError(f"{source}: {where}: holds half of a surrogate pair, which is not text. Remove it.")
