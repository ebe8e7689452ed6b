"""The reward minus the batch's mean: REINFORCE with the batch mean as its baseline, one advantage a completion."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.advantages.group_centered import group_centered


def batch_centered(rewards: ArrayLike) -> NDArray[np.float64]:
    """Return each reward minus the mean reward of the whole batch.

    Args:
        rewards: one reward a completion, shape (n,), finite.

    Returns:
        Advantages, shape (n,), float64; exactly 0 where all rewards are equal.

    Raises:
        ValueError: the rewards are not one row, or one is not finite.

    Source: Williams 1992, Machine Learning 8, eq. 11, with the batch mean as reinforcement baseline.
    """
    values = np.asarray(rewards, np.float64)
    return group_centered(values, np.zeros(values.shape, np.int64))
