"""What a session holds: training runs and sampling sessions, as clients know them."""

from collections import deque
from dataclasses import dataclass, field

from runner.service.base_models import BaseModel
from runner.service.faults import UserFault
from runner.service.lora import Adapter, LoraSpec
from runner.service.training import TrainingRun


@dataclass
class Run:
    """A training run as clients know it; the worker fills `state` when it creates or loads it."""

    model_id: str
    session_id: str
    base: BaseModel
    base_name: str
    spec: LoraSpec
    state: TrainingRun | None = None
    snapshots: deque[str] = field(default_factory=deque)

    def ready(self) -> TrainingRun:
        """Return the training state.

        Raises:
            UserFault: If its creation failed.
        """
        if self.state is None:
            raise UserFault(f"training run {self.model_id} could not be created")
        return self.state


@dataclass
class Sampler:
    """A sampling session; the worker fills the adapter, which stays None for a base model."""

    base: BaseModel
    base_name: str
    spec: LoraSpec | None
    model_path: str | None = None
    adapter: Adapter | None = None
    failure: str | None = None
