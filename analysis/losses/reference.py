"""The policy losses in float64 numpy: what the torch losses, and the audit of a log, are compared with."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.divergences import binary_kl, binary_tv
from analysis.plan.model import Loss

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TokenLosses:
    """A loss at each token.

    Attributes:
        loss: contribution of each token to the minimised sum.
        keep: False where the clip binds or the mask hides the token; True wherever the advantage is 0.
        gradient: derivative of the sum by each token's current log-probability.
    """

    loss: Floats
    keep: NDArray[np.bool_]
    gradient: Floats

    @property
    def total(self) -> float:
        """The minimised value: the sum over tokens."""
        return float(self.loss.sum())


def reference_losses(
    loss: Loss,
    current_logprob: ArrayLike,
    sampler_logprob: ArrayLike,
    advantage: ArrayLike,
    divergence: ArrayLike | None = None,
) -> TokenLosses:
    """Evaluate a policy loss and its closed-form gradient at each token.

    With r = exp(current - sampler), C the truncation and A the advantage:

    - `ratio_clip`: -min(r_C A, clip(r_C, 1-eps, 1+eps) A), r_C the truncated ratio; with a `kl_coefficient` c also
      c (r - 1 - log r), on every token, whose derivative is c (r - 1)
    - `divergence_mask`, ratio form: -r_C A keep; score form: -A sg(r_C) keep log pi

    A truncated ratio keeps its derivative's shape: r_C has the value min(r, C) and the derivative min(r, C), as in
    the unified gradient (DPPO Eq. 23), so both forms have the gradient -A min(r, C) keep.

    Args:
        loss: which loss, and its parameters.
        current_logprob: log pi, nats, shape (n,).
        sampler_logprob: log mu, nats, shape (n,).
        advantage: shape (n,).
        divergence: of each token, shape (n,), for a top-k divergence and for no other: see `keep_mask`.

    Source: PPO, arXiv:1707.06347, Eq. 7; DPPO, arXiv:2602.04879v3, Eq. 12 and 23; score form as in Stable-RL.
    """
    current, sampler = np.asarray(current_logprob, np.float64), np.asarray(sampler_logprob, np.float64)
    weight = np.asarray(advantage, np.float64)
    ratio = np.exp(current - sampler)
    if loss.truncation is not None:
        ratio = np.minimum(ratio, loss.truncation)
    if loss.kind == "ratio_clip":
        keep = ~clip_binds(ratio, weight, _given(loss.eps))
        clipped = np.clip(ratio, 1.0 - _given(loss.eps), 1.0 + _given(loss.eps))
        values = -np.minimum(ratio * weight, clipped * weight)
    elif loss.kind == "preference":
        raise ValueError("a preference loss has pairs, not tokens: see analysis.losses.preference")
    else:
        keep = keep_mask(loss, current, sampler, weight, divergence)
        values = -weight * ratio * keep * (current if loss.form == "score" else 1.0)
    # + 0.0 turns -0 into 0, so that a masked token's gradient prints as what it is.
    penalty, slope = kl_penalties(current, sampler, loss.kl_coefficient or 0.0)
    return TokenLosses(values + penalty + 0.0, keep, -weight * ratio * keep + slope + 0.0)


def kl_penalties(current_logprob: ArrayLike, sampler_logprob: ArrayLike, coefficient: float) -> tuple[Floats, Floats]:
    """Return the KL penalty of each token and its derivative by the current log-probability.

    Over tokens drawn from the sampler, r - 1 - log r has the mean KL(mu || pi) and is never negative.

    Args:
        current_logprob: log pi, nats, shape (n,).
        sampler_logprob: log mu, nats, shape (n,).
        coefficient: 0 or more.

    Source: Schulman et al. 2017, arXiv:1707.06347, eq. 8 (the penalty); Schulman 2020, "Approximating KL divergence",
        estimator k3.
    """
    log_ratio = np.asarray(current_logprob, np.float64) - np.asarray(sampler_logprob, np.float64)
    if not coefficient:
        return np.zeros_like(log_ratio), np.zeros_like(log_ratio)
    return coefficient * (np.expm1(log_ratio) - log_ratio), coefficient * np.expm1(log_ratio)


def clip_binds(ratio: ArrayLike, advantage: ArrayLike, eps: float) -> NDArray[np.bool_]:
    """Return where the ratio clip takes the gradient away: r > 1+eps with A > 0, or r < 1-eps with A < 0.

    Args:
        ratio: pi / mu, shape (n,).
        advantage: shape (n,); a token with advantage 0 has no gradient that could be taken away.
        eps: half-width of the ratio's trust region.

    Source: PPO, arXiv:1707.06347, Eq. 7.
    """
    values, weight = np.asarray(ratio, np.float64), np.asarray(advantage, np.float64)
    return np.where(weight > 0, values > 1.0 + eps, (weight < 0) & (values < 1.0 - eps))


def keep_mask(
    loss: Loss,
    current_logprob: ArrayLike,
    sampler_logprob: ArrayLike,
    advantage: ArrayLike,
    divergence: ArrayLike | None = None,
) -> NDArray[np.bool_]:
    """Return the divergence mask M: False where the token has left the trust region and A pushes it further out.

    Args:
        loss: a `divergence_mask` loss.
        current_logprob: log pi, nats, shape (n,).
        sampler_logprob: log mu, nats, shape (n,).
        advantage: shape (n,); 0 is never masked.
        divergence: of each token, shape (n,). A top-k divergence needs the probabilities of other tokens, so it is
            computed by whoever has them (`analysis.divergences.topk_tv`, `topk_kl`); a binary one is computed here.

    Raises:
        ValueError: a top-k divergence was not given, or another one was.

    Source: DPPO, arXiv:2602.04879v3, Eq. 12: strict > for the divergence and for the direction.
    """
    current, sampler = np.asarray(current_logprob, np.float64), np.asarray(sampler_logprob, np.float64)
    weight = np.asarray(advantage, np.float64)
    if (divergence is None) != (loss.top_k is None):
        raise ValueError("a top-k divergence is given with the tokens, a binary one is computed of them")
    if divergence is None:
        divergence = (binary_tv if loss.divergence == "binary_tv" else binary_kl)(sampler, current)
    outward = np.where(weight > 0, current > sampler, (weight < 0) & (current < sampler))
    return ~(outward & (np.asarray(divergence, np.float64) > _given(loss.delta)))


def _given(parameter: float | None) -> float:
    if parameter is None:
        raise ValueError("the plan's model lets no loss of this kind through without its parameter")
    return parameter
