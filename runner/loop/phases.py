"""Where the wall time went: one record a phase of a step."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

OUTSIDE = -1
"""The step of what belongs to no step."""


@dataclass(frozen=True)
class Phase:
    """A stretch of wall time; `step` is -1 for what belongs to no step."""

    step: int
    phase: str
    started_at: datetime
    seconds: float


class PhaseLog:
    """Collects the phases of one step."""

    def __init__(self, step: int) -> None:
        self._step = step
        self.phases: list[Phase] = []

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Record the block as a phase, if it ends well."""
        started_at, begun = datetime.now(UTC), time.monotonic()
        yield
        self.phases.append(Phase(self._step, phase, started_at, time.monotonic() - begun))

    @property
    def seconds(self) -> float:
        """Wall time of all phases so far."""
        return sum(phase.seconds for phase in self.phases)
