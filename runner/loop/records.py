"""The columns of the run format, as `RunWriter` takes them, from what was sampled and trained."""

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.plan.model import Arm, Plan
from runner.loop.credit.directions import Directions
from runner.loop.credit.estimation import Credit
from runner.loop.credit.measurement import Measured
from runner.loop.phases import Phase
from runner.loop.prompts import Prompt
from runner.loop.sampling import RolloutBatch, Sample
from runner.loop.training import Update

Columns = dict[str, Any]


def prompt_columns(prompts: Sequence[Prompt]) -> Columns:
    """Return the prompts table, one row a prompt, in the order given."""
    return {
        "prompt_id": [prompt.problem.prompt_id for prompt in prompts],
        "split": [prompt.problem.split for prompt in prompts],
        "prompt_sha256": [prompt.sha256 for prompt in prompts],
        "question": [prompt.problem.question for prompt in prompts],
        "rendered": [prompt.rendered for prompt in prompts],
        "token_ids": [list(prompt.token_ids) for prompt in prompts],
        "gold": [prompt.problem.gold for prompt in prompts],
        "template_sha256": [prompt.template_sha256 for prompt in prompts],
    }


def token_columns(batch: RolloutBatch, updates: Sequence[Update], credit: Credit) -> Columns:
    """Return the tokens table of one step: one row a loss token, by update, rollout and position.

    Args:
        batch: what was sampled.
        updates: of this step.
        credit: gives the critic's values, where there is one.
    """
    pairs = [(update, rollout_id) for update in updates for rollout_id in update.rollout_ids]
    samples = [batch.samples[rollout_id] for _, rollout_id in pairs]
    lengths = np.array([len(sample.token_ids) for sample in samples])
    current = [logprobs for update in updates for logprobs in update.current_logprobs]
    columns = {
        "step": np.full(lengths.sum(), batch.step, np.int32),
        "update": np.repeat(np.array([update.update for update, _ in pairs], np.int8), lengths),
        "rollout_id": np.repeat(np.array([rollout_id for _, rollout_id in pairs], np.int32), lengths),
        "position": np.concatenate([np.arange(length, dtype=np.int32) for length in lengths]),
        "token_id": np.concatenate([sample.token_ids for sample in samples]),
        "sampler_logprob": np.concatenate([sample.logprobs for sample in samples]),
        "current_logprob": np.concatenate(current),
        "advantage": np.concatenate([part for update in updates for part in update.advantages]).astype(np.float32),
    }
    if credit.values is not None:
        columns["value"] = np.concatenate([credit.values[rollout_id] for _, rollout_id in pairs]).astype(np.float32)
    return columns


def candidate_columns(batch: RolloutBatch, updates: Sequence[Update]) -> Columns:
    """Return the candidates table of one step: one row a candidate of a loss token, the sampled one first.

    Advantage and sampled token stand in both tables, so that the mask follows from this one alone.

    Args:
        batch: whose samples have candidates.
        updates: of this step.
    """
    parts = [
        _rollout_candidates(batch, update.update, rollout_id, current, advantages)
        for update in updates
        for rollout_id, current, advantages in zip(
            update.rollout_ids, update.candidate_logprobs, update.advantages, strict=True
        )
    ]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _rollout_candidates(
    batch: RolloutBatch, update: int, rollout_id: int, current: NDArray[np.float32], advantages: NDArray[np.float64]
) -> Columns:
    candidates = batch.samples[rollout_id].candidates
    if candidates is None:
        raise ValueError("a rollout without candidates has no row here")
    position, cell = np.nonzero(candidates.listed)
    count = len(position)
    return {
        "step": np.full(count, batch.step, np.int32),
        "update": np.full(count, update, np.int8),
        "rollout_id": np.full(count, rollout_id, np.int32),
        "position": position.astype(np.int32),
        "token_id": candidates.token_ids[position, cell],
        "is_sampled": cell == 0,
        "sampler_logprob": candidates.sampler_logprobs[position, cell],
        "current_logprob": current[position, cell],
        "advantage": advantages[position].astype(np.float32),
    }


