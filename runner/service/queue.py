"""One worker thread for everything that touches the network, with an order inside each training run.

Operations of a run carry consecutive numbers and are run in their order, whatever order they arrive in: the
SDK cuts large batches into requests and sends the first of them last. Everything else runs as it arrives.
"""

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from runner.service.faults import UserFault

MAX_WAITING = 4096

Work = Callable[[], None]
"""Work must not raise: it turns its own failures into answers."""


@dataclass
class _Lane:
    next_number: int
    waiting: dict[int, Work] = field(default_factory=dict)


class WorkQueue:
    """Runs work on one thread. `stop` lets the running piece end and leaves the rest undone."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._ready: deque[Work] = deque()
        self._lanes: dict[str, _Lane] = {}
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="service-worker", daemon=True)
        self._thread.start()

    def open_lane(self, lane: str, first: int) -> None:
        """Start an ordered lane whose first number is `first`."""
        with self._condition:
            self._lanes[lane] = _Lane(first)

    def close_lane(self, lane: str) -> None:
        """Forget a lane, and with it the work that still waits for its turn."""
        with self._condition:
            self._lanes.pop(lane, None)

    def check_turn(self, lane: str, number: int) -> None:
        """Check that a number can still get its turn.

        Raises:
            UserFault: If its turn is over, it is taken, or too many wait in front of a missing one.
        """
        with self._condition:
            state = self._lanes[lane]
            if number < state.next_number or number in state.waiting:
                raise UserFault(f"{lane}: seq_id {number} is used up; the next is {state.next_number}")
            if len(state.waiting) >= MAX_WAITING:
                raise UserFault(f"{lane}: {MAX_WAITING} requests wait for seq_id {state.next_number}")

    def submit(self, work: Work) -> None:
        """Run work after what is ready now."""
        with self._condition:
            self._ready.append(work)
            self._condition.notify()

    def submit_in_turn(self, lane: str, number: int, work: Work) -> None:
        """Run work once all smaller numbers of its lane are ready before it."""
        with self._condition:
            state = self._lanes[lane]
            state.waiting[number] = work
            while state.next_number in state.waiting:
                self._ready.append(state.waiting.pop(state.next_number))
                state.next_number += 1
            self._condition.notify()

    def stop(self) -> None:
        """Take no further work; what runs now is finished. Returns at once."""
        with self._condition:
            self._stopping = True
            self._condition.notify()

    def join(self) -> None:
        """Wait until the worker has ended after `stop`."""
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._ready or self._stopping)
                if self._stopping:
                    return
                work = self._ready.popleft()
            work()
