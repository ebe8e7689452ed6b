"""Looks at the outcomes: each `audit decide` leaves a line, so that a reviewer sees how often somebody looked."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analysis.errors import AuditError
from audits.store.manifest import append_lines

LOOKS_NAME = "looks.jsonl"


def record_look(run: Path, look: Mapping[str, Any]) -> bool:
    """Append a look to the run and return whether it could be recorded; a run may be read-only."""
    try:
        append_lines(run / LOOKS_NAME, [json.dumps(look, sort_keys=True, ensure_ascii=False)])
    except OSError:
        return False
    return True


def read_looks(run: Path) -> tuple[Mapping[str, Any], ...]:
    """Return the recorded looks, oldest first.

    Raises:
        AuditError: a line is not JSON.
    """
    path = run / LOOKS_NAME
    if not path.exists():
        return ()
    looks = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            looks.append(json.loads(line))
        except json.JSONDecodeError as error:
            raise AuditError(f"{path}, line {number}: not JSON ({error.msg}): the list of looks was changed") from error
    return tuple(looks)
