"""The service as a child process, for as long as a `with` block lasts."""

import json
import os
import selectors
import site
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from analysis.errors import AuditError
from runner.service.catalogue import SHIPPED_MODELS

START_SECONDS = 180.0
"""How long a start may take: importing torch and reading the models from a cold disk."""

STOP_SECONDS = 40.0
"""How long an orderly end may take before the process is killed."""

LOG_TAIL_LINES = 20


class EmbeddedService:
    """A Tinker service on loopback that lives as long as the block, and never longer than this process.

    Args:
        models: Hugging Face folders by name; None for the shipped models.
        state_dir: The folder for checkpoints.
        log_path: The file that receives the service's log; it is appended to.
        start_seconds: How long to wait until it is ready.
    """

    def __init__(
        self,
        models: Mapping[str, Path] | None,
        state_dir: Path,
        log_path: Path,
        *,
        start_seconds: float = START_SECONDS,
    ) -> None:
        self._models = dict(SHIPPED_MODELS if models is None else models)
        self._state_dir = state_dir
        self._log_path = log_path
        self._start_seconds = start_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._url = ""

    @property
    def url(self) -> str:
        """The base URL for the SDK, such as `http://127.0.0.1:40123`; only inside the block."""
        if not self._url:
            raise RuntimeError("the service runs only inside its with block")
        return self._url

    @property
    def pid(self) -> int:
        """The process id of the service; only inside the block."""
        if self._process is None:
            raise RuntimeError("the service runs only inside its with block")
        return self._process.pid

    def __enter__(self) -> Self:
        """Start the service and wait until it serves.

        Raises:
            AuditError: If it ends or is not ready in time; the message holds the end of its log.
        """
        self._log_path.parent.mkdir(parents=True, exist_ok=True)
        arguments = [f"--model={name}={folder}" for name, folder in self._models.items()]
        with self._log_path.open("ab") as log:
            self._process = subprocess.Popen(
                # -P: the working directory may hold folders named like our packages.
                [sys.executable, "-P", "-m", "runner.service", *arguments, "--state-dir", str(self._state_dir),
                 "--die-with-parent"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=_environment(),
                start_new_session=True,  # Ctrl-C is for us: we end the service when our work is put away
            )  # fmt: skip
        try:
            self._url = self._wait_until_ready(self._process)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the service in order, or kill it if that takes too long."""
        self._end()

    def _wait_until_ready(self, process: "subprocess.Popen[bytes]") -> str:
        assert process.stdout is not None
        deadline = time.monotonic() + self._start_seconds
        line = b""
        os.set_blocking(process.stdout.fileno(), False)
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                left = deadline - time.monotonic()
                if left <= 0 or not selector.select(left):
                    raise AuditError(self._story(f"was not ready after {self._start_seconds:.0f} seconds"))
                piece = process.stdout.read()
                if piece == b"":
                    raise AuditError(self._story(f"ended with code {process.wait()} before it was ready"))
                line += piece or b""
        return str(json.loads(line)["url"])

    def _story(self, what: str) -> str:
        lines = self._log_path.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_TAIL_LINES:]
        return "\n".join([f"the local service {what}. The end of {self._log_path}:", *lines])

    def _end(self) -> None:
        process, self._process, self._url = self._process, None, ""
        if process is None:
            return
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


def _environment() -> dict[str, str]:
    """Return the child's environment, in which `runner` is the package that we are part of."""
    environment = dict(os.environ)
    root = str(Path(__file__).resolve().parents[2])
    if root not in map(os.path.realpath, [*site.getsitepackages(), site.getusersitepackages()]):
        # A checkout. An installed package needs no help, and its folder must not go before the standard library.
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [root, environment.get("PYTHONPATH")]))
    return environment
