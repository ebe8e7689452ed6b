"""`run.json`, what a run is, and `files.jsonl`, which of its files are whole."""

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from analysis.errors import AuditError
from audits.store.durable import read_whole, write_whole
from audits.store.layout import outside_fault, partition_of, path_fault
from audits.store.location import is_local
from audits.store.schema import FORMAT_VERSION, Table, tables

MANIFEST_NAME = "run.json"
FILES_NAME = "files.jsonl"


class ManifestPart(BaseModel):
    """A block of `run.json`; keys of later minor versions are kept."""

    model_config = ConfigDict(frozen=True, extra="allow")


class ArmRecord(ManifestPart):
    """One arm as it was run or imported; `arm` and `seed` are the folder names of its files.

    `settings` are those of this arm alone, as a source of outcomes states them: by the plan's path
    (`evaluation.max_tokens`), or by a name of its own (`aggregation`).
    """

    arm: str
    seed: int
    role: Literal["baseline", "treatment", "other"]
    name: str
    loss: str | None = None
    settings: dict[str, Any] = {}


class PilotLink(ManifestPart):
    """The pilot that allowed a full run."""

    run_id: str
    path: str
    gate_sha256: str
    status: str


class SweepLink(ManifestPart):
    """The sweep that chose the learning rate; the run holds a copy of its `sweep.json` with this sha256."""

    path: str
    sha256: str


class Manifest(ManifestPart):
    """`run.json`: what the run is, what executed it, and how far it got.

    `planned` holds what the source of an imported run says was planned, by the plan's paths
    (`rollout.rollout_batches`); a run of ours carries its plan and leaves it empty. `executed` holds what ran.
    """

    format_version: int = FORMAT_VERSION
    run_id: str
    kind: Literal["pilot", "full", "imported"]
    status: Literal["running", "complete", "interrupted", "failed", "stopped_by_budget"]
    arms: list[ArmRecord]
    started_at: str
    finished_at: str | None = None
    wall_seconds: float | None = None
    resumed: list[dict[str, Any]] = []
    service_faults: int = 0
    plan_sha256: str | None = None
    pilot: PilotLink | None = None
    sweep: SweepLink | None = None
    planned: dict[str, Any] = {}
    executed: dict[str, Any] = {}
    versions: dict[str, str] = {}
    git: dict[str, Any] = {}
    backend: dict[str, Any] = {}
    command_line: list[str] = []
    source: dict[str, Any] = {}
    content_sha256: str | None = None


class FileRecord(BaseModel):
    """One line of `files.jsonl`: a data file that is whole."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    path: str
    table: str
    rows: int
    bytes: int
    sha256: str
    schema_version: int


def by_partition(records: Iterable[FileRecord]) -> dict[tuple[str, int] | None, list[FileRecord]]:
    """Return files by the (arm, seed) of their paths, in their order; None for those of a table without partitions."""
    found: dict[tuple[str, int] | None, list[FileRecord]] = {}
    for record in records:
        found.setdefault(partition_of(record.path), []).append(record)
    return found


def read_manifest(run: Path) -> Manifest:
    """Return the manifest of a run directory.

    Raises:
        AuditError: no such directory, no or broken `run.json`, or a later format version.
    """
    path = run / MANIFEST_NAME
    if not run.is_dir():
        raise AuditError(f"{run}: there is no such run directory")
    try:
        data = json.loads(read_whole(path))
        # Half a surrogate pair passes as JSON and is no text: it could be neither printed nor written again.
        json.dumps(data, ensure_ascii=False).encode("utf-8")
    except FileNotFoundError:
        raise AuditError(
            f"{run}: not a run directory, it has no {MANIFEST_NAME}. `audit run` and `audit import` write one"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        # ValueError: not UTF-8, not JSON, or an integer of thousands of digits.
        raise AuditError(f"{path}: not readable as JSON ({error!s:.300})") from error
    _check_version(path, data)
    try:
        return Manifest.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole file"
        raise AuditError(f"{path}: {where}: {first['msg']}") from error


def _check_version(path: Path, data: Any) -> None:
    version = data.get("format_version") if isinstance(data, dict) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise AuditError(f"{path}: format_version: a whole number from 1 is needed, to know how the run is to be read")
    if version > FORMAT_VERSION:
        raise AuditError(
            f"{path}: format version {version} is later than {FORMAT_VERSION}, the last that this runaudit reads; "
            "install a later one"
        )


def read_files(run: Path) -> tuple[tuple[FileRecord, ...], tuple[str, ...]]:
    """Return the lines of `files.jsonl` and notes on what was not whole.

    A last line without its newline was being written when the process died: it is passed over with a note.

    Raises:
        AuditError: a line that is not valid, with its number.
    """
    path = run / FILES_NAME
    try:
        text = read_whole(path)
    except FileNotFoundError:
        return (), (f"{FILES_NAME} does not exist: no data file was finished",)
    except (OSError, UnicodeDecodeError) as error:
        raise AuditError(f"{path}: not readable ({error})") from error
    *lines, torn = text.split("\n")
    notes = (f"{FILES_NAME}: the last line was never finished and is passed over",) if torn else ()
    records: dict[str, FileRecord] = {}
    for number, line in enumerate(lines, start=1):
        try:
            record = FileRecord.model_validate_json(line)
        except ValidationError as error:
            raise AuditError(f"{path}, line {number}: not a file record ({error.errors()[0]['msg']})") from error
        fault = _path_fault(run, record, tables().get(record.table))
        if fault:
            raise AuditError(f"{path}, line {number}: {record.path!r} {fault}")
        records[record.path] = record
    return tuple(records.values()), notes


def _path_fault(run: Path, record: FileRecord, table: Table | None) -> str | None:
    """Return what is wrong with a path; where a table of another version stands is its own business, if inside."""
    fault = outside_fault(record.path) if table is None else path_fault(record.path, table.name, table.partitioned)
    if fault is None and is_local(run) and _leads_elsewhere(run, record.path):
        return "is a link: a run holds its files itself"
    return fault


def _leads_elsewhere(run: Path, path: str) -> bool:
    return Path(os.path.realpath(run / path)) != Path(os.path.realpath(run)) / path


def write_manifest(run: Path, manifest: Manifest) -> None:
    """Write `run.json` whole, with the digest of its own content."""
    body = manifest.model_dump(mode="json", exclude={"content_sha256"})
    write_whole(run / MANIFEST_NAME, _manifest_text(body))


def manifest_fault(run: Path) -> str | None:
    """Return how `run.json` differs from what was written last, None where every byte is the same.

    Raises:
        AuditError: it is not readable.
    """
    path = run / MANIFEST_NAME
    try:
        content = path.read_bytes()
        body = json.loads(content)
    except (OSError, ValueError, RecursionError) as error:
        raise AuditError(f"{path}: not readable as JSON ({error!s:.300})") from error
    if "content_sha256" not in body:
        return f"{MANIFEST_NAME} has no content_sha256: it was not written by this runaudit"
    del body["content_sha256"]
    return None if content == _manifest_text(body) else f"{MANIFEST_NAME} is not what was written: its content changed"


def _manifest_text(body: dict[str, Any]) -> bytes:
    digest = hashlib.sha256(_json_text(body).encode()).hexdigest()
    return f"{_json_text({**body, 'content_sha256': digest})}\n".encode()


def _json_text(body: dict[str, Any]) -> str:
    return json.dumps(body, indent=2, sort_keys=True, ensure_ascii=False)
