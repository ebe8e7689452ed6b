"""The process around the application: loading, signals, the parent's death, and an orderly end."""

import logging
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import torch  # noqa: TID253 (imported by the service process alone)
import uvicorn

from runner.service.app import create_app
from runner.service.base_models import load_base_model
from runner.service.durability import exclusive
from runner.service.engine import Engine
from runner.service.placement import Placement

DRAIN_SECONDS = 30
"""How long an orderly end may take: the running operation finishes and its answer is fetched."""

PARENT_CHECK_SECONDS = 1.0
_log = logging.getLogger(__name__)


class _Server(uvicorn.Server):
    """A server that ends in order: it does not raise the signal again, so the exit code is 0."""

    def __init__(self, config: uvicorn.Config, engine: Engine, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._engine = engine
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self._ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)
        yield

    async def on_tick(self, counter: int) -> bool:
        should_end = await super().on_tick(counter)
        if should_end:
            self._engine.stop()  # answers the polls in flight, which the shutdown then waits for
        return should_end

    def end(self) -> None:
        """Ask for the end; safe from any thread and from a signal handler."""
        self.should_exit = True

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self.end()


def run(
    models: Mapping[str, Path],
    placement: Placement,
    state_dir: Path,
    listener: socket.socket,
    ready: Callable[[], None],
    *,
    die_with_parent: bool,
) -> None:
    """Load the models, serve them on the listening socket, and return after an orderly end.

    Raises:
        AuditError: If a model cannot be read, the device is not there, or another service uses the folder.
    """
    torch.set_num_threads(1)
    parent = os.getppid()
    with exclusive(state_dir):
        _serve(models, placement, state_dir, listener, ready, parent if die_with_parent else None)


def _serve(
    models: Mapping[str, Path],
    placement: Placement,
    state_dir: Path,
    listener: socket.socket,
    ready: Callable[[], None],
    parent: int | None,
) -> None:
    bases = {name: load_base_model(name, folder, placement) for name, folder in models.items()}
    engine = Engine(bases, state_dir)
    config = uvicorn.Config(
        create_app(engine),
        loop="asyncio",
        lifespan="off",
        ws="none",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=DRAIN_SECONDS,
    )
    server = _Server(config, engine, ready)
    if parent is not None:
        watcher = threading.Thread(target=_watch_parent, args=(parent, server), name="parent-watch", daemon=True)
        watcher.start()
    server.run(sockets=[listener])
    engine.stop()


def _watch_parent(parent: int, server: _Server) -> None:
    """End the server when the parent is gone: its end of our standard input closes, or we get another parent.

    The second sign is needed where some other process inherited the parent's end of the pipe.
    """
    stdin = sys.stdin.fileno()
    while os.getppid() == parent:
        readable, _, _ = select.select([stdin], [], [], PARENT_CHECK_SECONDS)
        if readable and not os.read(stdin, 4096):
            break
    _log.info("the parent process is gone; ending")
    server.end()
