"""Divergences between the behaviour policy mu and the current policy pi at one sampled token."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

KL_GUARD = 1e-8
"""Added inside both logarithms of the complement, so that a probability of 1 stays finite."""


def binary_tv(sampler_logprob: ArrayLike, current_logprob: ArrayLike) -> NDArray[np.float64]:
    """Return the total variation |mu - pi| of the two-outcome distribution "this token or another".

    Args:
        sampler_logprob: log mu of the sampled tokens, nats, <= 0, any shape.
        current_logprob: log pi of the same tokens, nats, <= 0, same shape.

    Returns:
        Divergences in 0..1, float64. A lower bound of the full distribution's total variation.

    Source: DPPO, arXiv:2602.04879v3, Eq. 13.
    """
    mu, pi = _probabilities(sampler_logprob, current_logprob)
    return np.abs(mu - pi)


def binary_kl(sampler_logprob: ArrayLike, current_logprob: ArrayLike, guard: float = KL_GUARD) -> NDArray[np.float64]:
    """Return KL(mu || pi) of the two-outcome distribution "this token or another", behaviour policy first.

    Args:
        sampler_logprob: log mu of the sampled tokens, nats, <= 0, any shape.
        current_logprob: log pi of the same tokens, nats, <= 0, same shape.
        guard: added inside both logarithms of 1 - p; the official code uses 1e-8, the paper 0.

    Returns:
        Divergences in nats, float64.

    Source: DPPO, arXiv:2602.04879v3, Eq. 14; guard as in Stable-RL, compute_policy_loss_with_mask.
    """
    mu, pi = _probabilities(sampler_logprob, current_logprob)
    log_ratio = np.asarray(sampler_logprob, np.float64) - np.asarray(current_logprob, np.float64)
    # A log-probability of +1e-8 is rounding, not a probability above 1.
    mu_other, pi_other = np.maximum(1.0 - mu, 0.0), np.maximum(1.0 - pi, 0.0)
    return mu * log_ratio + (1.0 - mu) * np.log((mu_other + guard) / (pi_other + guard))


def _probabilities(
    sampler_logprob: ArrayLike, current_logprob: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return np.exp(np.asarray(sampler_logprob, np.float64)), np.exp(np.asarray(current_logprob, np.float64))
