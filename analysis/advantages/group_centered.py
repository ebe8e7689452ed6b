"""The reward minus its group's mean: one advantage a completion."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def group_centered(rewards: ArrayLike, group_ids: ArrayLike) -> NDArray[np.float64]:
    """Return each reward minus the mean reward of its group, without division by a standard deviation.

    Args:
        rewards: one reward a completion, shape (n,), finite.
        group_ids: the group of each completion (completions of one prompt share it), shape (n,), integers.

    Returns:
        Advantages, shape (n,), float64; exactly 0 in a group whose rewards are all equal, where rounding of the
        mean would otherwise leave a gradient.

    Raises:
        ValueError: the shapes differ, or a reward is not finite.

    Source: GRPO's group baseline as DPPO uses it, arXiv:2602.04879v3, Sec. 5 (mean-centred only).
    """
    values, groups = np.asarray(rewards, np.float64), np.asarray(group_ids)
    if values.ndim != 1 or values.shape != groups.shape:
        raise ValueError(f"rewards and group_ids must be of one length, not {values.shape} and {groups.shape}")
    if not np.isfinite(values).all():
        raise ValueError(f"reward {int(np.flatnonzero(~np.isfinite(values))[0])} is not finite")
    _, index = np.unique(groups, return_inverse=True)
    sizes = np.bincount(index)
    means = np.bincount(index, weights=values) / np.maximum(sizes, 1)
    lowest, highest = np.full(sizes.size, np.inf), np.full(sizes.size, -np.inf)
    np.minimum.at(lowest, index, values)
    np.maximum.at(highest, index, values)
    return np.where((lowest == highest)[index], 0.0, values - means[index])
