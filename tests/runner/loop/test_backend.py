"""Faults of a service become one clear error, soon."""

import os
import socket
import subprocess
import sys
import threading
from concurrent.futures import Future
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from analysis.errors import AuditError
from runner.loop import backend as module
from runner.loop.backend import Backend, open_backend, resolve_service
from runner.loop.faults import Patience, ServiceFault
from runner.loop.stopping import Stop, Stopped

# The SDK never closes the connection over which it fetches its configuration; whenever that is collected, it warns.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


def test_the_option_wins_then_the_environment_then_the_shipped_model():
    assert resolve_service("http://a:1", "tiny-addition", {"TINKER_BASE_URL": "http://b:2"}) == "http://a:1"
    assert resolve_service(None, "tiny-addition", {"TINKER_BASE_URL": "http://b:2"}) == "http://b:2"
    assert resolve_service(None, "tiny-addition", {}) == "embedded"
    with pytest.raises(AuditError, match="TINKER_BASE_URL"):
        resolve_service(None, "Qwen/Qwen3-8B", {})
    with pytest.raises(AuditError, match="http://"):
        resolve_service("localhost:8000", "tiny-addition", {})


@pytest.mark.parametrize(
    "url",
    ["ftp://host", "host:8000", "http://", "http://host:port", 'http://127.0.0.1:37687",', "http://[::1", "http://h:0"],
)
def test_what_is_no_address_is_refused_with_one_that_is(url):
    with pytest.raises(AuditError, match=r"as in http://127\.0\.0\.1:8000"):
        resolve_service(url, "any/model", {})


def test_a_remote_service_needs_a_key_and_a_local_one_does_not(tmp_path, monkeypatch):
    monkeypatch.delenv("TINKER_API_KEY", raising=False)
    with (
        pytest.raises(AuditError, match="TINKER_API_KEY is not set"),
        open_backend("https://example.invalid", tmp_path),
    ):
        pass


def test_nothing_listening_is_said_at_once(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(AuditError, match="nothing answers"), open_backend(f"http://127.0.0.1:{port}", tmp_path):
        pass


@pytest.fixture
def http_service():
    """A server that answers every request with one status."""
    servers = []

    def start(status):
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                self.send_response(status)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            do_GET = do_POST

            def log_message(self, *_arguments):
                pass

        server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.slow
@pytest.mark.usefixtures("sdk")
@pytest.mark.parametrize(
    ("status", "key", "said"),
    [
        (401, "tml-some-key", "does not accept the API key"),
        (200, "not-a-key", "does not accept the API key"),
        (404, "tml-some-key", "opening a session"),
    ],
)
def test_a_service_that_refuses_is_one_message_on_the_command_line(http_service, tmp_path, status, key, said):
    # In a process of its own: the SDK leaves its sockets open when it cannot open a session.
    root = Path(module.__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root), "TINKER_API_KEY": key}
    out = tmp_path / "pilot"
    words = ["run", "demo", "--pilot", "--out", str(out), "--service", http_service(status)]
    done = subprocess.run(
        [sys.executable, "-m", "runner.cli.main", *words], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not out.exists()


class _Client:
    def __init__(self, opening):
        self._opening = opening

    @property
    def holder(self):
        return self._opening()


def test_a_service_that_fails_on_and_on_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(module, "OPEN_SECONDS", 0.05)
    never = threading.Event()
    with pytest.raises(AuditError, match="opened no session"):
        module._open_session(_Client(never.wait), "http://service")
    never.set()


@pytest.mark.usefixtures("sdk")
def test_what_the_sdk_says_while_opening_is_passed_on():
    import tinker

    def refuse():
        raise tinker.TinkerError("The api_key must start with the 'tml-' prefix")

    with pytest.raises(AuditError, match="Set TINKER_API_KEY"):
        module._open_session(_Client(refuse), "http://service")


class _Never:
    def __init__(self):
        self.pending = Future()

    def result(self, timeout=None):
        raise TimeoutError

    def future(self):
        return self.pending


def test_a_service_that_went_away_is_noticed_while_waiting(monkeypatch):
    monkeypatch.setattr(module, "UNREACHABLE_SECONDS", 0.0)
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.0)
    gone = Backend("url", "http://127.0.0.1:1", None)
    with pytest.raises(AuditError, match=r"sampling x: the service at .* went away"):
        gone.wait("sampling x", _Never())


def test_a_result_that_never_comes_is_given_up():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        stuck = Backend("url", url, None, patience=Patience(result_seconds=0.0))
        with pytest.raises(ServiceFault, match="no result"):
            stuck.wait("sampling x", _Never())


def test_waiting_ends_when_the_run_is_asked_to_stop():
    stop, pending = Stop(), _Never()
    stop.ask("interrupted")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with pytest.raises(Stopped):
            Backend("url", url, None).stopping_on(stop).wait("sampling x", pending)
    assert pending.pending.cancelled(), "the SDK would go on to poll"


@pytest.mark.usefixtures("sdk")
def test_an_unknown_model_is_said_and_leaves_nothing_behind(run_small, make_plan, tmp_path):
    out = tmp_path / "pilot"
    with pytest.raises(AuditError, match="nobody/knows-it"):
        run_small(make_plan(base_model="nobody/knows-it"), "pilot", out)
    assert not out.exists()
