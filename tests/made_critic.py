"""Runs with critics whose error is known: estimates are made from a value function and a fault of it."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from made_run import STARTED_AT, Columns, arms_of, evals, made_plan, phases, right, sealed, updates
from numpy.typing import NDArray

from analysis.advantages.generalized import generalized_advantages
from analysis.advantages.normalized import normalized
from audits.store.manifest import Manifest
from audits.store.writer import RunWriter

LENGTHS = np.array([1, 2, 3, 4, 5, 6] * 4)
STATES = int(LENGTHS.sum())
LAST = np.repeat(LENGTHS, LENGTHS) - 1 - np.concatenate([np.arange(n) for n in LENGTHS])
"""Tokens of each state to the last of its rollout: T - 1 - t."""

Floats = NDArray[np.float64]
Fault = Callable[[Floats, Floats, Floats], Floats]
"""The critic's values from true values, true advantages and the rewards of the states' rollouts."""


def exact(values: Floats, advantages: Floats, rewards: Floats) -> Floats:
    return values


def constant(c: float) -> Fault:
    return lambda values, advantages, rewards: values + c


def zero_mean(size: float) -> Fault:
    """Errors of this root mean square that are orthogonal to 1 and to the advantages."""

    def fault(values: Floats, advantages: Floats, rewards: Floats) -> Floats:
        basis, _ = np.linalg.qr(np.stack([np.ones(STATES), advantages]).T)
        error = np.random.default_rng(3).normal(size=STATES)
        error -= basis @ (basis.T @ error)
        return values + size * error / np.sqrt(np.mean(error**2))

    return fault


def scaled(b: float) -> Fault:
    """Values whose advantages are b times the true ones, at gamma = lambda = 1."""
    return lambda values, advantages, rewards: rewards - b * advantages


def truth(step: int) -> tuple[Floats, Floats]:
    """Return the rewards of the rollouts and the true values of their states, the same for every arm."""
    generator = np.random.default_rng(100 + step)
    return generator.integers(0, 2, LENGTHS.size).astype(float), generator.uniform(0.1, 0.9, STATES)


def estimates(fault: Fault, step: int, *, decay: float = 1.0, discount: float = 1.0) -> tuple[Floats, Floats, Floats]:
    """Return the critic's values, its advantages, and the true advantages."""
    rewards, values = truth(step)
    known = {"discount": discount, "decay": decay}
    true = generalized_advantages(rewards, values, LENGTHS, **known).advantages
    wrong = fault(values, true, np.repeat(rewards, LENGTHS))
    return wrong, generalized_advantages(rewards, wrong, LENGTHS, **known).advantages, true


def state_values(fault: Fault | None, step: int, normalization: Any, deviation: float = 0.0, **known: float) -> Columns:
    """Return the measured states of one step; without a fault those of an arm without a critic, which are exact."""
    wrong, estimated, true = estimates(fault or exact, step, **known)
    _, values = truth(step)
    return {
        "step": [step] * STATES,
        "rollout_id": np.repeat(np.arange(LENGTHS.size), LENGTHS).tolist(),
        "position": np.concatenate([np.arange(n) for n in LENGTHS]).tolist(),
        "value": [None] * STATES if fault is None else wrong.tolist(),
        "advantage": estimated.tolist(),
        "update_advantage": normalized(estimated, normalization).tolist(),
        "monte_carlo_value": values.tolist(),
        "monte_carlo_value_error": [deviation] * STATES,
        "monte_carlo_advantage": true.tolist(),
        "monte_carlo_advantage_error": [deviation] * STATES,
        "rollouts": [16] * STATES,
    }


