"""Sampling sessions: weights to draw from, and the requests that wait for them.

On the CPU a request is one batch, so its numbers are the same whatever else the service does. On a GPU a batch
of one prompt leaves nearly all of it idle, so what waits for the same weights is drawn at once.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock

import torch  # noqa: TID253 (imported by the service process alone)

from runner.service import prompt_scores
from runner.service.base_models import BaseModel
from runner.service.faults import UserFault
from runner.service.generation import Drawn, generate
from runner.service.lora import Adapter, LoraSpec
from runner.service.promises import Answer
from runner.service.requests import Sample

MAX_SEQUENCES = 256
"""Completions in one batch; one request that asks for more is a batch nevertheless."""

MAX_CACHE_SHARE = 0.25
"""The part of a GPU's memory that the key-value cache of one batch may take."""

GATHER_SECONDS = 0.02
MAX_GATHER_SECONDS = 0.2
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SamplingJob:
    """A checked request that waits, and the way to answer it."""

    request: Sample
    answer: Answer[Drawn]


class Sampler:
    """A sampling session. `add` is called by any thread, all else that changes it by the worker.

    Args:
        base: The base model.
        base_name: The name that the client knows it by.
        spec: What the adapter is; None samples the base model.
        model_path: The checkpoint that the adapter comes from, if it comes from one.
        read: Reads that checkpoint's adapter.
    """

    def __init__(
        self,
        base: BaseModel,
        base_name: str,
        spec: LoraSpec | None = None,
        model_path: str | None = None,
        read: Callable[[], Adapter] | None = None,
    ) -> None:
        self.base = base
        self.base_name = base_name
        self.model_path = model_path
        self.together = base.device != "cpu"
        self.adapter: Adapter | None = None
        self._spec = spec
        self._read = read
        self._failure: str | None = None
        self._lock = Lock()
        self._waiting: deque[SamplingJob] = deque()

    def fill(self) -> None:
        """Read the adapter from its checkpoint, once; a failure becomes the answer of every request."""
        if self.adapter is not None or self._read is None or self._failure is not None:
            return
        try:
            self.adapter = {name: tensor.to(self.base.device) for name, tensor in self._read().items()}
        except UserFault as fault:
            self._failure = fault.message
        except Exception as error:
            _log.exception("cannot read %s", self.model_path)
            self._failure = f"{self.model_path} cannot be read: {error}"

    def add(self, job: SamplingJob) -> None:
        """Let a request wait; the caller queues one `draw` for it."""
        with self._lock:
            self._waiting.append(job)

    def draw(self) -> None:
        """Answer the request that has waited longest, and those that can be drawn with it."""
        if self.together:
            self._gather()
        jobs = self._take()
        if not jobs:
            return  # an earlier draw took the request that this one was queued for
        try:
            drawn = self._drawn([job.request for job in jobs])
        except Exception as error:
            for job in jobs:
                job.answer.fail(error)
            return
        for job, result in zip(jobs, drawn, strict=True):
            job.answer.give(result)

    def _drawn(self, requests: Sequence[Sample]) -> list[Drawn]:
        self.fill()
        if self._failure is not None:
            raise UserFault(self._failure)
        if self._spec is not None and self.adapter is None:
            raise UserFault(f"sampling session {requests[0].sampling_session_id} has no weights yet")
        return generate(requests, self.base, self.adapter, self._spec)

    def _gather(self) -> None:
        """Wait while requests keep coming: a client sends a batch one prompt at a time."""
        until = time.monotonic() + MAX_GATHER_SECONDS
        count = -1
        while count != len(self._waiting) and time.monotonic() < until:
            count = len(self._waiting)
            time.sleep(GATHER_SECONDS)

    def _take(self) -> list[SamplingJob]:
        with self._lock:
            if not self._waiting:
                return []
            first = self._waiting.popleft()
            if not self.together or prompt_scores.wanted(first.request):
                return [first]
            taken, left = [first], deque[SamplingJob]()
            size = _Size().with_request(first.request, self.base)
            for job in self._waiting:
                larger = size.with_request(job.request, self.base)
                if _alike(first.request, job.request) and larger.fits(self.base):
                    taken.append(job)
                    size = larger
                else:
                    left.append(job)
            self._waiting = left
            return taken


@dataclass(frozen=True)
class _Size:
    """What a batch of requests comes to: completions, and tokens before and after the prompts' end."""

    sequences: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def with_request(self, request: Sample, base: BaseModel) -> "_Size":
        return _Size(
            self.sequences + request.num_samples,
            max(self.prompt_tokens, sum(len(chunk.tokens) for chunk in request.prompt.chunks)),
            max(self.completion_tokens, request.sampling_params.max_tokens or base.context_length),
        )

    def fits(self, base: BaseModel) -> bool:
        cache = self.sequences * (self.prompt_tokens + self.completion_tokens) * base.cache_bytes
        memory = torch.cuda.mem_get_info()[1] if base.device == "cuda" else float("inf")
        return self.sequences <= MAX_SEQUENCES and cache <= MAX_CACHE_SHARE * memory


def _alike(one: Sample, other: Sample) -> bool:
    def key(request: Sample) -> tuple[float, int, float, int]:
        params = request.sampling_params
        return (params.temperature, params.top_k, params.top_p, request.topk_sample_logprobs)

    return key(one) == key(other) and not prompt_scores.wanted(other)
