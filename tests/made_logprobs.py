"""Token logs of completions of several tokens, with log-probabilities like a model's, to be spoiled by a test."""

from collections.abc import Callable

import numpy as np
from made_run import STARTED_AT, Columns, rollouts, write_run

from audits.store.manifest import ArmRecord, Manifest
from audits.store.writer import RunWriter

ROLLOUTS, LENGTH = 40, 12

Sequences = dict[str, np.ndarray]
"""`sampler` and `current` log-probabilities in nats, of shape (rollouts, length)."""


def sequences(
    step: int = 0, *, n_rollouts: int = ROLLOUTS, length: int = LENGTH, noise: float = 1e-6, spread: float = 0.8
) -> Sequences:
    """Return log-probabilities of a step's first update: many near 0, a few far below; the trainer differs by noise."""
    rng = np.random.default_rng([step, n_rollouts, length])
    sampler = -(spread * rng.exponential(size=(n_rollouts, length)) ** 2) - 1e-3
    current = np.minimum(sampler + noise * rng.normal(size=sampler.shape), 0.0)
    return {"sampler": sampler, "current": current}


def sequence_columns(step: int, made: Sequences, update: int = 0) -> Columns:
    """Return token columns of one update of these sequences, rollout by rollout."""
    n_rollouts, length = made["sampler"].shape
    n = n_rollouts * length
    rollout_id = np.repeat(np.arange(n_rollouts), length)
    return {
        "step": [step] * n,
        "update": [update] * n,
        "rollout_id": rollout_id.tolist(),
        "position": np.tile(np.arange(length), n_rollouts).tolist(),
        "token_id": [7] * n,
        "sampler_logprob": made["sampler"].ravel().tolist(),
        "current_logprob": made["current"].ravel().tolist(),
        "advantage": np.where(rollout_id % 2, 0.5, -0.5).tolist(),
    }


def sequence_rollouts(step: int, made: Sequences, **extra: list[object]) -> Columns:
    """Return the rollout columns that fit `sequence_columns`: one group of rewards 0 and 1."""
    n_rollouts, length = made["sampler"].shape
    columns = rollouts(step, [float(number % 2) for number in range(n_rollouts)])
    return columns | {"n_tokens": [length] * n_rollouts} | extra


def write_sequences(path, change: Callable[[str, int, Sequences], object] | None = None, *, steps: int = 2, **made):
    """Write a pilot of sequences that `change(arm, step, sequences)` may have changed in place."""

    def of(arm, step):
        found = sequences(step, **made)
        if change:
            change(arm, step, found)
        return found

    return write_run(
        path,
        steps=steps,
        tokens_of=lambda arm, seed, step: sequence_columns(step, of(arm, step)),
        rollouts_of=lambda arm, seed, step: sequence_rollouts(step, of(arm, step)),
    )


def imported_run(path, steps, *, arm: str = "dppo"):
    """Write an imported run without a plan: one arm, the tables of each step as given."""
    arms = [ArmRecord(arm=arm, seed=0, role="treatment", name=arm)]
    manifest = Manifest(run_id="imported", kind="imported", status="complete", arms=arms, started_at=STARTED_AT)
    writer = RunWriter.create(path, manifest, None)
    for step, data in enumerate(steps):
        writer.write_step(arm, 0, step, data)
    return path
