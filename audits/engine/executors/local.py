"""Scans on this machine: one DuckDB connection, one batch after the other, all cores on each."""

from collections.abc import Iterable, Iterator
from typing import Any

from analysis.errors import AuditError
from audits.engine.executors import Scan
from audits.store.scan import scanner


def run_scans(scans: Iterable[Scan], address: str | None) -> Iterator[Any]:
    """Yield the rows of each scan as an Arrow table, in the order of the scans.

    Raises:
        AuditError: an address was given, or a file cannot be read.
    """
    if address is not None:
        raise AuditError("--address is of a cluster, and --engine local runs here: leave it out, or take --engine ray")
    with scanner() as here:
        for scan in scans:
            yield here.scan(scan.batch, scan.sql)