def critic_plan(
    faults: Mapping[str, Fault | None],
    seeds: Sequence[int] = (0,),
    *,
    normalization: str = "z_score",
    preference: Sequence[str] = (),
    **known: float,
) -> dict[str, Any]:
    """Return a plan with a condition for each fault: None is one with group means, or with a preference loss."""
    capacities = ("none", "medium", "small", "large")
    critics = {arm: capacities[n % 4] for n, arm in enumerate(arm for arm, fault in faults.items() if fault)}
    plan = made_plan(rollout__rollout_batches=2)
    plan["losses"] = {"clip": plan["losses"]["grpo"]}
    if preference:
        unset = {"kind": "preference", "form": "ratio", "beta": 0.1, "anchor": "base", "truncation": None}
        plan["losses"]["pairs"] = {**unset, "reduction": "token_sum"}
    plan["rollout"] |= {"groups_per_batch": LENGTHS.size // 4, "group_size": 4, "max_tokens": 8}
    plan["advantages"] = {
        f"of_{arm}": {
            "critic": {"capacity": capacity, "learning_rate": 1e-3, "epochs": 1},
            "discount": known.get("discount", 1.0), "decay": known.get("decay", 1.0), "normalization": normalization,
        }
        for arm, capacity in critics.items()
    }  # fmt: skip
    plan["advantage_measurement"] = {"every_steps": 1, "states": STATES, "rollouts": 16}
    roles = {arm: ("baseline", "treatment", "other")[min(n, 2)] for n, arm in enumerate(faults)}
    plan["arms"] = [
        {
            "name": f"{arm}_{seed}", "role": roles[arm], "condition": arm, "seed": seed,
            "loss": "pairs" if arm in preference else "clip",
            **({"advantage": f"of_{arm}"} if arm in critics else {}),
        }
        for arm in faults for seed in seeds
    ]  # fmt: skip
    plan["activation_gate"] = {"applicable": False, "reason": "made", "pilot_steps": 2, "checks": []}
    plan["decision_rule"]["seeds"] = list(seeds)
    return plan


def tokens_of_rollouts(step: int, advantages: Floats, values: Floats | None, *, paired: bool) -> Columns:
    """Return the loss tokens of a step: whole completions, the first half of the groups in update 0.

    Args:
        step: of the rollouts.
        advantages: of each state, as the update used them.
        values: the critic's, None without one.
        paired: only the best and the worst rollout of groups with two rewards, as a preference loss has them.
    """
    rollout = np.repeat(np.arange(LENGTHS.size), LENGTHS)
    rewards = truth(step)[0].reshape(-1, 4)
    ends = {4 * group + int(place(row)) for group, row in enumerate(rewards) for place in (np.argmax, np.argmin)
            if np.ptp(row)}  # fmt: skip
    kept = np.flatnonzero(np.isin(rollout, sorted(ends)) | (not paired))
    position = np.concatenate([np.arange(n) for n in LENGTHS])
    columns: Columns = {
        "step": [step] * kept.size, "update": (rollout // (LENGTHS.size // 2))[kept].tolist(),
        "rollout_id": rollout[kept].tolist(), "position": position[kept].tolist(), "token_id": [7] * kept.size,
        "sampler_logprob": [-0.5] * kept.size, "current_logprob": [-0.5] * kept.size,
        "advantage": advantages[kept].tolist(),
    }  # fmt: skip
    return columns | ({} if values is None else {"value": values[kept].tolist()})


def rollouts_of_groups(step: int, *, one_advantage: bool) -> Columns:
    """Return the rollouts of a step, in groups of 4; those of a critic have no advantage of their own."""
    rewards, _ = truth(step)
    centred = (rewards.reshape(-1, 4) - rewards.reshape(-1, 4).mean(axis=1, keepdims=True)).ravel()
    n = LENGTHS.size
    columns: Columns = {
        "step": [step] * n, "rollout_id": list(range(n)), "group_id": (np.arange(n) // 4).tolist(),
        "prompt_id": [f"p{group}" for group in np.arange(n) // 4], "reward": rewards.tolist(),
        "n_tokens": LENGTHS.tolist(), "stop_reason": ["stop"] * n,
    }  # fmt: skip
    return columns | ({"advantage": centred.tolist()} if one_advantage else {})


def write_critics(
    path: Path,
    faults: Mapping[str, Fault | None],
    seeds: Sequence[int] = (0,),
    *,
    normalization: str = "z_score",
    accuracy: Callable[[str, int], int | None] = lambda arm, seed: 10 + seed,
    measured: bool = True,
    deviation: float = 0.0,
    kind: str = "pilot",
    preference: Sequence[str] = (),
    **known: float,
) -> Path:
    """Write a run of two steps in which each condition's critic has its fault.

    Args:
        path: run directory to make.
        faults: by condition; None is a condition with group means.
        seeds: training seeds.
        normalization: of the plan.
        accuracy: right answers of 20 of (condition, seed); None leaves the final evaluation out.
        measured: write the tables of the measurement.
        deviation: standard error of every Monte Carlo estimate.
        kind: pilot or full.
        preference: conditions with a preference loss; nothing of them is measured.
        known: discount and decay.
    """
    plan = critic_plan(faults, seeds, normalization=normalization, preference=preference, **known)
    sizes = {
        f"of_{arm}": size for arm, size in zip((a for a in faults if faults[a]), (0, 65, 1057, 24961), strict=False)
    }
    critics = [
        {"arm": arm["condition"], "seed": arm["seed"], "parameters": sizes[arm["advantage"]], "hidden_size": 64}
        for arm in plan["arms"]
        if "advantage" in arm
    ]
    manifest = Manifest(
        run_id=path.name, kind=kind, status="complete", arms=arms_of(plan), started_at=STARTED_AT,
        plan_sha256=sealed(plan).sha256, executed={"critics": critics},
    )  # fmt: skip
    writer = RunWriter.create(path, manifest, sealed(plan))
    for record in arms_of(plan):
        fault = faults[record.arm]
        for step in range(2):
            rewards, _ = truth(step)
            group = np.array(rollouts_of_groups(step, one_advantage=True)["advantage"])
            paired, values, used = record.arm in preference, None, np.repeat(group, LENGTHS)
            if fault is not None:
                values, estimated, _ = estimates(fault, step, **known)
                used = normalized(estimated, normalization)
            elif paired:
                used = np.repeat(np.where(rewards > 0, 0.05, -0.05), LENGTHS)
            logged = tokens_of_rollouts(step, used, values, paired=paired)
            counts = np.bincount(logged["update"], minlength=2).tolist()
            tables = {
                "tokens": logged, "updates": updates(step) | {"n_loss_tokens": counts}, "phases": phases(step),
                "rollouts": rollouts_of_groups(step, one_advantage=fault is None),
            }  # fmt: skip
            if measured and not paired:
                tables["state_values"] = state_values(fault, step, normalization, deviation, **known)
                tables["update_directions"] = {
                    "step": [step], "states": [STATES], "estimated_norm": [3.0], "monte_carlo_norm": [4.0],
                    "sum_norm": [5.0 if step else 7.0],
                }  # fmt: skip
            writer.write_step(record.arm, record.seed, step, tables)
        scored = accuracy(record.arm, record.seed)
        if scored is not None:
            writer.write_evals(record.arm, record.seed, "final", evals(right(scored)))
    return path
