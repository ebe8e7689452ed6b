"""Faults of the service: which may pass, what they mean for a person, and how long they are borne.

What we rely on, read in tinker 0.38: a training request carries a number, `seq_id`, of its training run, and the SDK
sends it again under that number for up to 300 seconds (`InternalClientHolder.execute_with_retries`), so that a service
which has seen the number answers without running it twice. A result is polled for without end. Once the SDK gives up
we cannot know whether an `optim_step` or a `forward_backward` was applied, so neither is ever sent again by us: the
training client is dropped, and the arm goes back to its last saved state (`runner.loop.arms`). Only sampling, which
changes no weights and carries its seed, is asked for again.
"""

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from analysis.errors import AuditError
from runner.loop.stopping import Stop

_PASSING_STATUS = (404, 408, 409, 410, 429)
_LONGEST_PAUSE = 30.0

Clock = Callable[[], float]


class ServiceFault(AuditError):
    """A fault of the service, or of the way to it, that may pass.

    Attributes:
        gone: the service does not know what was asked for: it was started again, or it never was there.
    """

    def __init__(self, message: str, *, gone: bool = False) -> None:
        super().__init__(message)
        self.gone = gone


@dataclass(frozen=True)
class Patience:
    """How long faults are borne.

    Attributes:
        retries: how often one piece of work is tried again; 0: never.
        seconds: how long, from its first fault.
        result_seconds: after this long without a result a request counts as stalled.
    """

    retries: int = 20
    seconds: float = 900.0
    result_seconds: float = 1800.0


class Trials:
    """Counts the faults of one piece of work, and says when it is enough.

    Args:
        patience: the bounds.
        stop: a pause ends when the run is asked to stop.
        record: told of each fault, with how many there were and the pause that follows in seconds.
        clock: seconds, never backwards.
    """

    def __init__(
        self,
        patience: Patience,
        stop: Stop,
        record: Callable[[ServiceFault, int, float], None],
        clock: Clock = time.monotonic,
    ) -> None:
        self._patience, self._stop, self._record, self._clock = patience, stop, record, clock
        self.progressed()

    def progressed(self) -> None:
        """Begin to count anew: the work went on."""
        self._pauses: Iterator[float] = (min(2.0**power, _LONGEST_PAUSE) for power in itertools.count())
        self._faults = 0
        self._first_at: float | None = None

    def bear(self, fault: ServiceFault) -> None:
        """Record a fault and wait a while, longer each time.

        Raises:
            AuditError: the bounds are reached.
            Stopped: the run was asked to stop.
        """
        now = self._clock()
        self._first_at = now if self._first_at is None else self._first_at
        self._faults += 1
        spent, pause = now - self._first_at, next(self._pauses)
        given_up = self._faults > self._patience.retries or spent + pause > self._patience.seconds
        self._record(fault, self._faults, 0.0 if given_up else pause)
        if given_up:
            raise AuditError(
                f"{fault.message}\nGiven up after {self._faults} tries in {spent:.0f} seconds (--retries "
                f"{self._patience.retries}, --retry-seconds {self._patience.seconds:.0f}). The state is kept: the same "
                "command with --resume goes on once the service is well"
            ) from fault
        self._stop.pause(pause)


def explain(doing: str, url: str, error: Exception) -> AuditError:
    """Return what an SDK error means for the person who runs the experiment; a `ServiceFault` may pass."""
    import httpx
    import tinker
    from tinker.lib.retryable_exception import RetryableException

    said = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    # The SDK wraps the answer to a poll in a ValueError.
    cause = error.__cause__ if isinstance(error.__cause__, tinker.APIStatusError) else error
    if isinstance(cause, tinker.AuthenticationError | tinker.PermissionDeniedError) or "api_key" in said:
        return AuditError(f"{doing}: {url} does not accept the API key ({said}). Set TINKER_API_KEY")
    if isinstance(cause, tinker.APIConnectionError | httpx.TransportError | TimeoutError):
        return ServiceFault(f"{doing}: no connection to {url} ({said}). Is the service still running?")
    if isinstance(cause, tinker.APIStatusError) and (
        cause.status_code in _PASSING_STATUS or 500 <= cause.status_code < 600
    ):
        gone = cause.status_code in (404, 410)
        return ServiceFault(f"{doing}: {url} answered {cause.status_code} ({said})", gone=gone)
    if isinstance(cause, RetryableException):
        return ServiceFault(f"{doing}: {url} lost the request ({said})", gone=True)
    if isinstance(cause, tinker.RequestFailedError) and cause.category is not tinker.types.RequestErrorCategory.User:
        return ServiceFault(f"{doing}: {url} failed ({said})")
    return AuditError(f"{doing}: {url} refused ({said})")
