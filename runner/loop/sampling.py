"""Samples a rollout batch: the requests run concurrently, their results are taken in order."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analysis.advantages.group_centered import group_centered
from analysis.errors import AuditError
from analysis.graders.grade import Grade
from runner.loop.backend import Backend
from runner.loop.candidates import Candidates, candidates_of
from runner.loop.prompts import Prompt, PromptRenderer
from runner.loop.schedule import request_seed
from runner.loop.task import Completion, Grader

if TYPE_CHECKING:
    import tinker


@dataclass(frozen=True)
class SamplingSettings:
    """How completions are drawn; the seed of each request is derived and not listed here.

    `top_k` is how many of the sampler's most probable tokens are asked for at each position, beside the sampled one;
    None for none. It does not change what is drawn.
    """

    temperature: float
    max_tokens: int
    samples: int
    top_k: int | None = None


@dataclass(frozen=True)
class Sample:
    """One sampled completion and its grade; `token_ids` and `logprobs` have one length, the end token included.

    `candidates` are what a top-k divergence compares at each of its tokens, None where no loss asks for them.
    """

    prompt: Prompt
    token_ids: NDArray[np.int32]
    logprobs: NDArray[np.float32]
    stop_reason: str
    completion: str
    grade: Grade
    candidates: Candidates | None = None


@dataclass(frozen=True)
class RolloutBatch:
    """The completions of one step.

    Attributes:
        step: the rollout step, 0-based.
        samples: in rollout order: group by group.
        group_ids: shape (n,), the group of each sample.
        advantages: shape (n,), reward minus the group's mean reward.
        sampler_version: which weights sampled it.
    """

    step: int
    samples: tuple[Sample, ...]
    group_ids: NDArray[np.int64]
    advantages: NDArray[np.float64]
    sampler_version: str

    @property
    def n_tokens(self) -> int:
        """Sampled tokens of the batch."""
        return sum(len(sample.token_ids) for sample in self.samples)

    @property
    def mean_surprisal(self) -> float:
        """Mean of -log mu over the sampled tokens, nats; NaN where every completion is empty."""
        return float(-np.concatenate([sample.logprobs for sample in self.samples]).mean()) if self.n_tokens else np.nan

    @property
    def truncated_share(self) -> float:
        """Share of completions that did not end by themselves."""
        return float(np.mean([sample.stop_reason != "stop" for sample in self.samples]))

    @property
    def mean_reward(self) -> float:
        """Mean reward of the batch."""
        return float(np.mean([sample.grade.reward for sample in self.samples]))


def sample_prompts(
    backend: Backend,
    sampler: "tinker.SamplingClient",
    renderer: PromptRenderer,
    grader: Grader,
    prompts: Sequence[Prompt],
    settings: SamplingSettings,
    seeds: Sequence[int],
) -> list[list[Sample]]:
    """Sample and grade completions of each prompt.

    Args:
        backend: the service.
        sampler: which weights.
        renderer: gives stop sequences and text.
        grader: grades each completion.
        prompts: one request each, all in flight at once.
        settings: of every request.
        seeds: one a request, so that the order in which the service takes them does not matter.

    Raises:
        AuditError: the service refused a request, went away, or returned no log-probabilities.
    """
    import tinker

    pending = []
    for prompt, seed in zip(prompts, seeds, strict=True):
        params = tinker.SamplingParams(
            max_tokens=settings.max_tokens, seed=seed, stop=renderer.stop, temperature=settings.temperature
        )
        model_input = tinker.ModelInput.from_ints(list(prompt.token_ids))
        pending.append(sampler.sample(model_input, settings.samples, params, topk_sample_logprobs=settings.top_k or 0))
    found = []
    try:
        for prompt, future in zip(prompts, pending, strict=True):
            response = backend.wait(f"sampling {prompt.problem.prompt_id}", future)
            found.append(
                [_sample(prompt, sequence, renderer, grader, settings.top_k) for sequence in response.sequences]
            )
    finally:
        for future in pending:
            future.future().cancel()
    return found


def sample_batch(
    backend: Backend,
    sampler: "tinker.SamplingClient",
    renderer: PromptRenderer,
    grader: Grader,
    prompts: Sequence[Prompt],
    settings: SamplingSettings,
    *,
    seed: int,
    step: int,
    sampler_version: str,
) -> RolloutBatch:
    """Sample one rollout batch: a group of completions for each prompt.

    Raises:
        AuditError: see `sample_prompts`.
    """
    seeds = [request_seed(seed, "rollout", step, index) for index in range(len(prompts))]
    groups = sample_prompts(backend, sampler, renderer, grader, prompts, settings, seeds)
    samples = tuple(sample for group in groups for sample in group)
    group_ids = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    advantages = group_centered([sample.grade.reward for sample in samples], group_ids)
    return RolloutBatch(step, samples, group_ids, advantages, sampler_version)


def _sample(
    prompt: Prompt, sequence: "tinker.SampledSequence", renderer: PromptRenderer, grader: Grader, top_k: int | None
) -> Sample:
    token_ids = np.asarray(sequence.tokens, np.int32)
    if sequence.logprobs is None or len(sequence.logprobs) != len(token_ids):
        raise AuditError(
            f"sampling {prompt.problem.prompt_id}: the service returned no log-probability for each sampled token. "
            "Without them no ratio and no mask can be computed"
        )
    completion = Completion(sequence.tokens, renderer.text_of(sequence.tokens), str(sequence.stop_reason))
    return Sample(
        prompt=prompt,
        token_ids=token_ids,
        logprobs=np.asarray(sequence.logprobs, np.float32),
        stop_reason=completion.stop_reason,
        completion=completion.text,
        grade=grader(prompt.problem, completion),
        candidates=None if top_k is None else candidates_of(sequence, top_k, prompt.problem.prompt_id),
    )
