"""What makes a file outlive a crash, and a state directory belong to one service at a time."""

import fcntl
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from analysis.errors import AuditError

WAIT_SECONDS = 120.0
"""How long the last service on a state directory may take to end: it finishes the operation that it runs."""

_log = logging.getLogger(__name__)


def flush(path: Path) -> None:
    """Force a written file to the disk."""
    with path.open("rb") as stream:
        os.fsync(stream.fileno())


def flush_folder(folder: Path) -> None:
    """Force to the disk which names a folder holds."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def exclusive(state_dir: Path, wait_seconds: float = WAIT_SECONDS) -> Iterator[None]:
    """Hold a state directory for as long as the block; the system lets it go when the process ends in any way.

    Raises:
        AuditError: If another service still holds it after `wait_seconds`.
    """
    with (state_dir / "lock").open("a+") as lock:
        deadline = time.monotonic() + wait_seconds
        waiting = False
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                lock.seek(0)
                holder = lock.read().strip() or "unknown"
            if time.monotonic() >= deadline:
                raise AuditError(
                    f"--state-dir {state_dir}: another service (process {holder}) uses it. "
                    "End that one, or choose another folder"
                )
            if not waiting:
                _log.info("%s is in use by process %s: waiting for it to end", state_dir, holder)
                waiting = True
            time.sleep(0.2)
        lock.seek(0)
        lock.truncate()
        lock.write(str(os.getpid()))
        lock.flush()
        yield
