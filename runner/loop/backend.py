"""The Tinker service that a run talks to, through the SDK; no fault of it is waited for in silence.

The SDK retries whatever might be passing for five minutes and polls for a result without end. So a service is
probed before the SDK is asked, opening it is bounded, and while a result is awaited the service must stay reachable.
"""

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import urlsplit

from analysis.errors import AuditError
from runner.loop.faults import Patience, ServiceFault, explain
from runner.loop.stopping import Stop

if TYPE_CHECKING:
    import tinker

EMBEDDED = "embedded"
LOOPBACK_KEY = "tml-local"
PROBE_SECONDS = 5.0
OPEN_SECONDS = 60.0
POLL_SECONDS = 0.25
LOOK_SECONDS = 5.0
UNREACHABLE_SECONDS = 20.0

Answer = TypeVar("Answer", covariant=True)
Made = TypeVar("Made")


class Pending(Protocol[Answer]):
    """A future of the SDK."""

    def result(self, timeout: float | None = None) -> Answer:
        """Return the result, or raise TimeoutError."""

    def future(self) -> Any:
        """Return the underlying concurrent future."""


@dataclass(frozen=True)
class Backend:
    """An open session with a service.

    Attributes:
        kind: `embedded`, or `url`.
        url: where it listens.
        client: the SDK's client.
        connect: opens another session with the same service; None where there is no way to.
        stop: where it is given, waiting for a result ends when the run is asked to stop.
        patience: how long a result is waited for, and how often sampling is asked for again.
    """

    kind: str
    url: str
    client: "tinker.ServiceClient"
    connect: "Callable[[], tinker.ServiceClient] | None" = None
    stop: Stop | None = None
    patience: Patience = field(default_factory=Patience)

    def stopping_on(self, stop: Stop) -> "Backend":
        """Return the same session, for work that may be given up at any moment."""
        return replace(self, stop=stop)

    def reconnected(self) -> "Backend":
        """Return a fresh session with the same service: one that was started again knows nothing of this one.

        Raises:
            ServiceFault: it cannot be reached.
            AuditError: it is the embedded service, and its process has ended.
        """
        if not _reachable(self.url):
            if self.kind == EMBEDDED:
                raise AuditError(
                    "the embedded service has ended; the end of state/service.log in the run directory says why. The "
                    "state is kept: the same command with --resume goes on"
                )
            raise ServiceFault(f"{self.url}: nothing answers there")
        return self if self.connect is None else replace(self, client=self.connect())

    def submit(self, doing: str, request: Callable[[], Made]) -> Made:
        """Send a request that the SDK may refuse at once.

        Raises:
            ServiceFault: the service failed in a way that may pass.
            AuditError: the SDK or the service refused it.
        """
        try:
            return request()
        except Exception as error:
            raise explain(doing, self.url, error) from error

    def wait(self, doing: str, pending: Pending[Answer]) -> Answer:
        """Return the result of a request, as long as the service stays reachable.

        Raises:
            ServiceFault: the service failed, went away, or gave no result in time.
            AuditError: the service refused the request.
            Stopped: the run was asked to stop, and this session is for work that may be given up.
        """
        begun = seen = looked = time.monotonic()
        try:
            while True:
                if self.stop is not None:
                    self.stop.check()
                try:
                    return pending.result(timeout=POLL_SECONDS)
                except TimeoutError as error:
                    if pending.future().done():
                        raise explain(doing, self.url, error) from error
                except Exception as error:
                    raise explain(doing, self.url, error) from error
                now = time.monotonic()
                if now - looked >= LOOK_SECONDS:
                    looked, seen = now, now if _reachable(self.url) else seen
                if looked - seen > UNREACHABLE_SECONDS:
                    raise ServiceFault(f"{doing}: the service at {self.url} went away and did not come back")
                if now - begun > self.patience.result_seconds:
                    raise ServiceFault(
                        f"{doing}: no result from {self.url} within {self.patience.result_seconds:.0f} seconds "
                        "(--result-seconds)"
                    )
        finally:
            # Whatever is not waited for any longer must not be polled for by the SDK either.
            pending.future().cancel()


