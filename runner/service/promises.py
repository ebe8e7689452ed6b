"""Promises: work that is queued for the worker thread, and the future that tells the client how it ended.

The tables are touched by the event loop's thread alone; work runs on the worker thread.
"""

import json
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from runner.service.faults import UserFault
from runner.service.futures import FutureTable, Payload
from runner.service.queue import WorkQueue

Promise = dict[str, Any]
Work = Callable[[], Payload]
Result = TypeVar("Result")
_log = logging.getLogger(__name__)


class Answer(Generic[Result]):
    """An open future that waits for one result, or for the failure to get it."""

    def __init__(self, settle: Callable[[Work], None], encode: Callable[[Result], Payload]) -> None:
        self._settle = settle
        self._encode = encode

    def give(self, result: Result) -> None:
        """Answer with a result."""
        self._settle(lambda: self._encode(result))

    def fail(self, error: Exception) -> None:
        """Answer with a failure."""

        def raising() -> Payload:
            raise error

        self._settle(raising)


class Promises:
    """Queues work and answers its future, whatever becomes of it; a request sent again gets the same promise."""

    def __init__(self, futures: FutureTable) -> None:
        self._futures = futures
        self._queue = WorkQueue()
        self._stopping = False

    def seen(self, request_id: str, fingerprint: bytes) -> bool:
        """Return whether this request was sent before.

        Raises:
            UserFault: If it was sent with another body.
        """
        return self._futures.seen(request_id, fingerprint)

    def now(self, request_id: str, fingerprint: bytes, work: Work) -> None:
        """Queue work that waits for nothing but the worker."""
        self._futures.open(request_id, fingerprint)
        self._queue.submit(self._answering(request_id, work))

    def open(self, request_id: str, fingerprint: bytes, encode: Callable[[Result], Payload]) -> Answer[Result]:
        """Open a future that other queued work will answer."""
        self._futures.open(request_id, fingerprint)
        return Answer(lambda work: self._answering(request_id, work)(), encode)

    def unanswered(self, work: Callable[[], None]) -> None:
        """Queue work that no client waits for."""
        self._queue.submit(work)

    def open_lane(self, lane: str) -> None:
        """Begin the numbered work of a training run; its first number is 1."""
        self._queue.open_lane(lane, first=1)

    def close_session(self, session_id: str, lanes: list[str]) -> None:
        """Drop the lanes of a session; what waits in them for a number that now never comes is answered."""
        for lane in lanes:
            self._queue.close_lane(lane)
        self._queue.submit(lambda: self._fail_pending(f"{session_id}:", "the session is finished", "user"))

    def in_turn(
        self, lane: str, number: int, fingerprint: bytes, work: Work, check: Callable[[], None] = lambda: None
    ) -> Promise:
        """Queue numbered work of a lane; the check runs only on the first sending, before anything is recorded."""
        request_id = f"{lane}:{number}"
        if not self._futures.seen(request_id, fingerprint):
            check()
            self._queue.check_turn(lane, number)
            self._futures.open(request_id, fingerprint)
            self._queue.submit_in_turn(lane, number, self._answering(request_id, work))
        return {"request_id": request_id, "model_id": lane}

    def stop(self) -> None:
        """Finish the running operation, fail those that wait, and return at once."""
        if not self._stopping:
            self._stopping = True
            self._queue.stop()
            threading.Thread(target=self._fail_waiting, name="service-drain").start()

    def _fail_waiting(self) -> None:
        self._queue.join()
        self._fail_pending("", "the service is shutting down", "server")

    def _fail_pending(self, prefix: str, message: str, category: str) -> None:
        for request_id in self._futures.pending_ids():
            if request_id.startswith(prefix):
                self._futures.finish(request_id, _failure(message, category))

    def _answering(self, request_id: str, work: Work) -> Callable[[], None]:
        """Wrap work so that its result, or its failure, becomes the answer of its future."""

        def run() -> None:
            try:
                payload = work()
            except UserFault as fault:
                payload = _failure(fault.message, "user")
            except Exception as error:
                # Whatever it was, the client must hear of it: without an answer it would poll for ever.
                _log.exception("request %s failed", request_id)
                payload = _failure(f"{type(error).__name__}: {error}", "server")
            self._futures.finish(request_id, payload)

        return run


def json_payload(content: Mapping[str, Any]) -> Payload:
    """Return content as a JSON answer."""
    return Payload(json.dumps(content, allow_nan=False).encode(), "application/json")


def _failure(message: str, category: str) -> Payload:
    return json_payload({"error": message, "category": category})