def rollout_columns(batch: RolloutBatch, *, one_advantage: bool) -> Columns:
    """Return the rollouts table of one step, one row a sampled completion.

    Args:
        batch: what was sampled.
        one_advantage: whether all tokens of a rollout have its advantage over the group; a critic gives each its own.
    """
    samples = batch.samples
    columns = {
        "step": np.full(len(samples), batch.step, np.int32),
        "rollout_id": np.arange(len(samples), dtype=np.int32),
        "group_id": batch.group_ids.astype(np.int32),
        "prompt_id": [sample.prompt.problem.prompt_id for sample in samples],
        "reward": [sample.grade.reward for sample in samples],
        "n_tokens": [len(sample.token_ids) for sample in samples],
        "stop_reason": [sample.stop_reason for sample in samples],
        "sampler_version": [batch.sampler_version] * len(samples),
        "completion": [sample.completion for sample in samples],
        "extracted": [sample.grade.extracted for sample in samples],
        "gold": [sample.prompt.problem.gold for sample in samples],
        "extraction": [sample.grade.extraction for sample in samples],
    }
    return columns | ({"advantage": batch.advantages} if one_advantage else {})


def update_columns(plan: Plan, arm: Arm, base_model: str, step: int, updates: Sequence[Update]) -> Columns:
    """Return the updates table of one step, one row an optimiser step, with the settings as they were sent.

    Args:
        plan: gives the loss.
        arm: whose loss.
        base_model: as the service reported it.
        step: the rollout step, 0-based.
        updates: of this step.
    """
    count = len(updates)
    config = json.dumps(plan.losses[arm.loss].model_dump(), sort_keys=True)
    sent = ("learning_rate", "beta1", "beta2", "eps", "weight_decay", "grad_clip_norm")
    return {
        "step": [step] * count,
        "update": [update.update for update in updates],
        "optim_step": [step * plan.rollout.updates_per_batch + update.update + 1 for update in updates],
        "loss_id": [arm.loss] * count,
        "loss_config": [config] * count,
        "loss": [update.loss for update in updates],
        "n_loss_tokens": [update.n_loss_tokens for update in updates],
        **{name: [float(update.sent[name]) for update in updates] for name in sent},
        "base_model": [base_model] * count,
        "seconds_forward_backward": [update.seconds_forward_backward for update in updates],
        "seconds_optim": [update.seconds_optim for update in updates],
    }


def state_value_columns(step: int, measured: Sequence[Measured]) -> Columns:
    """Return the table of measured states of one step: one row a state."""
    names = [field.name for field in fields(Measured)]
    return {"step": [step] * len(measured)} | {name: [getattr(row, name) for row in measured] for name in names}


def direction_columns(step: int, found: Directions) -> Columns:
    """Return the table of update directions of one step: one row."""
    return {"step": [step]} | {name: [value] for name, value in asdict(found).items()}


def phase_columns(phases: Sequence[Phase]) -> Columns:
    """Return the phases table, one row a phase."""
    return {
        "step": [phase.step for phase in phases],
        "phase": [phase.phase for phase in phases],
        "started_at": [phase.started_at for phase in phases],
        "seconds": [phase.seconds for phase in phases],
    }


def eval_columns(checkpoint: str, outcomes: Sequence[Sequence[Sample]]) -> Columns:
    """Return the evals table of one checkpoint: one row an item a sample; the score is 1 where it is correct.

    Args:
        checkpoint: `base`, `stepNNNNNN` or `final`.
        outcomes: the samples of each item.
    """
    rows = [(number, sample) for samples in outcomes for number, sample in enumerate(samples)]
    return {
        "checkpoint": [checkpoint] * len(rows),
        "item_id": [sample.prompt.problem.prompt_id for _, sample in rows],
        "sample": [number for number, _ in rows],
        "score": [float(sample.grade.correct) for _, sample in rows],
        "correct": [sample.grade.correct for _, sample in rows],
        "extracted": [sample.grade.extracted for _, sample in rows],
        "gold": [sample.prompt.problem.gold for _, sample in rows],
        "completion": [sample.completion for _, sample in rows],
        "extraction": [sample.grade.extraction for _, sample in rows],
        "stop_reason": [sample.stop_reason for _, sample in rows],
        "n_tokens": [len(sample.token_ids) for _, sample in rows],
        "prompt_id": [sample.prompt.problem.prompt_id for _, sample in rows],
        "error": [None] * len(rows),
    }
