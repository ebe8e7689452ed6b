"""What the service knows: sessions, training runs, sampling sessions, and the work it queues for them.

The tables are touched by the event loop's thread alone. Work is a closure over the objects it needs and runs
on the worker thread; a request is checked before it is queued, so that a fault is answered at once.
"""

import logging
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from runner.service import generation, training
from runner.service.base_models import BaseModel
from runner.service.checkpoints import CheckpointStore, Description, checkpoint_path, taken
from runner.service.faults import UserFault, unknown
from runner.service.futures import FutureTable, Payload
from runner.service.holdings import Run, Sampler
from runner.service.promises import Promise, Promises, json_payload
from runner.service.requests import (
    CreateModel,
    CreateSamplingSession,
    LoadWeights,
    OptimStep,
    Sample,
    SaveWeights,
    SaveWeightsForSampler,
)
from runner.service.training import TrainingRun
from runner.service.wire import PROTOBUF, ForwardBackward, encode_forward_backward, encode_samples

MAX_SNAPSHOTS = 16
"""Unnamed sampler weights kept in memory for each training run; the oldest go first."""

_log = logging.getLogger(__name__)


class Engine:
    """The service behind the HTTP routes: models by name, and a state directory for checkpoints."""

    def __init__(self, bases: Mapping[str, BaseModel], state_dir: Path) -> None:
        self.futures = FutureTable()
        self._bases = dict(bases)
        self._store = CheckpointStore(state_dir)
        self._promises = Promises(self.futures)
        self._sessions: set[str] = set()
        self._runs: dict[str, Run] = {}
        self._samplers: dict[str, Sampler] = {}

    # Sessions and what they hold

    def create_session(self) -> str:
        """Open a session and return its id."""
        session_id = str(uuid.uuid4())
        self._sessions.add(session_id)
        return session_id

    def require_session(self, session_id: str) -> None:
        """Check that a session is open.

        Raises:
            UserFault: If it never was, or is finished.
        """
        if session_id not in self._sessions:
            raise unknown("or finished session", session_id)

    def finish_session(self, session_id: str) -> None:
        """Close a session and free its runs and sampling sessions; saved checkpoints stay."""
        self.require_session(session_id)
        self._sessions.discard(session_id)
        runs = [model_id for model_id in self._runs if model_id.startswith(f"{session_id}:")]
        for model_id in runs:
            del self._runs[model_id]
        for sampler_id in [sampler_id for sampler_id in self._samplers if sampler_id.startswith(f"{session_id}:")]:
            del self._samplers[sampler_id]
        self._promises.close_session(session_id, runs)

    def capabilities(self) -> dict[str, Any]:
        """Describe the base models on offer."""
        return {
            "supported_models": [
                {
                    "model_name": name,
                    "max_context_length": base.context_length,
                    "trainable": True,
                    "sampleable": True,
                }
                for name, base in self._bases.items()
            ]
        }

    def info(self, model_id: str) -> dict[str, Any]:
        """Describe a training run; the tokenizer's id is a local folder, so the SDK loads it without network."""
        run = self._run(model_id)
        return {
            "type": "get_info",
            "model_id": model_id,
            "model_name": run.base_name,
            "model_data": {
                "arch": run.base.architecture,
                "model_name": run.base_name,
                "tokenizer_id": str(run.base.folder),
            },
            "is_lora": True,
            "lora_rank": run.spec.rank,
        }

    def sampler_info(self, sampler_id: str) -> dict[str, Any]:
        """Describe a sampling session."""
        sampler = self._sampler(sampler_id)
        return {"sampler_id": sampler_id, "base_model": sampler.base_name, "model_path": sampler.model_path}

    def weights_info(self, path: str) -> dict[str, Any]:
        """Describe a checkpoint."""
        found = self._store.describe(path)
        return {
            "base_model": found.base_model,
            "is_lora": True,
            "lora_rank": found.spec.rank,
            "train_unembed": found.spec.train_unembed,
            "train_mlp": found.spec.train_mlp,
            "train_attn": found.spec.train_attn,
        }

    # Operations

    def create_model(self, request: CreateModel, fingerprint: bytes) -> Promise:
        """Queue the creation of a training run with a fresh adapter."""
        model_id = f"{request.session_id}:train:{request.model_seq_id}"
        base = self._base(request.base_model)
        spec = request.lora_config.spec()
        run = Run(model_id, request.session_id, base, request.base_model, spec)

        def work() -> Payload:
            run.state = TrainingRun(base, spec, base.switch.new_adapter(spec, request.lora_config.seed))
            return json_payload({"model_id": model_id, "type": "create_model"})

        if not base.switch.adapted(spec):
            raise UserFault("lora_config: no layer of this model is left to train")
        return self._start_run(run, fingerprint, work)

    def load_weights(self, request: LoadWeights, fingerprint: bytes) -> Promise:
        """Queue the loading of a checkpoint, into a run that exists or into a new one."""
        if request.model_id is not None and request.seq_id is not None:
            return self._load_into(self._run(request.model_id), request, request.seq_id, fingerprint)
        if request.session_id is None or request.model_seq_id is None:
            raise UserFault("load_weights needs model_id and seq_id, or session_id and model_seq_id")
        found = self._loadable(request)
        name = request.base_model or found.base_model
        run = Run(
            f"{request.session_id}:train:{request.model_seq_id}",
            request.session_id,
            self._base_of_checkpoint(request.path, found, name),
            name,
            found.spec,
        )
        return self._start_run(run, fingerprint, lambda: self._load(run, request))

    def forward_backward(self, request: ForwardBackward) -> Promise:
        """Queue a forward or a forward and backward pass."""
        run = self._run(request.model_id)

        def work() -> Payload:
            result = run.ready().forward_backward(request)
            return Payload(encode_forward_backward(result.logprobs, {"loss:sum": result.loss_sum}), PROTOBUF)

        return self._promises.in_turn(
            run.model_id, request.seq_id, request.fingerprint, work, lambda: training.check(request, run.base)
        )

    def optim_step(self, request: OptimStep, fingerprint: bytes) -> Promise:
        """Queue an optimiser step; its metrics hold the gradient's norm before clipping."""
        run = self._run(request.model_id)

        def work() -> Payload:
            return json_payload({"metrics": {"grad_norm": run.ready().optim_step(request.adam_params)}})

        return self._promises.in_turn(run.model_id, request.seq_id, fingerprint, work)

    def save_weights(self, request: SaveWeights, fingerprint: bytes) -> Promise:
        """Queue the saving of weights and optimiser state; a gradient not yet applied is not saved."""
        run = self._run(request.model_id)
        path = checkpoint_path(run.model_id, "weights", request.path)

        def work() -> Payload:
            state = run.ready()
            moments = state.moments()
            self._store.save(path, run.base, run.spec, state.adapter(), moments, overwrite=request.overwrite)
            return json_payload({"path": path, "type": "save_weights"})

        def check() -> None:
            if self._store.exists(path) and not request.overwrite:
                raise taken(path)

        return self._promises.in_turn(run.model_id, request.seq_id, fingerprint, work, check)

    def save_weights_for_sampler(self, request: SaveWeightsForSampler, fingerprint: bytes) -> Promise:
        """Queue the saving of sampler weights: by name to disk, else as a snapshot in memory."""
        run = self._run(request.model_id)
        if request.path is None:
            return self._snapshot(run, request, fingerprint)
        path = checkpoint_path(run.model_id, "sampler_weights", request.path)

        def work() -> Payload:
            self._store.save(path, run.base, run.spec, run.ready().adapter(), None, overwrite=False)
            return json_payload({"path": path, "type": "save_weights_for_sampler"})

        def check() -> None:
            if self._store.exists(path):
                raise taken(path)

        return self._promises.in_turn(run.model_id, request.seq_id, fingerprint, work, check)

    def create_sampling_session(self, request: CreateSamplingSession) -> str:
        """Open a sampling session on a base model or a checkpoint and return its id."""
        self.require_session(request.session_id)
        sampler_id = f"{request.session_id}:sample:{request.sampling_session_seq_id}"
        if request.model_path is not None:
            found = self._store.describe(request.model_path)
            name = request.base_model or found.base_model
            base = self._base_of_checkpoint(request.model_path, found, name)
            sampler = Sampler(base, name, found.spec, request.model_path)
        elif request.base_model is not None:
            sampler = Sampler(self._base(request.base_model), request.base_model, None)
        else:
            raise UserFault("create_sampling_session needs base_model or model_path")
        known = self._samplers.setdefault(sampler_id, sampler)
        if known is not sampler:
            if (known.base_name, known.model_path) != (sampler.base_name, sampler.model_path):
                raise UserFault(f"sampling session {sampler_id} exists with other weights")
        elif request.model_path is not None:
            path = request.model_path
            self._promises.unanswered(lambda: self._fill(sampler, path))
        return sampler_id

    def sample(self, request: Sample, fingerprint: bytes) -> Promise:
        """Queue the sampling of one prompt."""
        sampler = self._sampler(request.sampling_session_id)
        request_id = f"{request.sampling_session_id}:{request.seq_id}"

        def work() -> Payload:
            if sampler.failure is not None:
                raise UserFault(sampler.failure)
            if sampler.spec is not None and sampler.adapter is None:
                raise UserFault(f"sampling session {request.sampling_session_id} has no weights yet")
            completions, scores = generation.generate(request, sampler.base, sampler.adapter, sampler.spec)
            return Payload(encode_samples(completions, scores), PROTOBUF)

        if not self._promises.seen(request_id, fingerprint):
            generation.check(request, sampler.base)
            self._promises.now(request_id, fingerprint, work)
        ids = [f"{request_id}:{index}" for index in range(request.num_samples)]
        return {"request_id": request_id, "sample_sequence_ids": ids}

    def stop(self) -> None:
        """Finish the running operation, fail those that wait, and return at once."""
        self._promises.stop()

    # Inner workings

    def _start_run(self, run: Run, fingerprint: bytes, work: Callable[[], Payload]) -> Promise:
        self.require_session(run.session_id)
        request_id = f"{run.model_id}:0"
        if not self._promises.seen(request_id, fingerprint):
            self._runs[run.model_id] = run
            self._promises.open_lane(run.model_id)
            self._promises.now(request_id, fingerprint, work)
        return {"request_id": request_id, "model_id": run.model_id}

    def _snapshot(self, run: Run, request: SaveWeightsForSampler, fingerprint: bytes) -> Promise:
        if request.sampling_session_seq_id is None:
            raise UserFault("save_weights_for_sampler needs path or sampling_session_seq_id")
        sampler_id = f"{run.session_id}:sample:{request.sampling_session_seq_id}"
        sampler = Sampler(run.base, run.base_name, run.spec)

        def work() -> Payload:
            sampler.adapter = run.ready().adapter()
            return json_payload({"sampling_session_id": sampler_id, "type": "save_weights_for_sampler"})

        def check() -> None:
            if sampler_id in self._samplers:
                raise UserFault(f"sampling session {sampler_id} exists")

        first_sending = not self._promises.seen(f"{run.model_id}:{request.seq_id}", fingerprint)
        promise = self._promises.in_turn(run.model_id, request.seq_id, fingerprint, work, check)
        if first_sending:
            self._samplers[sampler_id] = sampler
            run.snapshots.append(sampler_id)
            if len(run.snapshots) > MAX_SNAPSHOTS:
                self._samplers.pop(run.snapshots.popleft(), None)
        return promise

    def _load_into(self, run: Run, request: LoadWeights, number: int, fingerprint: bytes) -> Promise:
        def check() -> None:
            found = self._loadable(request)
            self._base_of_checkpoint(request.path, found, run.base.name)
            if found.spec != run.spec:
                raise UserFault(f"{request.path} holds {found.spec}, the training run has {run.spec}")

        return self._promises.in_turn(run.model_id, number, fingerprint, lambda: self._load(run, request), check)

    def _loadable(self, request: LoadWeights) -> Description:
        found = self._store.describe(request.path)
        if request.optimizer and not found.has_optimizer:
            raise UserFault(f"{request.path} holds sampler weights, without optimiser state")
        return found

    def _load(self, run: Run, request: LoadWeights) -> Payload:
        moments = self._store.load_moments(request.path) if request.optimizer else None
        run.state = TrainingRun(run.base, run.spec, self._store.load_adapter(request.path), moments)
        return json_payload({"path": request.path, "model_id": run.model_id, "type": "load_weights"})

    def _fill(self, sampler: Sampler, path: str) -> None:
        try:
            sampler.adapter = self._store.load_adapter(path)
        except Exception as error:
            _log.exception("cannot read %s", path)
            sampler.failure = f"{path} cannot be read: {error}"

    def _base(self, name: str) -> BaseModel:
        """Find a base model by its name, or by its folder, under which `SamplingClient.get_tokenizer` works."""
        for known, base in self._bases.items():
            if name in (known, str(base.folder)):
                return base
        raise unknown("base model", name, ", ".join(self._bases))

    def _base_of_checkpoint(self, path: str, found: Description, name: str) -> BaseModel:
        base = self._base(name)
        if base.fingerprint != found.base_fingerprint:
            raise UserFault(f"{path} was trained on {found.base_model!r} with other weights than {name!r} has here")
        return base

    def _run(self, model_id: str) -> Run:
        if model_id not in self._runs:
            raise unknown("training run", model_id)
        return self._runs[model_id]

    def _sampler(self, sampler_id: str) -> Sampler:
        if sampler_id not in self._samplers:
            raise UserFault(
                f"unknown sampling session {sampler_id!r}: its session is finished, the service was started again, "
                f"or it is older than the last {MAX_SNAPSHOTS} unnamed snapshots of its training run "
                "(save_weights_for_sampler with a name keeps weights)",
                status=404,
            )
        return self._samplers[sampler_id]
