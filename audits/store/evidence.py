"""`evidence/`: rows behind a failing check. They are no part of the log, and no command reads them."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.errors import AuditError
from audits.store.durable import whole_file
from audits.store.location import is_local

EVIDENCE_FOLDER = "evidence"


@dataclass(frozen=True)
class EvidenceFile:
    """What an evidence file holds.

    Attributes:
        table: an Arrow table of the kept rows.
        total_rows: how many rows there are, of which these are a sample.
        query: SQL for `audit sql` that gives all of them.
        sample_seed: what decided which rows were kept, None where they are the first ones.
    """

    table: Any
    total_rows: int
    query: str
    sample_seed: int | None


def write_evidence(run: Path, check_id: str, evidence: EvidenceFile) -> str:
    """Write `evidence/<check id>.parquet` whole and return its path in the run.

    Raises:
        AuditError: the folder is a link: a run that came from elsewhere must not send our rows to another place.
        OSError: the run cannot be written to.
        ValueError: the id is no file name.
    """
    import pyarrow.parquet as pq

    if not re.fullmatch(r"\w+", check_id):
        raise ValueError(f"{check_id!r} is no check id")
    metadata = {
        "runaudit.total_rows": str(evidence.total_rows),
        "runaudit.query": evidence.query,
        "runaudit.sample_seed": "" if evidence.sample_seed is None else str(evidence.sample_seed),
    }
    folder = run / EVIDENCE_FOLDER
    if not is_local(run):
        raise OSError("a run behind a URL is only read")
    if folder.is_symlink():
        raise AuditError(f"{folder}: is a link; a run holds its files itself. Remove it")
    folder.mkdir(exist_ok=True)
    path = folder / f"{check_id}.parquet"
    with whole_file(path) as temporary:
        pq.write_table(evidence.table.replace_schema_metadata(metadata), temporary, compression="zstd")
    return path.relative_to(run).as_posix()
