"""Where scans run: one module an engine, its id is its file's name; `run_scans` is the whole interface."""

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, cast

from analysis.errors import AuditError
from analysis.nearest import hint
from audits.store.scan import Batch, Scanner, scanner, scratch_connection

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class Scan:
    """One query over one batch of files."""

    batch: Batch
    sql: str


class Executor(Protocol):
    """What a module of this folder defines."""

    def run_scans(self, scans: Iterable[Scan], address: str | None) -> Iterator[Any]:
        """Yield the rows of each scan as an Arrow table, in the order of the scans."""


@dataclass(frozen=True)
class Engine:
    """An executor and how it is to be reached.

    Attributes:
        id: a module of this folder.
        address: of a cluster, None for this machine.
        rows_a_batch: the most rows that one scan reads at once; None for the default.
        scanner: opened before and used for each call, see `kept_open`; None opens one a call.
    """

    id: str = "local"
    address: str | None = None
    rows_a_batch: int | None = None
    scanner: Scanner | None = field(default=None, compare=False, repr=False)

    @contextmanager
    def kept_open(self) -> Iterator["Engine"]:
        """Give this engine with its database opened once for many calls: opening costs as much as a small scan."""
        if self.id != LOCAL.id:
            yield self
            return
        with scanner() as opened:
            yield replace(self, scanner=opened)

    @contextmanager
    def scratch(self) -> Iterator["duckdb.DuckDBPyConnection"]:
        """Give a connection to a database on this machine for what the scans brought."""
        with scratch_connection() if self.scanner is None else self.scanner.beside() as connection:
            yield connection

    def run(self, scans: Iterable[Scan]) -> Iterator[Any]:
        """Yield the rows of each scan as an Arrow table, in the order of the scans.

        Raises:
            AuditError: there is no such engine, it is not installed or not reachable, or a file cannot be read.
        """
        if self.scanner is not None:
            return (self.scanner.scan(scan.batch, scan.sql) for scan in scans)
        return load_executor(self.id).run_scans(scans, self.address)


LOCAL = Engine()


def executor_ids() -> tuple[str, ...]:
    """Return the ids of all engines, sorted."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))


def load_executor(executor_id: str) -> Executor:
    """Return the engine's module.

    Raises:
        AuditError: there is no such engine.
    """
    if executor_id not in executor_ids():
        raise AuditError(f'there is no engine "{executor_id}"{hint(executor_id, executor_ids())}')
    return cast(Executor, importlib.import_module(f"{__name__}.{executor_id}"))
