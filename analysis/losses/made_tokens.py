"""Seeded tokens on which a wrong loss must show: every branch, both signs, near each threshold, never on it."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.plan.model import Loss

RARITIES = {"rare": (1e-4, 1e-2), "middling": (0.25, 0.6), "common": (0.85, 0.97)}
"""Ranges of the sampler's probability of a token."""

MARGIN = (0.01, 0.03)
"""How far from a threshold a near token stands, as a share of the probability there: rounding cannot move it over."""

_LARGEST, _SMALLEST = 0.999, 1e-6


@dataclass(frozen=True)
class MadeSequence:
    """The loss tokens of one made rollout, which share an advantage.

    Attributes:
        advantage: of every token.
        sampler_logprob: log mu, nats, float32, shape (n,).
        current_logprob: log pi, nats, float32, shape (n,).
        branch: what each token is there for: rarity of the token, then where pi stands.
    """

    advantage: float
    sampler_logprob: NDArray[np.float32]
    current_logprob: NDArray[np.float32]
    branch: tuple[str, ...]


def made_sequences(loss: Loss, seed: int = 0) -> list[MadeSequence]:
    """Return sequences that cover every branch of a loss, two for each sign of the advantage.

    Each holds, for a rare, a middling and a common token: pi equal to mu, near mu on both sides, just inside and
    just outside the upper and the lower threshold, and far beyond both; what no probability can reach is left out.
    The order is shuffled, so that neighbours differ and a shift by one position shows.

    Args:
        loss: whose thresholds count.
        seed: of everything random here.
    """
    rng = np.random.default_rng(seed)
    return [_sequence(loss, sign * rng.uniform(0.4, 1.6), rng) for sign in (1.0, -1.0, 0.0, 1.0, -1.0, 0.0)]


def thresholds(loss: Loss, mu: float) -> tuple[float, float]:
    """Return the probabilities below and above mu where a token leaves the trust region (outside 0..1: never).

    Args:
        loss: whose trust region.
        mu: the sampler's probability, 0 < mu < 1.
    """
    if loss.kind == "ratio_clip":
        eps = loss.eps or 0.0
        return mu * (1.0 - eps), mu * (1.0 + eps)
    delta = loss.delta or 0.0
    if loss.divergence == "binary_tv":
        return mu - delta, mu + delta

    def excess(pi: float) -> float:
        return mu * math.log(mu / pi) + (1.0 - mu) * math.log((1.0 - mu) / (1.0 - pi)) - delta

    return _bisected(excess, mu, 1e-15), _bisected(excess, mu, 1.0 - 1e-15)


def _sequence(loss: Loss, advantage: float, rng: np.random.Generator) -> MadeSequence:
    tokens = [
        (f"{rarity}, {where}", mu, pi)
        for rarity, (low, high) in RARITIES.items()
        for mu in [float(np.exp(rng.uniform(np.log(low), np.log(high))))]
        for where, pi in _places(loss, mu, rng)
        if _SMALLEST < pi < _LARGEST
    ]
    order = rng.permutation(len(tokens))
    return MadeSequence(
        advantage=float(np.float32(advantage)),
        sampler_logprob=np.asarray([math.log(tokens[index][1]) for index in order], np.float32),
        current_logprob=np.asarray([math.log(tokens[index][2]) for index in order], np.float32),
        branch=tuple(tokens[index][0] for index in order),
    )


def _places(loss: Loss, mu: float, rng: np.random.Generator) -> Iterator[tuple[str, float]]:
    lower, upper = thresholds(loss, mu)
    yield "at mu", mu
    yield "a little above mu", mu * (1.0 + rng.uniform(0.002, 0.004))
    yield "a little below mu", mu * (1.0 - rng.uniform(0.002, 0.004))
    if upper < _LARGEST:
        inside, outside = upper * (1.0 - rng.uniform(*MARGIN)), upper * (1.0 + rng.uniform(*MARGIN))
        yield from (("just inside the upper threshold", inside),) if inside > mu else ()
        yield "just outside the upper threshold", outside
        yield "far above", 1.0 - (1.0 - upper) * rng.uniform(0.3, 0.6)
    if lower > _SMALLEST:
        inside, outside = lower * (1.0 + rng.uniform(*MARGIN)), lower * (1.0 - rng.uniform(*MARGIN))
        yield from (("just inside the lower threshold", inside),) if inside < mu else ()
        yield "just outside the lower threshold", outside
        yield "far below", lower * rng.uniform(0.2, 0.6)


def _bisected(excess: Callable[[float], float], mu: float, end: float) -> float:
    """Return where the excess becomes positive between mu and an end; beyond the end where it never does."""
    if excess(end) <= 0.0:
        return 2.0 * end - mu
    near, far = mu, end
    for _ in range(200):
        middle = 0.5 * (near + far)
        near, far = (near, middle) if excess(middle) > 0.0 else (middle, far)
    return 0.5 * (near + far)


def made_samplers(loss: Loss, current_logprob: ArrayLike, seed: int = 0) -> NDArray[np.float64]:
    """Return sampler log-probabilities that put tokens of a given policy on all sides of a loss's thresholds.

    A model's own probabilities cannot be chosen, the sampler's can: each token gets one at random from those inside,
    above and below the trust region that stand well off its thresholds, since a service computes with noise.

    Args:
        loss: whose thresholds count.
        current_logprob: log pi, nats, < 0, shape (n,).
        seed: of the choice.

    Returns:
        log mu, nats, shape (n,); a token that no choice suits keeps its log pi.
    """
    rng = np.random.default_rng(seed)
    current = np.asarray(current_logprob, np.float64)
    return np.asarray([_made_sampler(loss, float(value), rng) for value in current], np.float64).reshape(current.shape)


def _made_sampler(loss: Loss, log_pi: float, rng: np.random.Generator) -> float:
    pi = math.exp(log_pi)
    ratios = [pi / ratio for ratio in (0.4, 0.7, 0.9, 1.0, 1.1, 1.35, 2.5)]
    shifted = [pi + shift for shift in (-0.5, -0.25, -0.05, 0.05, 0.25, 0.5)]
    fit = [mu for mu in (*ratios, *shifted) if _SMALLEST < mu < _LARGEST and _clear_of_thresholds(loss, mu, pi)]
    return math.log(rng.choice(fit)) if fit else log_pi


def _clear_of_thresholds(loss: Loss, mu: float, pi: float) -> bool:
    return all(abs(pi - threshold) > MARGIN[1] * abs(threshold) for threshold in thresholds(loss, mu))
