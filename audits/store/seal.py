"""The seal of a plan: canonical JSON (RFC 8785) and its sha256."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.errors import AuditError
from analysis.plan.model import Plan
from analysis.plan.parse import parse_plan_text
from audits.store.durable import read_whole

PLAN_NAME = "plan.json"


@dataclass(frozen=True)
class SealedPlan:
    """A runnable plan with the bytes that were sealed and their sha256."""

    plan: Plan
    canonical: bytes
    sha256: str


def canonical_json(data: Any) -> bytes:
    """Return the RFC 8785 canonical form of JSON data.

    Raises:
        AuditError: a number that JSON's canonical form cannot hold (NaN, or an integer beyond 2^53).
    """
    import rfc8785

    try:
        return rfc8785.dumps(data)
    except rfc8785.CanonicalizationError as error:
        raise AuditError(f"cannot be sealed: {error}") from error


def sha256_hex(content: bytes) -> str:
    """Return the sha256 of the bytes in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def seal_text(text: str, *, source: str) -> SealedPlan:
    """Parse a plan and seal it.

    Raises:
        AuditError: the text is not a valid plan, or its format (1 or 2) says in prose what a run needs as fields.
    """
    plan = parse_plan_text(text, source=source)
    if not isinstance(plan, Plan):
        raise AuditError(
            f"{source}: this plan is of an older format and cannot be run: what a run needs stands in prose. "
            f"`audit spec {source}` lists each missing field"
        )
    canonical = canonical_json(json.loads(text))
    return SealedPlan(plan, canonical, sha256_hex(canonical))


def read_text(path: Path) -> str:
    """Return the text of a plan file.

    Raises:
        AuditError: the file is missing, not readable or not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise AuditError(f"{path}: there is no such plan file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise AuditError(f"{path}: not readable as UTF-8 text ({error})") from error


def read_sealed_plan(run: Path) -> SealedPlan | None:
    """Return the plan sealed in a run directory, or None where the run has none."""
    path = run / PLAN_NAME
    if not path.exists():
        return None
    try:
        return seal_text(read_whole(path), source=str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise AuditError(f"{path}: not readable as UTF-8 text ({error})") from error
