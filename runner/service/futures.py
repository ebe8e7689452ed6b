"""The table of operations that clients come back for.

The SDK may send an operation twice when an answer is lost. The first sending opens the future; the second
finds it, and a different body under the same key is a fault. A result is kept for a while after it was
fetched, in case that answer is lost too, and for longer if nobody came; then it is evicted and only its key
stays, so that a late repetition is never run again.
"""

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

from runner.service.faults import UserFault, unknown

MAX_RECEIPTS = 200_000
SWEEP_SECONDS = 1.0


@dataclass(frozen=True)
class Payload:
    """A finished answer, as it goes over the wire."""

    body: bytes
    media_type: str


@dataclass
class _Entry:
    result: "Future[Payload]" = field(default_factory=Future)
    finished_at: float = 0.0
    fetched_at: float | None = None


class FutureTable:
    """Pending and finished operations by request id. The clock counts seconds and never runs backwards."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        *,
        fetched_seconds: float = 60.0,
        unfetched_seconds: float = 3600.0,
        max_finished: int = 10_000,
    ) -> None:
        self._clock = clock
        self._fetched_seconds = fetched_seconds
        self._unfetched_seconds = unfetched_seconds
        self._max_finished = max_finished
        self._swept_at = clock()
        self._lock = threading.Lock()
        self._pending: dict[str, _Entry] = {}
        self._finished: OrderedDict[str, _Entry] = OrderedDict()
        self._receipts: OrderedDict[str, bytes] = OrderedDict()

    def seen(self, request_id: str, fingerprint: bytes) -> bool:
        """Say whether this very request was received before.

        Raises:
            UserFault: If another request was received under the same id.
        """
        with self._lock:
            known = self._receipts.get(request_id)
        if known is not None and known != fingerprint:
            raise UserFault(f"request {request_id} was received before with another body; use the next seq_id")
        return known is not None

    def open(self, request_id: str, fingerprint: bytes) -> None:
        """Start a pending operation, and drop what is due for eviction."""
        with self._lock:
            self._receipts[request_id] = fingerprint
            self._pending[request_id] = _Entry()
            while len(self._receipts) > MAX_RECEIPTS:
                self._receipts.popitem(last=False)
            self._evict()

    def finish(self, request_id: str, payload: Payload) -> None:
        """Store the answer of a pending operation and wake those who wait for it; later answers are dropped."""
        with self._lock:
            entry = self._pending.pop(request_id, None)
            if entry is None:
                return
            entry.finished_at = self._clock()
            self._finished[request_id] = entry
            self._evict()
        entry.result.set_result(payload)

    def pending_ids(self) -> list[str]:
        """List the operations without an answer."""
        with self._lock:
            return list(self._pending)

    async def fetch(self, request_id: str, timeout: float) -> Payload | None:
        """Wait up to `timeout` seconds for an answer; None if there is none yet.

        Raises:
            UserFault: If the id is unknown or its result was evicted.
        """
        with self._lock:
            entry = self._pending.get(request_id) or self._finished.get(request_id)
            evicted = request_id in self._receipts
        if entry is None:
            raise (
                unknown("request", request_id)
                if not evicted
                else UserFault(
                    f"the result of request {request_id} was fetched or left for too long and is gone", status=404
                )
            )
        # asyncio.wait leaves the future alone when the time is up or the client hangs up; wait_for would cancel it.
        await asyncio.wait([asyncio.wrap_future(entry.result)], timeout=timeout)
        if not entry.result.done():
            return None
        with self._lock:
            entry.fetched_at = self._clock()
        return entry.result.result()

    def _evict(self) -> None:
        """Drop finished entries by age, then the oldest ones above the count. Called with the lock held."""
        now = self._clock()
        if now - self._swept_at < SWEEP_SECONDS and len(self._finished) <= self._max_finished:
            return
        self._swept_at = now
        for request_id, entry in list(self._finished.items()):
            if entry.fetched_at is not None:
                due = now - entry.fetched_at > self._fetched_seconds
            else:
                due = now - entry.finished_at > self._unfetched_seconds
            if due or len(self._finished) > self._max_finished:
                del self._finished[request_id]
