"""Looks at the outcomes: each `audit decide` leaves a line, so that a reviewer sees how often somebody looked."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analysis.errors import AuditError
from audits.store.durable import append_lines, read_whole
from audits.store.location import is_local

LOOKS_NAME = "looks.jsonl"


def record_look(run: Path, look: Mapping[str, Any]) -> bool:
    """Append a look to the run and return whether it could be recorded; a run may be read-only."""
    if not is_local(run):
        return False
    try:
        append_lines(run / LOOKS_NAME, [json.dumps(look, sort_keys=True, ensure_ascii=False)])
    except OSError:
        return False
    return True


def read_looks(run: Path) -> tuple[Mapping[str, Any], ...]:
    """Return the recorded looks, oldest first.

    Raises:
        AuditError: the file is not readable, or a line is no JSON object.
    """
    path = run / LOOKS_NAME
    try:
        *lines, _torn = read_whole(path).split("\n")
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as error:
        raise AuditError(f"{path}: not readable ({error})") from error
    looks = []
    for number, line in enumerate(lines, start=1):
        try:
            look = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise AuditError(f"{path}, line {number}: not JSON ({error}): the list of looks was changed") from error
        if not isinstance(look, dict):
            raise AuditError(f"{path}, line {number}: not a look: the list of looks was changed")
        looks.append(look)
    return tuple(looks)
