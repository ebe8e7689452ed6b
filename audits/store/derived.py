"""`derived/`: tables that an audit computed from a run, kept so that `audit sql` can ask for them again.

They are no part of the log. Each names the state of the run that it was computed from, and is passed over once the run
is another.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analysis.errors import AuditError
from audits.store.durable import whole_file
from audits.store.location import is_local
from audits.store.reader import Run
from audits.store.sweeps import sweep_text

DERIVED_FOLDER = "derived"
_STATE = b"runaudit.run_state"


@dataclass(frozen=True)
class DerivedTables:
    """Derived tables of a run that were computed for a query, beside those that lie in the run.

    Attributes:
        tables: Arrow tables by name, `derived_<id>`.
        reasons: by name, why a table could not be computed of this run.
    """

    tables: Mapping[str, Any] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)


def derived_name(derived_id: str) -> str:
    """Return the name under which SQL knows a derived table."""
    return f"derived_{derived_id}"


def write_derived(run: Run, derived_id: str, table: Any) -> bool:
    """Write `derived/<id>.parquet` whole and return whether it could be kept.

    Args:
        run: the run that the table was computed from.
        derived_id: its id.
        table: an Arrow table.

    Raises:
        AuditError: the folder is a link: a run that came from elsewhere must not send our rows to another place.
    """
    import pyarrow.parquet as pq

    if not is_local(run.path):
        return False
    folder = run.path / DERIVED_FOLDER
    if folder.is_symlink():
        raise AuditError(f"{folder}: is a link; a run holds its files itself. Remove it")
    try:
        folder.mkdir(exist_ok=True)
        with whole_file(folder / f"{derived_id}.parquet") as temporary:
            pq.write_table(table.replace_schema_metadata({_STATE: run_state(run)}), temporary, compression="zstd")
    except OSError:
        return False
    return True


def derived_files(run: Run) -> dict[str, Path]:
    """Return the derived tables that were computed from the run as it is now: path by id, sorted by id."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = run.path / DERIVED_FOLDER
    if not is_local(run.path) or folder.is_symlink() or not folder.is_dir():
        return {}
    state, found = run_state(run).encode(), {}
    for path in sorted(folder.glob("*.parquet")):
        try:
            metadata = pq.read_schema(path).metadata or {}
        except (OSError, pa.ArrowException):
            continue
        if path.stem.isidentifier() and not path.is_symlink() and metadata.get(_STATE) == state:
            found[path.stem] = path
    return found


def run_state(run: Run) -> str:
    """Return a sha256 of what a derived table rests on: data files, sealed plan, `run.json` and `sweep.json`."""
    state = [
        sorted((record.path, record.sha256) for record in run.files),
        None if run.sealed is None else run.sealed.sha256,
        run.manifest.model_dump(mode="json"),
        _sweep_state(run),
    ]
    return hashlib.sha256(json.dumps(state, sort_keys=True, default=str).encode()).hexdigest()


def _sweep_state(run: Run) -> str | None:
    try:
        return sweep_text(run.path)
    except AuditError as error:
        # The audit that reads the table refuses it; no other rests on it.
        return str(error)
