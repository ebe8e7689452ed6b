"""Random runs of two arms, two seeds and three steps with all step tables, and their rows as numpy columns."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from made_run import STARTED_AT, arms_of, made_plan, sealed, updates

from audits.store.manifest import Manifest
from audits.store.writer import RunWriter

Rows = dict[tuple[str, str, int, int], dict[str, np.ndarray]]
"""Columns as float64 or text by (table, arm, seed, step)."""


def two_seed_plan(**changes: Any) -> dict[str, Any]:
    """Return the made plan with seeds 0 and 1 of each arm."""
    plan = made_plan(**changes)
    second = [{**arm, "name": f"{arm['condition']}_seed1", "seed": 1} for arm in plan["arms"]]
    return plan | {"arms": [*plan["arms"], *second]}


def random_run(path: Path, number: int, plan: dict[str, Any] | None = None) -> Rows:
    """Write a random pilot of 1 to 3 updates a step and return its rows."""
    rng, rows = np.random.default_rng(number), {}
    for record in arms_of(two_seed_plan()):
        for step, n_updates in enumerate(rng.permutation([2, 3, 1 + int(rng.integers(3))])):
            key = (record.arm, record.seed, step)
            rows["tokens", *key] = random_tokens(rng, step, int(n_updates))
            rows["candidates", *key] = random_candidates(
                np.random.default_rng([number, *key[1:]]), rows["tokens", *key]
            )
            rows["rollouts", *key] = _rollouts(rng, step)
            rows["updates", *key] = _updates(rng, step, int(n_updates))
    return write_rows(path, rows, plan)


def write_rows(path: Path, rows: Rows, plan: dict[str, Any] | None = None) -> Rows:
    """Write a pilot of these rows, one file a step, and return the rows as its columns hold them."""
    plan = plan or two_seed_plan()
    manifest = Manifest(
        run_id=path.name, kind="pilot", status="complete", arms=arms_of(plan), started_at=STARTED_AT,
        plan_sha256=sealed(plan).sha256,
    )  # fmt: skip
    writer = RunWriter.create(path, manifest, sealed(plan))
    for (table, arm, seed, step), columns in rows.items():
        writer.write_step(arm, seed, step, {table: columns})
    return {key: as_logged(columns) for key, columns in rows.items()}


def as_logged(columns: dict[str, Any]) -> dict[str, np.ndarray]:
    """Return token columns rounded to float32, as they are logged, and widened again."""
    single = {"sampler_logprob", "current_logprob", "advantage"} if "token_id" in columns else set()
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    return {name: a.astype(np.float32).astype(np.float64) if name in single else a for name, a in arrays.items()}


def token_columns(step: int, update: Any, sampler: Any, current: Any, advantage: Any) -> dict[str, np.ndarray]:
    """Return token columns of one step; a single update stands for all rows."""
    n = len(sampler)
    return {
        "step": np.full(n, step, np.int32),
        "update": np.broadcast_to(np.asarray(update, np.int8), n),
        "rollout_id": np.arange(n, dtype=np.int32),
        "position": np.zeros(n, np.int32),
        "token_id": np.full(n, 7, np.int32),
        "sampler_logprob": np.asarray(sampler, np.float64),
        "current_logprob": np.asarray(current, np.float64),
        "advantage": np.asarray(advantage, np.float64),
    }


def random_tokens(rng: np.random.Generator, step: int, n_updates: int) -> dict[str, np.ndarray]:
    """Return tokens with certain ones, unmoved ones and zero advantages; now and then all advantages are zero."""
    sizes: Sequence[int] = [int(rng.integers(1, 60)) for _ in range(n_updates)]
    update = np.repeat(np.arange(n_updates), sizes)
    n = len(update)
    sampler = np.where(rng.random(n) < 0.08, 0.0, -rng.exponential(0.7, n))
    moved = sampler + rng.normal(0, 0.1 + 0.3 * update)
    current = np.minimum(np.where(rng.random(n) < 0.1, sampler, moved), 0.0)
    advantage = rng.choice([0.0, 0.5, -0.5, 1.0], n) * (rng.random() < 0.85)
    return token_columns(step, update, sampler, current, advantage)


def random_candidates(rng: np.random.Generator, tokens: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return three or four candidates of each token: the sampled one, and of the rest of its mass some more."""
    counts = rng.integers(2, 4, len(tokens["step"]))
    parts = []
    for row, count in enumerate(counts):
        logs = {name: tokens[name][row] for name in ("sampler_logprob", "current_logprob")}
        others = {name: np.log(np.maximum(1 - np.exp(log), 1e-9) * _shares(rng, count)) for name, log in logs.items()}
        one = {name: np.full(count + 1, tokens[name][row]) for name in tokens}
        one |= {name: np.append(logs[name], others[name]) for name in logs}
        parts.append(one | {"token_id": 7 + np.arange(count + 1), "is_sampled": np.arange(count + 1) == 0})
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _shares(rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.dirichlet(np.ones(count + 1))[:count]


def _rollouts(rng: np.random.Generator, step: int) -> dict[str, np.ndarray]:
    group = np.repeat(np.arange(5), rng.integers(1, 5, 5))
    n = len(group)
    return {
        "step": np.full(n, step, np.int32),
        "rollout_id": np.arange(n, dtype=np.int32),
        "group_id": group.astype(np.int32),
        "prompt_id": np.array([f"p{number}" for number in group]),
        "reward": rng.choice([-1.0, 0.0, 0.1, 1.0], n, p=[0.1, 0.5, 0.1, 0.3]),
        "advantage": rng.normal(size=n),
        "n_tokens": rng.integers(1, 50, n).astype(np.int32),
        "stop_reason": rng.choice(["stop", "length", "eos"], n),
    }


def _updates(rng: np.random.Generator, step: int, n_updates: int) -> dict[str, np.ndarray]:
    columns = {name: np.array(values) for name, values in updates(step, n=n_updates).items()}
    columns["base_model"] = rng.choice(["tiny-addition", "other"], n_updates, p=[0.8, 0.2])
    columns["learning_rate"] = rng.choice([3e-4, 1e-5], n_updates)
    return columns | {"grad_clip_norm": rng.choice([0.0, 1.0], n_updates)}
