"""Scans as Ray tasks: the same SQL on the same batches of files, run by DuckDB in the workers of a cluster.

Every worker must see the run under the same path: one machine, a shared file system, or an object store.
"""

import contextlib
import dataclasses
import importlib.util
import os
import socket
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from analysis.errors import AuditError
from audits.engine.executors import Scan
from audits.store.location import is_local
from audits.store.schema import SQL_FOLDER

TASKS_AHEAD = 4
"""Tasks in flight for each core of the cluster: enough to keep it busy, few enough to bound the results held."""


def run_scans(scans: Iterable[Scan], address: str | None) -> Iterator[Any]:
    """Yield the rows of each scan as an Arrow table, in the order of the scans.

    The first call connects, and the connection lasts as long as the process: starting a cluster takes seconds, and a
    report scans several times. A connection that the caller made is used as it is.

    Args:
        scans: the work.
        address: of the cluster; None starts one on this machine, or takes the one in RAY_ADDRESS.

    Raises:
        AuditError: Ray is not installed, the cluster is not reachable, or a file cannot be read.
    """
    if importlib.util.find_spec("ray") is None:
        raise AuditError("--engine ray needs Ray: pip install 'runaudit[ray]'")
    import ray

    if not ray.is_initialized():
        _connect(address)
    task = ray.remote(num_cpus=1)(_scan)
    waiting: deque[Any] = deque()
    resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    ahead = TASKS_AHEAD * max(1, int(resources.get("CPU", 1)))
    for scan in scans:
        waiting.append(task.remote(_anywhere(scan)))
        if len(waiting) >= ahead:
            yield _result(waiting.popleft())
    while waiting:
        yield _result(waiting.popleft())


def _connect(address: str | None) -> None:
    import logging

    # Read when Ray starts a cluster: nothing about this machine is sent anywhere unless its owner asked for it.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    if address is not None:
        _require_listener(address)
    try:
        # Ray puts the current directory first on the workers' path, where a folder `audits` would hide this package.
        with contextlib.chdir(SQL_FOLDER.parent):
            ray.init(address=address, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, ImportError, RuntimeError, ValueError) as error:
        raise AuditError(
            f"--engine ray: no cluster at {address or 'this machine'} ({error}). One with token authentication needs "
            "RAY_AUTH_MODE=token and RAY_AUTH_TOKEN in the environment"
        ) from error


def _require_listener(address: str) -> None:
    """Refuse an address at which nobody listens: Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdigit():
        # `auto` and `local` are words of Ray's own.
        return
    try:
        socket.create_connection((host, int(port)), timeout=10.0).close()
    except OSError as error:
        raise AuditError(f"--engine ray: nobody listens at {address} ({error.strerror or error})") from error


def _anywhere(scan: Scan) -> Scan:
    """Return the scan with a path that does not depend on the directory in which a worker stands."""
    if not is_local(scan.batch.run):
        return scan
    return Scan(dataclasses.replace(scan.batch, run=scan.batch.run.absolute()), scan.sql)


def _scan(scan: Scan) -> Any:
    from audits.store.scan import scanner

    with scanner(threads=1) as here:
        return here.scan(scan.batch, scan.sql)


def _result(reference: Any) -> Any:
    import ray

    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, AuditError):
            raise AuditError(error.cause.message) from error
        raise
    except ray.exceptions.RayError as error:
        raise AuditError(f"--engine ray: a task was lost ({type(error).__name__}): {error!s:.300}") from error
