"""How a run is carried out: nothing here changes what it measures, so none of it stands in the plan."""

from dataclasses import asdict, dataclass, field
from typing import Any

from runner.loop.faults import Patience

MOST_ARMS_AT_ONCE = 8


@dataclass(frozen=True)
class RunOptions:
    """The switches of `audit run` beside the plan.

    Attributes:
        concurrency: arms at the same time; None: all, but no more than `MOST_ARMS_AT_ONCE`.
        save_every: steps between two saved states of an arm; what was trained after the last one is trained again
            when the process is killed.
        patience: how long service faults are borne.
        gpus: GPUs that the service is taken to hold, for the plan's cap on GPU-hours.
    """

    concurrency: int | None = None
    save_every: int = 1
    patience: Patience = field(default_factory=Patience)
    gpus: float = 1.0

    def arms_at_once(self, arms: int) -> int:
        """Return how many of this many arms run at the same time, at least 1."""
        return max(1, min(arms, self.concurrency or MOST_ARMS_AT_ONCE))

    def described(self) -> dict[str, Any]:
        """Return the options for `run.json`."""
        return asdict(self)
