"""Divergences between the behaviour policy mu and the current policy pi at one sampled token.

A binary divergence knows the sampled token's probability alone, a top-k divergence those of a few candidates. All are
lower bounds of the divergence over the whole vocabulary (DPPO, appendix B).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

KL_GUARD = 1e-8
"""Added inside both logarithms of the complement, so that a probability of 1 stays finite."""

SMALLEST_REST = 1e-12
"""The least probability of all tokens together that are no candidate, as in Stable-RL's top-k capture."""


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


def topk_tv(sampler_logprob: ArrayLike, current_logprob: ArrayLike, listed: ArrayLike = True) -> NDArray[np.float64]:
    """Return the total variation over a set of candidates, all other tokens together being one more.

    Args:
        sampler_logprob: log mu of the candidates, nats, <= 0, shape (..., c).
        current_logprob: log pi of the same candidates, nats, <= 0, same shape.
        listed: which cells hold a candidate, broadcast to that shape; the paper's set is the sampler's k most probable
            tokens and the sampled one, so that c is k + 1 and one cell is empty where the sampled token is among the k.

    Returns:
        Divergences in 0..1, float64, shape (...).

    Source: DPPO, arXiv:2602.04879v3, Eq. 15; the rest's probability is at least 1e-12 as in Stable-RL.
    """
    mu, pi = _candidates(sampler_logprob, current_logprob, listed)
    return 0.5 * (_summed(np.abs(mu - pi)) + np.abs(_rest(mu) - _rest(pi)))


def topk_kl(sampler_logprob: ArrayLike, current_logprob: ArrayLike, listed: ArrayLike = True) -> NDArray[np.float64]:
    """Return KL(mu || pi) over a set of candidates, all other tokens together being one more.

    Args:
        sampler_logprob: log mu of the candidates, nats, <= 0, finite, shape (..., c).
        current_logprob: log pi of the same candidates, nats, <= 0, finite, same shape.
        listed: which cells hold a candidate; see `topk_tv`.

    Returns:
        Divergences in nats, float64, shape (...).

    Source: DPPO, arXiv:2602.04879v3, Eq. 16; the rest's probability is at least 1e-12 as in Stable-RL.
    """
    mu, pi = _candidates(sampler_logprob, current_logprob, listed)
    log_ratio = np.asarray(sampler_logprob, np.float64) - np.asarray(current_logprob, np.float64)
    rest_mu, rest_pi = _rest(mu), _rest(pi)
    return _summed(np.where(listed, mu * log_ratio, 0.0)) + rest_mu * np.log(rest_mu / rest_pi)


def _candidates(
    sampler_logprob: ArrayLike, current_logprob: ArrayLike, listed: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    mu, pi = _probabilities(sampler_logprob, current_logprob)
    return np.where(listed, mu, 0.0), np.where(listed, pi, 0.0)


def _rest(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.maximum(1.0 - _summed(probabilities), SMALLEST_REST)


def _summed(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(values.sum(axis=-1), np.float64)


def _probabilities(
    sampler_logprob: ArrayLike, current_logprob: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return np.exp(np.asarray(sampler_logprob, np.float64)), np.exp(np.asarray(current_logprob, np.float64))
