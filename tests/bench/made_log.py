"""Writes token logs of any size for `make bench`, through the store's own writer."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from made_run import arms_of, made_plan, phases, rollouts, sealed, updates

from audits.store.manifest import Manifest
from audits.store.writer import RunWriter

ROWS_A_STEP = 153_600
STARTED_AT = "2026-01-02T03:04:05.000006+00:00"


def token_columns(step: int, rows: int, generator: np.random.Generator) -> dict[str, Any]:
    """Return one step: each sampled token once in both updates, 8 % exact zeros, lengths near 300, heavy-tailed drift.

    Args:
        step: the rollout step.
        rows: rows of the step, an even number.
        generator: source of chance.
    """
    n = rows // 2
    length = 300
    surprise = generator.lognormal(-1.0, 1.4, n)
    sampler = np.where(generator.random(n) < 0.08, 0.0, -np.minimum(surprise, 25.0)).astype(np.float32)
    moved = [np.minimum(sampler + scale * generator.standard_t(4, n), 0.0) for scale in (0.002, 0.06)]
    advantage = generator.choice(np.array([-0.5, -0.25, 0.0, 0.25, 0.5], np.float32), n // length + 1)
    rollout = np.arange(n) // length
    return {
        "step": np.full(rows, step, np.int32),
        "update": np.repeat(np.array([0, 1], np.int8), n),
        "rollout_id": np.tile(rollout, 2).astype(np.int32),
        "position": np.tile(np.arange(n) % length, 2).astype(np.int32),
        "token_id": np.tile(np.minimum(generator.zipf(1.3, n), 151_935), 2).astype(np.int32),
        "sampler_logprob": np.tile(sampler, 2),
        "current_logprob": np.concatenate(moved).astype(np.float32),
        "advantage": np.tile(advantage[rollout], 2),
    }


def write_log(run: Path, *, seeds: Sequence[int], steps: int, rows_a_step: int = ROWS_A_STEP) -> Path:
    """Write a pilot of both arms with its token log; steps of the same number share their tokens over arms and seeds.

    Args:
        run: directory to make.
        seeds: training seeds of each arm.
        steps: rollout steps of each seed.
        rows_a_step: token rows of each step.
    """
    plan = made_plan(activation_gate__pilot_steps=steps, rollout__rollout_batches=steps)
    plan["arms"] = [
        arm | {"seed": seed, "name": f"{arm['condition']}_seed{seed}"} for arm in plan["arms"] for seed in seeds
    ]
    manifest = Manifest(
        run_id=run.name, kind="pilot", status="complete", arms=arms_of(plan), started_at=STARTED_AT,
        plan_sha256=sealed(plan).sha256,
    )  # fmt: skip
    writer = RunWriter.create(run, manifest, sealed(plan))
    for step in range(steps):
        tokens = token_columns(step, rows_a_step, np.random.default_rng(step))
        for record in arms_of(plan):
            data = {"tokens": tokens, "rollouts": rollouts(step), "updates": updates(step), "phases": phases(0)}
            writer.write_step(record.arm, record.seed, step, data)
    return run
