"""A proxy in front of a service that delays, fails, stalls or goes away as a test wants."""

import http.client
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

_HOP = {"connection", "transfer-encoding", "content-length", "host", "keep-alive"}


class Answer:
    """What the proxy says instead of the service.

    Attributes:
        status: of the answer.
        body: of the answer.
        forward: whether the service gets the request all the same: its answer is lost.
    """

    def __init__(self, status, body=b"{}", *, forward=False):
        self.status, self.body, self.forward = status, body, forward


class Proxy:
    """Forwards to `upstream`; `fault(path, body)` may return an `Answer` to give instead.

    Attributes:
        delay: seconds added to each request.
        requests: paths asked for, in order.
    """

    def __init__(self, upstream, *, delay=0.0, fault=lambda path, body: None):
        self.upstream, self.delay, self.fault = urlsplit(upstream), delay, fault
        self.requests = []
        self._port = 0
        self.open()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._port}"

    def open(self):
        """Listen, on the same port as before."""
        proxy = self

        class Handler(_Handler):
            pass

        Handler.proxy = proxy
        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        self._server.daemon_threads = True
        self._port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        self.is_open = True

    def close(self):
        """Refuse connections, and break those that are open at their next request."""
        self.is_open = False
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        if self.is_open:
            self.close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy: Proxy

    def do_POST(self):
        proxy = self.proxy
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.removeprefix("/api/v1/")
        proxy.requests.append(path)
        if not proxy.is_open:
            self.close_connection = True
            return
        time.sleep(proxy.delay)
        answer = proxy.fault(path, body)
        if answer is None or answer.forward:
            status, headers, content = self._forward(body)
        if answer is not None:
            status, headers, content = answer.status, [("Content-Type", "application/json")], answer.body
        with suppress(BrokenPipeError, ConnectionResetError):
            self.send_response(status)
            for name, value in headers:
                if name.lower() not in _HOP:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    do_GET = do_POST

    def _forward(self, body):
        upstream = http.client.HTTPConnection(self.proxy.upstream.hostname, self.proxy.upstream.port, timeout=60)
        try:
            headers = {name: value for name, value in self.headers.items() if name.lower() not in _HOP}
            upstream.request(self.command, self.path, body, headers)
            response = upstream.getresponse()
            return response.status, response.getheaders(), response.read()
        finally:
            upstream.close()

    def log_message(self, *_arguments):
        pass
