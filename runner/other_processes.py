"""What a report computes beside its own process: Python works on one core, and a reviewer's laptop has several."""

import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

from analysis.errors import AuditError
from audits.store.location import is_local, locate
from audits.store.reader import Run, open_run
from runner.integrity_inputs import integrity_inputs

PROCESSES = 1


@contextmanager
def other_processes() -> Iterator[ProcessPoolExecutor]:
    """Open processes for `integrity_beside` and `beside`; whatever happens, none is left running."""
    with ProcessPoolExecutor(PROCESSES, get_context("spawn"), _leave_interrupts_to_the_parent) as pool:
        try:
            with _interrupts_held():
                # A process is started by its first task.
                pool.submit(_ready)
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back while a process is started, which then never hears it: what it imports cannot be interrupted."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _ready() -> None:
    """Do nothing: the process is there."""


def integrity_beside(pool: ProcessPoolExecutor, run: Run) -> Callable[[], dict[str, Any]]:
    """Start the integrity audits of a run in another process, and return what waits for `integrity_inputs`.

    Args:
        pool: of `other_processes`.
        run: is opened again there; one in an object store is audited here, since not each store is another process's.
    """
    if not is_local(run.path):
        return lambda: integrity_inputs(run)
    return beside(pool, _integrity, str(run.path))


def beside(pool: ProcessPoolExecutor, function: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    """Start a function of a module in another process, and return what waits for its result."""
    future: Future[Any] = pool.submit(function, *arguments)

    def wait() -> Any:
        try:
            return future.result()
        except BrokenProcessPool as error:
            raise AuditError(
                "a process that worked on the report was ended from outside, perhaps for want of memory. "
                "Try again with less running beside it"
            ) from error

    return wait


def _integrity(path: str) -> dict[str, Any]:
    return integrity_inputs(open_run(locate(path)))


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
