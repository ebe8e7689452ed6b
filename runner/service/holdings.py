"""What the service holds: base models, and by session the training runs and sampling sessions.

The tables are touched by the event loop's thread alone. Sessions and those sampling sessions that can be made
again are written down, as are uploaded losses, so that they outlive the service.
"""

import logging
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from runner.service.base_models import BaseModel
from runner.service.checkpoints import CheckpointStore, Description
from runner.service.custom_losses.loss import CustomLoss, read_custom_loss
from runner.service.faults import UserFault, unknown
from runner.service.lora import LoraSpec
from runner.service.requests import CreateCustomLoss
from runner.service.samplers import Sampler
from runner.service.session_journal import SamplerRecord, SessionJournal, SessionRecord
from runner.service.training import TrainingRun

MAX_SNAPSHOTS = 16
"""Unnamed sampler weights kept in memory for each training run; the oldest go first."""

MAX_LOSSES = 256
"""Uploaded losses that a session may hold."""

_log = logging.getLogger(__name__)


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


class Holdings:
    """The tables, and the checkpoints that they refer to."""

    def __init__(self, bases: Mapping[str, BaseModel], state_dir: Path) -> None:
        self.store = CheckpointStore(state_dir)
        self.bases = dict(bases)
        self._journal = SessionJournal(state_dir)
        self._sessions: dict[str, SessionRecord] = {}
        self._runs: dict[str, Run] = {}
        self._samplers: dict[str, Sampler] = {}
        self._losses: dict[str, CustomLoss] = {}
        for session_id, record in self._journal.read().items():
            self._restore(session_id, record)

    def open_session(self, session_id: str) -> None:
        """Begin a session."""
        self._sessions[session_id] = SessionRecord()
        self._journal.write(session_id, self._sessions[session_id])

    def require_session(self, session_id: str) -> None:
        """Check that a session is open.

        Raises:
            UserFault: If it never was, or is finished.
        """
        if session_id not in self._sessions:
            raise unknown("or finished session", session_id)

    def close_session(self, session_id: str) -> list[str]:
        """Forget a session and what it holds; saved checkpoints stay.

        Returns:
            The ids of its training runs.

        Raises:
            UserFault: If it is not open.
        """
        self.require_session(session_id)
        del self._sessions[session_id]
        self._journal.remove(session_id)
        runs = [model_id for model_id in self._runs if model_id.startswith(f"{session_id}:")]
        for model_id in runs:
            del self._runs[model_id]
        for table in (self._samplers, self._losses):
            for name in [name for name in table if name.startswith(f"{session_id}:")]:
                del table[name]
        return runs

    def add_run(self, run: Run) -> None:
        """Hold a training run."""
        self._runs[run.model_id] = run

    def run(self, model_id: str) -> Run:
        """Find a training run.

        Raises:
            UserFault: If there is none; the message names the last saved state if the run has one.
        """
        if model_id not in self._runs:
            saved = self.store.saved_states(model_id)
            if not saved:
                raise unknown("training run", model_id)
            raise UserFault(
                f"unknown training run {model_id!r}: its session is finished, or the service was started again; its "
                f"last saved state is {saved[-1]} (create_training_client_from_state_with_optimizer goes on from it)",
                status=404,
            )
        return self._runs[model_id]

    def add_sampler(self, session_id: str, sampler_id: str, sampler: Sampler) -> bool:
        """Hold a sampling session on a base model or a checkpoint, and write it down.

        Returns:
            Whether it is new; an identical one may be added again.

        Raises:
            UserFault: If its id stands for other weights.
        """
        known = self._samplers.get(sampler_id)
        if known is not None:
            if (known.base_name, known.model_path) != (sampler.base_name, sampler.model_path):
                raise UserFault(f"sampling session {sampler_id} exists with other weights")
            return False
        self._samplers[sampler_id] = sampler
        self._sessions[session_id].samplers[sampler_id] = SamplerRecord(sampler.base_name, sampler.model_path)
        self._journal.write(session_id, self._sessions[session_id])
        return True

    def add_snapshot(self, run: Run, sampler_id: str, sampler: Sampler) -> None:
        """Hold unnamed weights of a run, and let the oldest go if there are too many."""
        self._samplers[sampler_id] = sampler
        run.snapshots.append(sampler_id)
        if len(run.snapshots) > MAX_SNAPSHOTS:
            self._samplers.pop(run.snapshots.popleft(), None)

    def has_sampler(self, sampler_id: str) -> bool:
        """Say whether a sampling session's id is in use."""
        return sampler_id in self._samplers

    def sampler(self, sampler_id: str) -> Sampler:
        """Find a sampling session.

        Raises:
            UserFault: If there is none; the message says how that can be.
        """
        if sampler_id not in self._samplers:
            raise UserFault(
                f"unknown sampling session {sampler_id!r}: its session is finished, or it stands for unnamed weights "
                f"and the service was started again or {MAX_SNAPSHOTS} later ones of its training run came "
                "(save_weights_for_sampler with a name keeps weights)",
                status=404,
            )
        return self._samplers[sampler_id]

    def add_loss(self, request: CreateCustomLoss) -> str:
        """Hold a loss for the training runs of its session, write it down and return its id.

        Raises:
            UserFault: If it is not allowed, there are too many, or its id stands for another loss.
        """
        self.require_session(request.session_id)
        losses, content = self._sessions[request.session_id].losses, request.model_dump(mode="json")
        loss_id = f"{request.session_id}:loss:{request.custom_loss_seq_id}"
        if loss_id in losses:
            if losses[loss_id] != content:
                raise UserFault(f"custom loss {loss_id} exists with another graph")
            return loss_id
        if len(losses) >= MAX_LOSSES:
            raise UserFault(f"this session holds {MAX_LOSSES} custom losses already; finish it and open another")
        self._losses[loss_id] = read_custom_loss(request)
        losses[loss_id] = content
        self._journal.write(request.session_id, self._sessions[request.session_id])
        return loss_id

    def loss(self, session_id: str, loss_id: str | None) -> CustomLoss:
        """Find an uploaded loss of a session.

        Raises:
            UserFault: If that session holds no such loss.
        """
        if loss_id is None:
            raise UserFault("custom: loss_fn_config must name the loss_id that create_custom_loss gave")
        if loss_id not in self._losses or not loss_id.startswith(f"{session_id}:"):
            raise UserFault(
                f"unknown custom loss {loss_id!r} in session {session_id}: a loss is used in the session that created "
                "it, as long as that is open",
                status=404,
            )
        return self._losses[loss_id]

    def base(self, name: str) -> BaseModel:
        """Find a base model by its name, or by its folder, under which `SamplingClient.get_tokenizer` works.

        Raises:
            UserFault: If there is none; the message names those there are.
        """
        for known, base in self.bases.items():
            if name in (known, str(base.folder)):
                return base
        raise unknown("base model", name, ", ".join(self.bases))

    def base_of(self, path: str, found: Description, name: str) -> BaseModel:
        """Find the base model of a checkpoint under the name that a client gives it.

        Raises:
            UserFault: If there is none, or it has other weights than the checkpoint was trained on.
        """
        base = self.base(name)
        if base.fingerprint != found.base_fingerprint:
            raise UserFault(f"{path} was trained on {found.base_model!r} with other weights than {name!r} has here")
        return base

    def sampler_of(self, path: str, name: str | None) -> Sampler:
        """Make a sampling session's weights from a checkpoint; they are read when `fill` is called.

        Raises:
            UserFault: If there is no such checkpoint, or its base model is not here.
        """
        found = self.store.describe(path)
        name = name or found.base_model
        base = self.base_of(path, found, name)
        return Sampler(base, name, found.spec, path, lambda: self.store.load_adapter(path))

    def _restore(self, session_id: str, record: SessionRecord) -> None:
        """Take up a session again; what cannot be had any more, such as a base model's sampler, is left out."""
        self._sessions[session_id] = SessionRecord(dict(record.samplers), dict(record.losses))
        for sampler_id, sampler in record.samplers.items():
            try:
                if sampler.model_path is None:
                    self._samplers[sampler_id] = Sampler(self.base(sampler.base_model), sampler.base_model)
                else:
                    self._samplers[sampler_id] = self.sampler_of(sampler.model_path, sampler.base_model)
            except UserFault:
                del self._sessions[session_id].samplers[sampler_id]
        for loss_id, content in record.losses.items():
            try:
                self._losses[loss_id] = read_custom_loss(CreateCustomLoss.model_validate(content))
            except (UserFault, ValidationError) as error:
                # It was allowed by the version that kept it.
                _log.warning("custom loss %s is not taken up again: %s", loss_id, error)
                del self._sessions[session_id].losses[loss_id]
