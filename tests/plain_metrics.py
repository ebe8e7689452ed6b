"""Every metric again, in plain numpy: `plain_metrics` returns one implementation a file of sql/metrics."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

DELTA, EPS = 0.15, 0.2
Columns = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Figure:
    """What a metric says of some rows; `None` where it says nothing of the kind."""

    value: float | str
    numerator: int | None = None
    denominator: int | None = None
    beside: float | None = None
    reach: float | None = None


@dataclass(frozen=True)
class Plain:
    """A plain implementation.

    Attributes:
        table: of the run format.
        update: on which minibatch update, None for all.
        over: `mean_of_steps`, `pooled` or `every_step`.
        figure: of the rows of one step, or where pooled, of all steps together.
    """

    table: str
    update: int | None
    over: str
    figure: Callable[[Columns], Figure]


def divergence(kind: str, sampler: np.ndarray, current: np.ndarray) -> np.ndarray:
    """Return the binary divergence of each token, sampler first; the KL with the official 1e-8 in the complement."""
    mu, pi = np.exp(sampler), np.exp(current)
    if kind == "binary_tv":
        return np.abs(mu - pi)
    rest_mu, rest_pi = np.maximum(1 - mu, 0) + 1e-8, np.maximum(1 - pi, 0) + 1e-8
    return mu * (sampler - current) + (1 - mu) * np.log(rest_mu / rest_pi)


def _share(hit: np.ndarray, beside: float | None, reach: np.ndarray) -> Figure:
    largest = float(reach.max()) if len(reach) else None
    return Figure(float(np.mean(hit)), int(hit.sum()), len(hit), beside, largest)


def _part(hit: np.ndarray, of: np.ndarray) -> float | None:
    return float(hit.sum() / of.sum()) if of.any() else None


def _logprobs(rows: Columns) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return rows["sampler_logprob"], rows["current_logprob"], rows["advantage"]


def _ratio(rows: Columns) -> np.ndarray:
    return np.exp(rows["current_logprob"] - rows["sampler_logprob"])


def _dppo_masked(kind: str, delta: float) -> Callable[[Columns], Figure]:
    def figure(rows: Columns) -> Figure:
        sampler, current, advantage = _logprobs(rows)
        away = ((advantage > 0) & (current > sampler)) | ((advantage < 0) & (current < sampler))
        size = divergence(kind, sampler, current)
        hit = away & (size > delta)
        return _share(hit, _part(hit, advantage != 0), size[away])

    return figure


def _topk_masked(kind: str, delta: float) -> Callable[[Columns], Figure]:
    def figure(rows: Columns) -> Figure:
        hits, away, with_advantage, sizes = 0, [], 0, []
        keys = np.stack([rows[name] for name in ("update", "rollout_id", "position")], axis=1)
        for key in np.unique(keys, axis=0):
            own = (keys == key).all(axis=1)
            sampled = own & rows["is_sampled"]
            advantage = rows["advantage"][sampled][0]
            mu, pi = np.exp(rows["sampler_logprob"][own]), np.exp(rows["current_logprob"][own])
            mu, pi = (np.append(p, max(1 - p.sum(), 1e-12)) for p in (mu, pi))
            size = np.abs(mu - pi).sum() / 2 if kind == "topk_tv" else (mu * np.log(mu / pi)).sum()
            gone = rows["current_logprob"][sampled][0] - rows["sampler_logprob"][sampled][0]
            away.append(advantage * gone > 0)
            sizes.append(size)
            hits += away[-1] and size > delta
            with_advantage += advantage != 0
        reach = np.array(sizes)[np.array(away)]
        beside = float(hits / with_advantage) if with_advantage else None
        return Figure(hits / len(away), int(hits), len(away), beside, float(reach.max()) if len(reach) else None)

    return figure


def _verl_masked(kind: str, delta: float) -> Callable[[Columns], Figure]:
    def figure(rows: Columns) -> Figure:
        sampler, current, advantage = _logprobs(rows)
        away = np.where(advantage > 0, current > sampler, current < sampler)
        size = divergence(kind, sampler, current)
        hit = away & (size > delta)
        return _share(hit, float(np.mean(hit & (advantage == 0))), size[away])

    return figure


def _clipped(rows: Columns) -> Figure:
    _, _, advantage = _logprobs(rows)
    ratio = _ratio(rows)
    hit = ((advantage > 0) & (ratio > 1 + EPS)) | ((advantage < 0) & (ratio < 1 - EPS))
    away = ((advantage > 0) & (ratio > 1)) | ((advantage < 0) & (ratio < 1))
    return _share(hit, _part(hit, advantage != 0), np.abs(ratio - 1)[away])


def _outside(rows: Columns) -> Figure:
    ratio = _ratio(rows)
    hit = (ratio > 1 + EPS) | (ratio < 1 - EPS)
    return _share(hit, _part(hit & (rows["advantage"] != 0), hit), np.abs(ratio - 1))


def _zero_logprob(rows: Columns) -> Figure:
    sampler, current, _ = _logprobs(rows)
    hit = sampler == 0
    return _share(hit, float(np.mean(hit & (current < -0.01))), sampler)


def _invalid(rows: Columns) -> Figure:
    sampler, current, advantage = _logprobs(rows)
    fine = np.isfinite(sampler) & np.isfinite(current) & np.isfinite(advantage) & (sampler <= 1e-6) & (current <= 1e-6)
    return _share(~fine, float(np.mean(~np.isfinite(sampler))), sampler[np.isfinite(sampler)])


def _truncated(rows: Columns) -> Figure:
    hit = rows["stop_reason"] == "length"
    return _share(hit, float(np.mean(hit & (rows["reward"] > 0))), rows["n_tokens"])


def _zero_variance(rows: Columns) -> Figure:
    groups = [rows["reward"][rows["group_id"] == group] for group in np.unique(rows["group_id"])]
    hit = np.array([bool(np.all(rewards == rewards[0])) for rewards in groups])
    dead = np.array([bool(np.all(rewards <= 0) and np.all(rewards == rewards[0])) for rewards in groups])
    return _share(hit, float(np.mean(dead)), np.array([len(np.unique(rewards)) for rewards in groups]))


def _mean(of: Callable[[Columns], np.ndarray]) -> Callable[[Columns], Figure]:
    def figure(rows: Columns) -> Figure:
        values = of(rows)
        return Figure(math.fsum(values) / len(values), denominator=len(values))

    return figure


def _largest(of: Callable[[Columns], np.ndarray]) -> Callable[[Columns], Figure]:
    return lambda rows: Figure(float(of(rows).max()), denominator=len(of(rows)))


def _quantile(of: Callable[[Columns], np.ndarray], order: float) -> Callable[[Columns], Figure]:
    return lambda rows: Figure(float(np.quantile(of(rows), order, method="linear")), denominator=len(of(rows)))


def _effective_sample_size(rows: Columns) -> Figure:
    weights = _ratio(rows)
    return Figure(float(weights.sum() ** 2 / (len(weights) * (weights**2).sum())), denominator=len(weights))


def _names(of: Callable[[Mapping[str, Any], int], str]) -> Callable[[Columns], Figure]:
    return lambda rows: Figure(" and ".join(sorted({of(rows, place) for place in range(len(rows["step"]))})))


def _optimizer(rows: Mapping[str, Any], place: int) -> str:
    names = {"lr": "learning_rate"} | {
        name: name for name in ("beta1", "beta2", "eps", "weight_decay", "grad_clip_norm")
    }
    return "adamw " + " ".join(f"{label}={float(rows[name][place])!r}" for label, name in names.items())


def _p_difference(rows: Columns) -> np.ndarray:
    return np.abs(np.exp(rows["current_logprob"]) - np.exp(rows["sampler_logprob"]))


def _logprob_difference(rows: Columns) -> np.ndarray:
    return np.abs(rows["current_logprob"] - rows["sampler_logprob"])


def _surprisal(rows: Columns) -> np.ndarray:
    return -rows["sampler_logprob"]


def _second(figure: Callable[[Columns], Figure], over: str = "mean_of_steps") -> Plain:
    return Plain("tokens", 1, over, figure)


def plain_metrics(kind: str = "binary_tv", delta: float = DELTA, order: float = 0.9) -> dict[str, Plain]:
    """Return the implementations by the id of the metric's file; `order` is that of the quantiles."""
    everything = "mean_of_steps"
    return {
        "abs_p_difference_mean": _second(_mean(_p_difference)),
        "dppo_masked_token_fraction": _second(_dppo_masked(kind, delta)),
        "dppo_topk_masked_token_fraction": Plain(
            "candidates", 1, everything, _topk_masked(kind.replace("binary", "topk"), delta)
        ),
        "effective_sample_size": _second(_effective_sample_size),
        "executed_base_model": Plain("updates", None, "every_step", _names(lambda rows, at: rows["base_model"][at])),
        "executed_optimizer": Plain("updates", None, "every_step", _names(_optimizer)),
        "executed_updates_per_batch": Plain(
            "updates", None, "every_step", lambda rows: Figure(float(len(np.unique(rows["optim_step"]))))
        ),
        "first_update_mismatch": Plain("tokens", 0, everything, _mean(_logprob_difference)),
        "first_update_mismatch_max": Plain("tokens", 0, "pooled", _largest(_logprob_difference)),
        "grpo_clip_fraction": _second(_clipped),
        "invalid_fraction": Plain("tokens", None, everything, _invalid),
        "kl_k1": _second(_mean(lambda rows: rows["sampler_logprob"] - rows["current_logprob"])),
        "kl_k3": _second(_mean(lambda rows: np.expm1(-_logs(rows)) + _logs(rows))),
        "mean_completion_tokens": Plain("rollouts", None, everything, _mean(lambda rows: rows["n_tokens"])),
        "mean_reward": Plain("rollouts", None, everything, _mean(lambda rows: rows["reward"])),
        "policy_drift_abs_p_qNN": _second(_quantile(_p_difference, order), "pooled"),
        "ratio_max": _second(_largest(_ratio), "pooled"),
        "ratio_mean": _second(_mean(_ratio)),
        "ratio_outside_range_fraction": _second(_outside),
        "ratio_qNN": _second(_quantile(_ratio, order), "pooled"),
        "sampled_surprisal": Plain("tokens", None, everything, _mean(_surprisal)),
        "sampled_surprisal_qNN": Plain("tokens", None, "pooled", _quantile(_surprisal, order)),
        "total_variation_estimate": _second(_mean(lambda rows: np.abs(_ratio(rows) - 1) / 2)),
        "truncated_fraction": Plain("rollouts", None, everything, _truncated),
        "verl_dppo_clip_fraction": _second(_verl_masked(kind, delta)),
        "zero_logprob_fraction": Plain("tokens", None, everything, _zero_logprob),
        "zero_variance_group_fraction": Plain("rollouts", None, everything, _zero_variance),
    }


def _logs(rows: Columns) -> np.ndarray:
    return rows["sampler_logprob"] - rows["current_logprob"]
