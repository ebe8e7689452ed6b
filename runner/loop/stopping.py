"""How a run is asked to stop: at the next point where nothing is lost, and who may ask."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Literal

Reason = Literal["interrupted", "budget", "fault"]

EXIT_INTERRUPTED = 130
_SHOW_CURSOR = b"\x1b[?25h"


class Stopped(Exception):
    """Work was given up because the run was asked to stop; what is on disk is whole."""


class Stop:
    """Asks every arm of a run to stop; the first reason stays."""

    def __init__(self) -> None:
        self._asked = threading.Event()
        self._lock = threading.Lock()
        self.reason: Reason | None = None

    def ask(self, reason: Reason) -> None:
        """Ask all arms to stop."""
        with self._lock:
            self.reason = self.reason or reason
        self._asked.set()

    @property
    def asked(self) -> bool:
        """Whether somebody asked."""
        return self._asked.is_set()

    def check(self) -> None:
        """Give up the work here if somebody asked.

        Raises:
            Stopped: somebody did.
        """
        if self.asked:
            raise Stopped

    def pause(self, seconds: float) -> None:
        """Wait, but not beyond the moment at which somebody asks.

        Raises:
            Stopped: somebody asked.
        """
        self._asked.wait(seconds)
        self.check()


@contextmanager
def signals_noticed() -> Iterator[list[int]]:
    """Note the first SIGINT or SIGTERM in the list that is given, and let the second end the process at once.

    The handler only notes: whatever lock it needed might be held by the very code that it interrupts. Nothing is put
    away at the second: files are renamed into place when they are whole, so none is ever half, and the embedded service
    ends because its standard input closes.
    """
    noticed: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield noticed
        return

    def on_signal(signum: int, _frame: FrameType | None) -> None:
        if noticed:
            if sys.stderr.isatty():
                os.write(sys.stderr.fileno(), _SHOW_CURSOR)
            os._exit(EXIT_INTERRUPTED)
        noticed.append(signum)

    with _handling(on_signal):
        yield noticed


@contextmanager
def terminate_is_interrupt() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C, so that a scheduler's stop is recorded too."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_signum: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    with _handling(interrupt):
        yield


@contextmanager
def _handling(handler: "signal._HANDLER") -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)
