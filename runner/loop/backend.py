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
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import urlsplit

from analysis.errors import AuditError

if TYPE_CHECKING:
    import tinker

EMBEDDED = "embedded"
LOOPBACK_KEY = "tml-local"
PROBE_SECONDS = 5.0
OPEN_SECONDS = 60.0
POLL_SECONDS = 5.0
UNREACHABLE_SECONDS = 20.0
RESULT_SECONDS = 3600.0

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
    """

    kind: str
    url: str
    client: "tinker.ServiceClient"

    def submit(self, doing: str, request: Callable[[], Made]) -> Made:
        """Send a request that the SDK may refuse at once.

        Raises:
            AuditError: the SDK or the service refused it.
        """
        try:
            return request()
        except Exception as error:
            raise explain(doing, self.url, error) from error

    def wait(self, doing: str, pending: Pending[Answer]) -> Answer:
        """Return the result of a request, as long as the service stays reachable.

        Raises:
            AuditError: the service refused the request, went away, or gave no result within an hour.
        """
        begun = time.monotonic()
        last_seen = begun
        while True:
            try:
                return pending.result(timeout=POLL_SECONDS)
            except TimeoutError as error:
                if pending.future().done():
                    raise explain(doing, self.url, error) from error
            except Exception as error:
                raise explain(doing, self.url, error) from error
            now = time.monotonic()
            last_seen = now if _reachable(self.url) else last_seen
            if now - last_seen > UNREACHABLE_SECONDS:
                raise AuditError(f"{doing}: the service at {self.url} went away and did not come back")
            if now - begun > RESULT_SECONDS:
                raise AuditError(f"{doing}: no result from {self.url} within {RESULT_SECONDS:.0f} seconds")


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
    if chosen != EMBEDDED and urlsplit(chosen).scheme not in {"http", "https"}:
        raise AuditError(f"--service {chosen!r}: give `{EMBEDDED}` or a URL that starts with http:// or https://")
    return chosen


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
    client = tinker.ServiceClient(base_url=url, api_key=api_key)
    _open_session(client, url)
    status: Any = "errored"
    try:
        yield Backend(kind, url, client)
        status = "success"
    except KeyboardInterrupt:
        status = "interrupted"
        raise
    finally:
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
        raise AuditError(f"{url}: the service answers, but opened no session within {OPEN_SECONDS:.0f} seconds")
    if failures:
        raise explain("opening a session", url, failures[0]) from failures[0]


def explain(doing: str, url: str, error: Exception) -> AuditError:
    """Return what an SDK error means for the person who runs the experiment."""
    import tinker

    said = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if isinstance(error, tinker.AuthenticationError | tinker.PermissionDeniedError) or "api_key" in said:
        return AuditError(f"{doing}: {url} does not accept the API key ({said}). Set TINKER_API_KEY")
    if isinstance(error, tinker.APIConnectionError):
        return AuditError(f"{doing}: no connection to {url} ({said}). Is the service still running?")
    return AuditError(f"{doing}: {url} refused ({said})")


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
