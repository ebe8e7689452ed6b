"""What the service does: it checks a request at once, so that a fault is answered at once, and queues its work.

Work is a closure over the objects it needs and runs on the worker thread.
"""

import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from runner.service import descriptions, generation, training
from runner.service.answers import encode_forward_backward, encode_samples
from runner.service.base_models import BaseModel
from runner.service.checkpoints import Description, checkpoint_path, taken
from runner.service.faults import UserFault
from runner.service.futures import FutureTable, Payload
from runner.service.generation import Drawn
from runner.service.holdings import Holdings, Run
from runner.service.promises import Promise, Promises, json_payload
from runner.service.requests import (
    CreateCustomLoss,
    CreateModel,
    CreateSamplingSession,
    LoadWeights,
    OptimStep,
    Sample,
    SaveWeights,
    SaveWeightsForSampler,
)
from runner.service.samplers import Sampler, SamplingJob
from runner.service.training import TrainingRun
from runner.service.wire import CUSTOM, PROTOBUF, ForwardBackward


class Engine:
    """The service behind the HTTP routes: models by name, and a state directory for what outlives it."""

    def __init__(self, bases: Mapping[str, BaseModel], state_dir: Path) -> None:
        self.futures = FutureTable()
        self._held = Holdings(bases, state_dir)
        self._promises = Promises(self.futures)

    # Sessions and what they hold

    def create_session(self) -> str:
        """Open a session and return its id."""
        session_id = str(uuid.uuid4())
        self._held.open_session(session_id)
        return session_id

    def require_session(self, session_id: str) -> None:
        """Check that a session is open.

        Raises:
            UserFault: If it never was, or is finished.
        """
        self._held.require_session(session_id)

    def finish_session(self, session_id: str) -> None:
        """Close a session and free its runs and sampling sessions; saved checkpoints stay."""
        self._promises.close_session(session_id, self._held.close_session(session_id))

    def capabilities(self) -> dict[str, Any]:
        """Describe the base models on offer."""
        return descriptions.of_bases(self._held.bases)

    def info(self, model_id: str) -> dict[str, Any]:
        """Describe a training run."""
        return descriptions.of_run(self._held.run(model_id))

    def sampler_info(self, sampler_id: str) -> dict[str, Any]:
        """Describe a sampling session."""
        return descriptions.of_sampler(sampler_id, self._held.sampler(sampler_id))

    def weights_info(self, path: str) -> dict[str, Any]:
        """Describe a checkpoint."""
        return descriptions.of_checkpoint(self._held.store.describe(path))

    # Operations

    def create_model(self, request: CreateModel, fingerprint: bytes) -> Promise:
        """Queue the creation of a training run with a fresh adapter."""
        model_id = f"{request.session_id}:train:{request.model_seq_id}"
        base = self._held.base(request.base_model)
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
            return self._load_into(self._held.run(request.model_id), request, request.seq_id, fingerprint)
        if request.session_id is None or request.model_seq_id is None:
            raise UserFault("load_weights needs model_id and seq_id, or session_id and model_seq_id")
        found = self._loadable(request)
        name = request.base_model or found.base_model
        run = Run(
            f"{request.session_id}:train:{request.model_seq_id}",
            request.session_id,
            self._held.base_of(request.path, found, name),
            name,
            found.spec,
        )
        return self._start_run(run, fingerprint, lambda: self._load(run, request))

    def create_custom_loss(self, request: CreateCustomLoss, fingerprint: bytes) -> Promise:
        """Check and keep an uploaded loss; its future is answered at once."""
        request_id = f"{request.session_id}:loss:{request.custom_loss_seq_id}"
        if not self._promises.seen(request_id, fingerprint):
            loss_id = self._held.add_loss(request)
            self._promises.open(request_id, fingerprint, json_payload).give(
                {"loss_id": loss_id, "type": "create_custom_loss"}
            )
        return {"request_id": request_id}

    def forward_backward(self, request: ForwardBackward) -> Promise:
        """Queue a forward or a forward and backward pass."""
        run = self._held.run(request.model_id)
        custom = self._held.loss(run.session_id, request.loss_id) if request.loss == CUSTOM else None

        def work() -> Payload:
            result = run.ready().forward_backward(request, custom)
            metrics = {**result.metrics, "loss:sum": result.loss_sum}
            return Payload(encode_forward_backward(result.logprobs, metrics, result.hidden_states), PROTOBUF)

        return self._promises.in_turn(
            run.model_id, request.seq_id, request.fingerprint, work, lambda: training.check(request, run.base, custom)
        )

    def optim_step(self, request: OptimStep, fingerprint: bytes) -> Promise:
        """Queue an optimiser step; its metrics hold the gradient's norm before clipping."""
        run = self._held.run(request.model_id)

        def work() -> Payload:
            return json_payload({"metrics": {"grad_norm": run.ready().optim_step(request.adam_params)}})

        return self._promises.in_turn(run.model_id, request.seq_id, fingerprint, work)

    def save_weights(self, request: SaveWeights, fingerprint: bytes) -> Promise:
        """Queue the saving of weights and optimiser state; a gradient not yet applied is not saved."""
        path = checkpoint_path(request.model_id, "weights", request.path)
        return self._save(request, fingerprint, path, moments=True, overwrite=request.overwrite)

    def save_weights_for_sampler(self, request: SaveWeightsForSampler, fingerprint: bytes) -> Promise:
        """Queue the saving of sampler weights: by name to disk, else as a snapshot in memory."""
        if request.path is None:
            return self._snapshot(self._held.run(request.model_id), request, fingerprint)
        path = checkpoint_path(request.model_id, "sampler_weights", request.path)
        return self._save(request, fingerprint, path, moments=False, overwrite=False)

    def create_sampling_session(self, request: CreateSamplingSession) -> str:
        """Open a sampling session on a base model or a checkpoint and return its id."""
        self.require_session(request.session_id)
        sampler_id = f"{request.session_id}:sample:{request.sampling_session_seq_id}"
        if request.model_path is not None:
            sampler = self._held.sampler_of(request.model_path, request.base_model)
        elif request.base_model is not None:
            sampler = Sampler(self._held.base(request.base_model), request.base_model)
        else:
            raise UserFault("create_sampling_session needs base_model or model_path")
        if self._held.add_sampler(request.session_id, sampler_id, sampler):
            self._promises.unanswered(sampler.fill)
        return sampler_id

    def sample(self, request: Sample, fingerprint: bytes) -> Promise:
        """Queue the sampling of one prompt."""
        sampler = self._held.sampler(request.sampling_session_id)
        request_id = f"{request.sampling_session_id}:{request.seq_id}"

        def encode(drawn: Drawn) -> Payload:
            return Payload(encode_samples(drawn.completions, drawn.scores, request.target_prompt_logprobs), PROTOBUF)

        if not self._promises.seen(request_id, fingerprint):
            generation.check(request, sampler.base)
            sampler.add(SamplingJob(request, self._promises.open(request_id, fingerprint, encode)))
            self._promises.unanswered(sampler.draw)
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
            self._held.add_run(run)
            self._promises.open_lane(run.model_id)
            self._promises.now(request_id, fingerprint, work)
        return {"request_id": request_id, "model_id": run.model_id}

    def _save(
        self,
        request: SaveWeights | SaveWeightsForSampler,
        fingerprint: bytes,
        path: str,
        *,
        moments: bool,
        overwrite: bool,
    ) -> Promise:
        run, store = self._held.run(request.model_id), self._held.store

        def work() -> Payload:
            state = run.ready()
            store.save(
                path,
                run.base,
                run.spec,
                state.adapter(),
                state.moments() if moments else None,
                overwrite=overwrite,
                ttl_seconds=request.ttl_seconds,
            )
            return json_payload({"path": path, "type": "save_weights" if moments else "save_weights_for_sampler"})

        def check() -> None:
            if store.exists(path) and not overwrite:
                raise taken(path)

        return self._promises.in_turn(run.model_id, request.seq_id, fingerprint, work, check)

    def _snapshot(self, run: Run, request: SaveWeightsForSampler, fingerprint: bytes) -> Promise:
        if request.sampling_session_seq_id is None:
            raise UserFault("save_weights_for_sampler needs path or sampling_session_seq_id")
        sampler_id = f"{run.session_id}:sample:{request.sampling_session_seq_id}"
        sampler = Sampler(run.base, run.base_name, run.spec)

        def work() -> Payload:
            sampler.adapter = run.ready().adapter()
            return json_payload({"sampling_session_id": sampler_id, "type": "save_weights_for_sampler"})

        def check() -> None:
            if self._held.has_sampler(sampler_id):
                raise UserFault(f"sampling session {sampler_id} exists")

        first_sending = not self._promises.seen(f"{run.model_id}:{request.seq_id}", fingerprint)
        promise = self._promises.in_turn(run.model_id, request.seq_id, fingerprint, work, check)
        if first_sending:
            self._held.add_snapshot(run, sampler_id, sampler)
        return promise

    def _load_into(self, run: Run, request: LoadWeights, number: int, fingerprint: bytes) -> Promise:
        def check() -> None:
            found = self._loadable(request)
            self._held.base_of(request.path, found, run.base.name)
            if found.spec != run.spec:
                raise UserFault(f"{request.path} holds {found.spec}, the training run has {run.spec}")

        return self._promises.in_turn(run.model_id, number, fingerprint, lambda: self._load(run, request), check)

    def _loadable(self, request: LoadWeights) -> Description:
        found = self._held.store.describe(request.path)
        if request.optimizer and not found.has_optimizer:
            raise UserFault(f"{request.path} holds sampler weights, without optimiser state")
        return found

    def _load(self, run: Run, request: LoadWeights) -> Payload:
        store = self._held.store
        moments = store.load_moments(request.path) if request.optimizer else None
        run.state = TrainingRun(run.base, run.spec, store.load_adapter(request.path), moments)
        return json_payload({"path": request.path, "model_id": run.model_id, "type": "load_weights"})
