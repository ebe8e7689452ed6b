"""The results of preflights, `preflight/<id>.json` in a pilot's directory: one file a preflight, written whole."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from analysis.errors import AuditError
from audits.store.durable import read_whole, write_whole
from audits.store.status import Status

FOLDER = "preflight"
SCHEMA_VERSION = 1


class ResultPart(BaseModel):
    """A block of a result; keys of later versions are kept."""

    model_config = ConfigDict(frozen=True, extra="allow")


class Comparison(ResultPart):
    """One measured figure of a preflight beside what it was compared with.

    Attributes:
        path: what was compared: the loss or state, on which data, against what.
        metric: the compared quantity: loss, gradient, cosine, logprob, …
        value: ours, None with a `reason`.
        expected: the reference's.
        largest_deviation: between ours and the reference, where it uses up most of its allowance.
        limit: `min` and `max` that the deviation (for a deviation) or the value (for anything else) must keep.
        tolerance: the plan's `atol`, `rtol`, `min_cosine` behind the limit.
        where: the token of the largest deviation, as an index and in words.
        reference: where the reference comes from, and whether it was executed or implemented again.
        n: compared numbers; 0 is never a pass.
    """

    path: str
    metric: str
    status: Status
    value: float | str | None = None
    expected: float | str | None = None
    unit: str = ""
    largest_deviation: float | None = None
    limit: dict[str, Any] | None = None
    tolerance: dict[str, float] = {}
    where: dict[str, Any] | None = None
    reference: str = ""
    n: int = 0
    reason: str | None = None
    notes: list[str] = []
    measures: str = ""
    mend: str | None = None


class PreflightResult(ResultPart):
    """What a preflight found, on which service, with which code, for which plan."""

    schema_version: int = SCHEMA_VERSION
    id: str | None = None
    status: Status
    plan_sha256: str
    started_at: str | None = None
    seconds: float | None = None
    service: dict[str, Any] = {}
    versions: dict[str, str] = {}
    git: dict[str, Any] = {}
    command_line: list[str] = []
    comparisons: list[Comparison] = []
    reasons: list[str] = []


def result_path(run: Path, preflight_id: str) -> Path:
    """Return where a preflight's result stands in a run directory."""
    return run / FOLDER / f"{preflight_id}.json"


def write_result(run: Path, result: PreflightResult) -> Path:
    """Write a result whole, over an earlier one.

    Raises:
        AuditError: the directory cannot be made.
    """
    path = result_path(run, str(result.id))
    text = json.dumps(result.model_dump(mode="json"), indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, f"{text}\n".encode())
    except OSError as error:
        raise AuditError(f"{path}: cannot be written ({error.strerror}). Choose another --out") from error
    return path


def read_result(run: Path, preflight_id: str) -> PreflightResult | None:
    """Return the result of a preflight, None where the run holds none.

    Raises:
        AuditError: the file is no preflight result, or is another preflight's.
    """
    path = result_path(run, preflight_id)
    try:
        result = PreflightResult.model_validate(json.loads(read_whole(path)))
    except FileNotFoundError:
        return None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole file"
        raise AuditError(f"{path}: not a preflight result ({where}: {first['msg']})") from error
    except (OSError, ValueError, RecursionError) as error:
        raise AuditError(f"{path}: not a preflight result ({error!r:.200})") from error
    if result.id not in (None, preflight_id):
        raise AuditError(f"{path}: not a preflight result of {preflight_id}: it says that it is of {result.id!r}")
    return result


def read_results(run: Path) -> dict[str, PreflightResult]:
    """Return all results that a run holds, by id.

    Raises:
        AuditError: a file is no preflight result.
    """
    found = {name: read_result(run, name) for name in _names(run)}
    return {name: result for name, result in found.items() if result is not None}


def require_free(run: Path, plan_sha256: str | None) -> None:
    """Check that a run may be made in a directory: it is absent, empty, or holds preflights of this plan alone.

    Args:
        run: the directory.
        plan_sha256: the plan of a pilot; None where no preflight may be there (any other run).

    Raises:
        AuditError: the directory is used.
    """
    if not run.exists():
        return
    held = [path.name for path in run.iterdir()] if run.is_dir() else [run.name]
    if not held:
        return
    if held != [FOLDER] or not (run / FOLDER).is_dir() or plan_sha256 is None:
        raise AuditError(f"{run}: exists and is not empty. Choose another --out, or remove it first")
    for name, result in read_results(run).items():
        if result.plan_sha256 != plan_sha256:
            raise AuditError(
                f"{result_path(run, name)}: was made for plan {result.plan_sha256[:12]}…, and this is plan "
                f"{plan_sha256[:12]}…. Choose another --out, or remove {run / FOLDER}"
            )


def _names(run: Path) -> Iterator[str]:
    for path in sorted((run / FOLDER).glob("*.json")):
        # A hidden file is what a killed writer left behind.
        if not path.name.startswith("."):
            yield path.stem