def resolve_service(option: str | None, base_model: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return `embedded` or a base URL: the option, else TINKER_BASE_URL, else embedded for a shipped model.

    Raises:
        AuditError: nothing says where the base model is served, or the option is neither.
    """
    from runner.service.catalogue import SHIPPED_MODELS

    chosen = option or environment.get("TINKER_BASE_URL") or (EMBEDDED if base_model in SHIPPED_MODELS else None)
    if chosen is None:
        raise AuditError(
            f"base model {base_model!r} is not shipped ({', '.join(SHIPPED_MODELS)}), so a service must be named: set "
            "TINKER_BASE_URL and TINKER_API_KEY, or pass --service URL (`audit serve` starts a local one)"
        )
    if chosen != EMBEDDED and not _is_address(chosen):
        raise AuditError(
            f"--service {chosen!r}: give `{EMBEDDED}` or a URL that starts with http:// or https:// and names a host, "
            "as in http://127.0.0.1:8000"
        )
    return chosen


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        # Reading the port raises where it is no number from 0 to 65535.
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


@contextmanager
def open_backend(service: str, state: Path) -> Iterator[Backend]:
    """Open a session with a service; the embedded one lives as long as the block.

    Args:
        service: `embedded` or a base URL.
        state: folder for the embedded service's checkpoints and log.

    Raises:
        AuditError: the service cannot be started or reached, or it refuses the API key.
    """
    if service == EMBEDDED:
        from runner.service.process import EmbeddedService

        with (
            EmbeddedService(None, state, state / "service.log") as embedded,
            _connected(EMBEDDED, embedded.url, LOOPBACK_KEY) as backend,
        ):
            yield backend
    else:
        with _connected("url", service, _api_key(service, os.environ)) as backend:
            yield backend


@contextmanager
def _connected(kind: str, url: str, api_key: str) -> Iterator[Backend]:
    os.environ.setdefault("TINKER_TELEMETRY", "0")
    if not _reachable(url):
        raise AuditError(f"{url}: nothing answers there. Start the service, or correct TINKER_BASE_URL or --service")
    try:
        import tinker
    except ImportError:
        raise AuditError(
            "running an experiment needs the tinker SDK. Install it: pip install 'runaudit[train]'"
        ) from None
    opened: list[tinker.ServiceClient] = []

    def connect() -> "tinker.ServiceClient":
        client = tinker.ServiceClient(base_url=url, api_key=api_key)
        _open_session(client, url)
        opened.append(client)
        return client

    status: Any = "errored"
    try:
        yield Backend(kind, url, connect(), connect)
        status = "success"
    except KeyboardInterrupt:
        status = "interrupted"
        raise
    finally:
        for client in opened:
            # A courtesy to the service: a run that is over does not fail because of it.
            with suppress(Exception):
                client.close(status).result(timeout=PROBE_SECONDS)


def _open_session(client: "tinker.ServiceClient", url: str) -> None:
    """Make the SDK open its session, in a thread: it retries a failing service for minutes without a word."""
    failures: list[Exception] = []

    def open_it() -> None:
        try:
            _ = client.holder
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=open_it, name="open-session", daemon=True)
    thread.start()
    thread.join(OPEN_SECONDS)
    if thread.is_alive():
        raise ServiceFault(f"{url}: the service answers, but opened no session within {OPEN_SECONDS:.0f} seconds")
    if failures:
        raise explain("opening a session", url, failures[0]) from failures[0]


def _api_key(url: str, environment: Mapping[str, str]) -> str:
    key = environment.get("TINKER_API_KEY")
    if key:
        return key
    if urlsplit(url).hostname in {"127.0.0.1", "localhost", "::1"}:
        return LOOPBACK_KEY
    raise AuditError(f"{url}: TINKER_API_KEY is not set. Set it to the API key of that service")


def _reachable(url: str) -> bool:
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        with socket.create_connection((parts.hostname or "", port), timeout=PROBE_SECONDS):
            return True
    except OSError:
        return False
