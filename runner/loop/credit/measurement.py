"""What a state was really worth: fresh rollouts from it, before and after the token that was sampled."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analysis.errors import AuditError
from analysis.plan.advantages import AdvantageMeasurement
from runner.loop.backend import Backend
from runner.loop.credit.estimation import Credit
from runner.loop.prompts import PromptRenderer
from runner.loop.sampling import RolloutBatch, Sample, SamplingSettings
from runner.loop.schedule import request_seed
from runner.loop.task import Completion, Grader

if TYPE_CHECKING:
    import tinker


@dataclass(frozen=True)
class Measured:
    """One state: what was estimated of it and what fresh rollouts gave; columns as in `sql/schema.sql`."""

    rollout_id: int
    position: int
    value: float | None
    advantage: float
    update_advantage: float
    monte_carlo_value: float
    monte_carlo_value_error: float
    monte_carlo_advantage: float
    monte_carlo_advantage_error: float
    rollouts: int


@dataclass(frozen=True)
class _Worth:
    mean: float
    error: float


def measure_states(
    backend: Backend,
    sampler: "tinker.SamplingClient",
    renderer: PromptRenderer,
    grader: Grader,
    batch: RolloutBatch,
    credit: Credit,
    asked: AdvantageMeasurement,
    settings: SamplingSettings,
    seed: int,
) -> list[Measured]:
    """Measure states that are drawn from all tokens of a batch, without replacement.

    Args:
        backend: the service.
        sampler: the weights that sampled the batch.
        renderer: gives stop sequences and text.
        grader: grades a completion as in training.
        batch: what was sampled.
        credit: what was estimated of it.
        asked: how many states, and how many rollouts of each.
        settings: of the batch's own sampling.
        seed: the arm's.

    Returns:
        One entry a state, by rollout and position; fewer than asked for where the batch has fewer tokens.

    Raises:
        AuditError: the service failed.
    """
    places = drawn_states(batch, asked.states, seed)
    before = _prefixes(batch, places, 0)
    after = [
        prefix for place, prefix in zip(places, _prefixes(batch, places, 1), strict=True) if not _ends(batch, place)
    ]
    rewards = _fresh_rewards(
        backend, sampler, renderer, grader, [*before, *after], settings, asked.rollouts, seed, batch.step
    )
    values, later = rewards[: len(before)], iter(rewards[len(before) :])
    return [
        _measured(batch, credit, place, value, None if _ends(batch, place) else next(later), asked.rollouts)
        for place, value in zip(places, values, strict=True)
    ]


def drawn_states(batch: RolloutBatch, states: int, seed: int) -> list[tuple[int, int]]:
    """Return (rollout, position) of so many tokens of a batch, drawn by the arm's seed, sorted."""
    lengths = [len(sample.token_ids) for sample in batch.samples]
    owners = np.repeat(np.arange(len(lengths)), lengths)
    positions = np.concatenate([np.arange(length) for length in lengths])
    generator = np.random.default_rng(request_seed(seed, "states", batch.step, 0))
    chosen = np.sort(generator.choice(len(owners), size=min(states, len(owners)), replace=False))
    return [(int(owners[place]), int(positions[place])) for place in chosen]


def _ends(batch: RolloutBatch, place: tuple[int, int]) -> bool:
    """Whether the token is the rollout's last: what it is worth is then the reward, without any doubt."""
    rollout_id, position = place
    return position == len(batch.samples[rollout_id].token_ids) - 1


def _prefixes(batch: RolloutBatch, places: Sequence[tuple[int, int]], more: int) -> list[tuple[Sample, int]]:
    return [(batch.samples[rollout_id], position + more) for rollout_id, position in places]


def _fresh_rewards(
    backend: Backend,
    sampler: "tinker.SamplingClient",
    renderer: PromptRenderer,
    grader: Grader,
    prefixes: Sequence[tuple[Sample, int]],
    settings: SamplingSettings,
    rollouts: int,
    seed: int,
    step: int,
) -> list[NDArray[np.float64]]:
    """Return the rewards of fresh completions of each prefix; all requests are in flight at once."""
    import tinker

    pending = []
    for index, (sample, taken) in enumerate(prefixes):
        params = tinker.SamplingParams(
            max_tokens=settings.max_tokens - taken,
            seed=request_seed(seed, "states", step, index + 1),
            stop=renderer.stop,
            temperature=settings.temperature,
        )
        tokens = [*sample.prompt.token_ids, *sample.token_ids[:taken].tolist()]
        pending.append(sampler.sample(tinker.ModelInput.from_ints(tokens), rollouts, params))
    found = []
    try:
        for (sample, taken), future in zip(prefixes, pending, strict=True):
            response = backend.wait(f"measuring a state of {sample.prompt.problem.prompt_id}", future)
            found.append(np.array([_reward(sample, taken, each, renderer, grader) for each in response.sequences]))
    finally:
        for future in pending:
            future.future().cancel()
    if any(len(rewards) != rollouts for rewards in found):
        raise AuditError("measuring states: the service returned another number of completions than was asked for")
    return found


def _reward(
    sample: Sample, taken: int, sequence: "tinker.SampledSequence", renderer: PromptRenderer, grader: Grader
) -> float:
    tokens = [*sample.token_ids[:taken].tolist(), *sequence.tokens]
    completion = Completion(tokens, renderer.text_of(tokens), str(sequence.stop_reason))
    return float(grader(sample.prompt.problem, completion).reward)


def _measured(
    batch: RolloutBatch,
    credit: Credit,
    place: tuple[int, int],
    before: NDArray[np.float64],
    after: NDArray[np.float64] | None,
    rollouts: int,
) -> Measured:
    rollout_id, position = place
    value = _worth(before)
    later = _Worth(batch.samples[rollout_id].grade.reward, 0.0) if after is None else _worth(after)
    return Measured(
        rollout_id=rollout_id,
        position=position,
        value=None if credit.values is None else float(credit.values[rollout_id][position]),
        advantage=float(credit.raw[rollout_id][position]),
        update_advantage=float(credit.advantages[rollout_id][position]),
        monte_carlo_value=value.mean,
        monte_carlo_value_error=value.error,
        monte_carlo_advantage=later.mean - value.mean,
        monte_carlo_advantage_error=float(np.hypot(later.error, value.error)),
        rollouts=rollouts,
    )


def _worth(rewards: NDArray[np.float64]) -> _Worth:
    """Return the mean of fresh rewards and its standard error, s / sqrt(m), whose square is unbiased."""
    return _Worth(float(rewards.mean()), float(rewards.std(ddof=1) / np.sqrt(len(rewards))))
