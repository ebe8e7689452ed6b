"""The plan's budget: what was spent of it, and whether the next piece of work still fits."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from analysis.plan.model import Budget


@dataclass(frozen=True)
class BudgetClock:
    """Wall time against the plan's caps.

    Attributes:
        budget: of the plan; None: nothing is capped.
        gpus: how many GPUs the service is taken to hold while the run is at work: GPU-hours are wall hours times this.
        elapsed: seconds that this run has been at work, earlier attempts included.
        spent_before: seconds of the pilot that this run rests on: the budget is the whole experiment's.
    """

    budget: Budget | None
    gpus: float
    elapsed: Callable[[], float]
    spent_before: float = 0.0

    @property
    def cap_seconds(self) -> float | None:
        """The wall time at which the first cap is reached; a plan of 0 GPU-hours plans no GPU: wall time is capped."""
        if self.budget is None:
            return None
        caps = [self.budget.max_wall_minutes * 60.0]
        if self.budget.gpu_hours > 0 and self.gpus > 0:
            caps.append(self.budget.gpu_hours * 3600.0 / self.gpus)
        return min(caps)

    @property
    def spent_seconds(self) -> float:
        """Wall time that the experiment has taken so far."""
        return self.spent_before + self.elapsed()

    @property
    def share_used(self) -> float | None:
        """Share of the tighter cap that is used; None without a budget."""
        return None if self.cap_seconds is None else self.spent_seconds / self.cap_seconds

    def allows(self, seconds: float) -> bool:
        """Return whether work of this length would end before the cap."""
        return self.cap_seconds is None or self.spent_seconds + seconds <= self.cap_seconds


class Pace:
    """The longest of each kind of work so far; safe from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._longest: dict[str, float] = {}

    def note(self, work: str, seconds: float) -> None:
        """Remember how long a piece of work took."""
        with self._lock:
            self._longest[work] = max(seconds, self._longest.get(work, 0.0))

    def longest(self, work: str) -> float:
        """Return the longest so far, 0 where there was none."""
        return self._longest.get(work, 0.0)
