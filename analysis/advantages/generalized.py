"""Generalised advantage estimation: one advantage a token, from a critic's values."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.signal import lfilter


@dataclass(frozen=True)
class Generalized:
    """Estimates of one batch of completions, laid end to end.

    Attributes:
        advantages: shape (n,), one a token.
        returns: shape (n,), what the critic is trained towards: advantage plus value.
    """

    advantages: NDArray[np.float64]
    returns: NDArray[np.float64]


def generalized_advantages(
    rewards: ArrayLike, values: ArrayLike, lengths: ArrayLike, *, discount: float, decay: float
) -> Generalized:
    """Return A_t = sum over k of (discount * decay)^k * delta_(t+k), delta_t = r_t + discount * V_(t+1) - V_t.

    A completion's reward comes with its last token, after which the value is 0: verifiable rewards end an episode.

    Args:
        rewards: one reward a completion, shape (c,), finite.
        values: the critic's value before each token, all completions laid end to end, shape (n,), finite.
        lengths: tokens of each completion, shape (c,), whole numbers that sum to n; 0 is an empty completion.
        discount: gamma, in [0, 1].
        decay: lambda, in [0, 1]. 1 gives (discounted) return minus value, 0 the one-step error.

    Returns:
        Advantages and the critic's targets, in the order of `values`.

    Raises:
        ValueError: a shape, a range or a value is wrong.

    Source: Schulman et al. 2016, arXiv:1506.02438, eq. 11 and 16.
    """
    reward, value, length = np.asarray(rewards, np.float64), np.asarray(values, np.float64), np.asarray(lengths)
    _check(reward, value, length, discount, decay)
    if not value.size:
        return Generalized(np.zeros(0), np.zeros(0))
    taken = np.arange(length.max()) < length[:, None]
    padded = np.zeros(taken.shape)
    padded[taken] = value
    following = np.concatenate([padded[:, 1:], np.zeros((len(length), 1))], axis=1)
    errors = np.where(taken, discount * following - padded, 0.0)
    ended = np.flatnonzero(length)
    errors[ended, length[ended] - 1] += reward[ended]
    # A_t = delta_t + (discount * decay) A_(t+1) is a recursive filter that runs from the end.
    advantages = lfilter([1.0], [1.0, -discount * decay], errors[:, ::-1], axis=1)[:, ::-1][taken]
    return Generalized(advantages, advantages + value)


def _check(
    reward: NDArray[np.float64], value: NDArray[np.float64], length: NDArray[np.int64], discount: float, decay: float
) -> None:
    if reward.ndim != 1 or value.ndim != 1 or length.shape != reward.shape:
        raise ValueError(f"rewards {reward.shape}, lengths {length.shape} and values {value.shape} must be rows")
    if (length < 0).any() or length.sum() != value.size:
        raise ValueError(f"lengths sum to {length.sum()}, and there are {value.size} values")
    if not (np.isfinite(reward).all() and np.isfinite(value).all()):
        raise ValueError("a reward or a value is not finite")
    if not (0.0 <= discount <= 1.0 and 0.0 <= decay <= 1.0):
        raise ValueError(f"discount {discount} and decay {decay} must be in [0, 1]")
