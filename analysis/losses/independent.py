"""The losses once more, written from their sources: what a preflight compares the losses that train with.

Nothing here is shared with `reference` or `traced`, not even a divergence: a mistake there must not be repeated here.
Scalars and the standard library only, one token at a time, so that a reader can hold each line beside its source.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.plan.model import Loss

Token = Callable[[float, float, float], tuple[float, float]]
"""From log pi, log mu and the advantage to the token's loss and its derivative by log pi."""


@dataclass(frozen=True)
class IndependentLoss:
    """A reference of a policy loss.

    Attributes:
        id: short name, part of a comparison's path.
        source: where the formula stands.
        token: the loss of one token and its derivative.
    """

    id: str
    source: str
    token: Token

    def evaluate(
        self, current_logprob: ArrayLike, sampler_logprob: ArrayLike, advantage: ArrayLike
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the loss of each token and its derivative by that token's current log-probability.

        Args:
            current_logprob: log pi, nats, shape (n,).
            sampler_logprob: log mu, nats, shape (n,).
            advantage: shape (n,).
        """
        columns = (np.asarray(values, np.float64) for values in (current_logprob, sampler_logprob, advantage))
        pairs = [self.token(float(pi), float(mu), float(a)) for pi, mu, a in zip(*columns, strict=True)]
        table = np.asarray(pairs, np.float64).reshape(-1, 2)
        return table[:, 0], table[:, 1]


def references_of(loss: Loss) -> Sequence[IndependentLoss]:
    """Return the references whose value and gradient a loss must have.

    The ratio form and the score form have one gradient and two values, so each form has a reference of its own.
    A ratio clip with a truncation or a KL penalty has none: no source defines it. Nor has a preference loss, whose
    loss is not one of tokens.
    """
    if loss.kind == "preference" or loss.kl_coefficient is not None:
        return ()
    if loss.kind == "ratio_clip":
        eps = loss.eps or 0.0
        return () if loss.truncation is not None else (documented_ppo(1.0 - eps, 1.0 + eps),)
    return (official_score_form(loss),) if loss.form == "score" else (paper_ratio_form(loss),)


def documented_ppo(clip_low_threshold: float, clip_high_threshold: float) -> IndependentLoss:
    """Return the `ppo` loss of the Tinker interface: -min(r A, clip(r, low, high) A).

    Args:
        clip_low_threshold: smallest ratio, a bound of the ratio itself: 0.8, not 0.2.
        clip_high_threshold: largest ratio: 1.2.

    Source: tinker-cookbook, docs/losses.mdx at a2b1b820; PPO, arXiv:1707.06347, Eq. 7.
    """

    def token(log_pi: float, log_mu: float, a: float) -> tuple[float, float]:
        r = math.exp(log_pi - log_mu)
        if a > 0 and r > clip_high_threshold:
            return -clip_high_threshold * a, 0.0
        if a < 0 and r < clip_low_threshold:
            return -clip_low_threshold * a, 0.0
        return -r * a, -r * a

    return IndependentLoss("documented_ppo", "tinker-cookbook docs/losses.mdx, ppo", token)


def paper_ratio_form(loss: Loss) -> IndependentLoss:
    """Return -M r A with r differentiable, and the gradient -M min(r, C) A.

    Source: DPPO, arXiv:2602.04879v3, Eq. 12 (objective, to be maximised), 13 and 14 (divergences), 23 (gradient).
    """
    ceiling, threshold = loss.truncation or math.inf, loss.delta or 0.0
    divergence = _paper_tv if loss.divergence == "binary_tv" else _paper_kl

    def token(log_pi: float, log_mu: float, a: float) -> tuple[float, float]:
        r = math.exp(log_pi - log_mu)
        far = divergence(math.exp(log_mu), math.exp(log_pi)) > threshold
        m = 0.0 if far and ((a > 0 and r > 1) or (a < 0 and r < 1)) else 1.0
        value = -m * min(r, ceiling) * a
        return value, value

    return IndependentLoss("paper_ratio_form", "arXiv:2602.04879v3, Eq. 12 to 14 and 23", token)


def official_score_form(loss: Loss) -> IndependentLoss:
    """Return -A sg(min(r, C)) M log pi, with log r cut at 20, and its derivative.

    Source: sail-sg/Stable-RL at c6af1d119c0fe30d16dd9a837d35fdf695acd226, verl/trainer/ppo/core_algos.py,
    compute_policy_loss_with_mask and _compute_token_mask_for_policy_loss, modes dppo_binary_tv and dppo_binary_kl.
    """
    ceiling, threshold = loss.truncation or math.inf, loss.delta or 0.0
    outside = _official_tv if loss.divergence == "binary_tv" else _official_kl

    def token(log_pi: float, log_mu: float, a: float) -> tuple[float, float]:
        ratio = min(math.exp(min(log_pi - log_mu, 20.0)), ceiling)
        above, below = outside(math.exp(log_mu), math.exp(log_pi), log_mu - log_pi, threshold)
        valid = 1.0 - float(above if a > 0 else below)
        score = -a * ratio * valid
        return score * log_pi, score

    return IndependentLoss("official_score_form", "sail-sg/Stable-RL@c6af1d1 core_algos.py", token)


def _paper_tv(mu: float, pi: float) -> float:
    return abs(mu - pi)


def _paper_kl(mu: float, pi: float) -> float:
    # The paper has no guard; at a probability of 1 its formula has no value, and no made token stands there.
    return mu * math.log(mu / pi) + (1.0 - mu) * math.log((1.0 - mu) / (1.0 - pi))


def _official_tv(mu: float, pi: float, log_mu_over_pi: float, threshold: float) -> tuple[bool, bool]:
    return pi - mu > threshold, pi - mu < -threshold


def _official_kl(mu: float, pi: float, log_mu_over_pi: float, threshold: float) -> tuple[bool, bool]:
    guard = 1e-8
    kl = mu * log_mu_over_pi + (1.0 - mu) * math.log((1.0 - mu + guard) / (1.0 - pi + guard))
    return kl > threshold and pi > mu, kl > threshold and pi < mu
