"""Where a run stands: a directory of this machine, or a URL of an object store that fsspec reads.

A run behind a URL is read and never written. Its path is a `UPath`, which answers what the readers ask of a `Path`;
it and fsspec are imported only where a URL was given.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from analysis.errors import AuditError

if TYPE_CHECKING:
    import duckdb


def locate(named: str) -> Path:
    """Return the path of a run by what somebody typed: a directory, or a URL such as `s3://bucket/runs/pilot`.

    What is missing to reach a store is told here, before work begins.

    Raises:
        AuditError: a package for this kind of URL is not installed, or the store cannot be reached.
    """
    if "://" not in named:
        return Path(named)
    try:
        from upath import UPath
    except ImportError:
        raise AuditError(f"{named}: reading an object store needs pip install 'runaudit[objects]'") from None
    try:
        path = cast(Path, UPath(named))
        _list(path)
        # The list of a web server that does not answer is empty without an error.
        path.is_dir()
    except ImportError as error:
        raise AuditError(f"{named}: {_what_to_install(named, error)}") from error
    except Exception as error:
        # Each store's package has its own errors, for a refused login as for a wrong address.
        told = (str(error).splitlines() or [""])[0]
        raise AuditError(f"{named}: cannot be reached ({type(error).__name__}: {told:.200})") from error
    return path


def is_local(path: Path) -> bool:
    """Return whether a path is of this machine's file system, so that a run there can be written to."""
    return isinstance(path, Path)


def beside(run: Path, relative: str) -> Path:
    """Return another path, given relative to a run, without `..` in it."""
    other = run / relative
    if is_local(run):
        return Path(os.path.normpath(other))
    other = other.resolve()
    _list(other)
    return other


def parquet_file(path: Path, **options: Any) -> Any:
    """Open a Parquet file with pyarrow; it is to be closed after use.

    Args:
        path: the file.
        options: of `pyarrow.parquet.ParquetFile`.

    Raises:
        OSError: it is not readable.
        pyarrow.ArrowException: it is no Parquet file.
    """
    import pyarrow.parquet as pq

    if is_local(path):
        return pq.ParquetFile(path, **options)
    remote = cast(Any, path)
    return pq.ParquetFile(remote.path, filesystem=remote.fs, **options)


def attach(connection: "duckdb.DuckDBPyConnection", run: Path) -> None:
    """Let a DuckDB connection read the files of a run where it stands."""
    if is_local(run):
        return
    store = cast(Any, run).fs
    protocol = store.protocol if isinstance(store.protocol, str) else store.protocol[0]
    if not connection.filesystem_is_registered(protocol):
        connection.register_filesystem(store)


def _list(run: Path) -> None:
    """List a run's files, as they are at this moment: the store's client then knows their sizes without asking again.

    A gate on a small run in S3 asked 240 times for the size of a file, and not once with the list.
    """
    store, path = cast(Any, run).fs, cast(Any, run).path
    store.invalidate_cache()
    store.find(path)


def _what_to_install(named: str, error: ImportError) -> str:
    from fsspec.registry import known_implementations

    known = known_implementations.get(named.split("://", 1)[0], {})
    package = str(known.get("class", "fsspec")).split(".", 1)[0]
    # What fsspec holds itself says what it lacks.
    return str(error) if package == "fsspec" else f"this kind of URL needs {package}: pip install {package}"
