"""The critic's loss, in numpy and in torch: the squared error of its values, clipped as PPO's implementations do."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    import torch


def value_losses(
    values: ArrayLike, targets: ArrayLike, values_before: ArrayLike, *, clip: float | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the loss of each state and its derivative by the value.

    Without `clip` it is (V - R)^2 / 2. With it the larger of that and (clip(V, V_before - clip, V_before + clip) - R)^2
    / 2, so that a value that has moved far gains nothing by moving on.

    Args:
        values: the critic's, shape (n,).
        targets: what they should be, shape (n,).
        values_before: the critic's values before this batch's updates, shape (n,).
        clip: in units of reward, above 0; None for none.

    Source: Schulman et al. 2017, arXiv:1707.06347, eq. 9; the clipping as in openai/baselines ppo2 (Andrychowicz et
        al. 2021, arXiv:2006.05990, Appendix B.5).
    """
    value, target = np.asarray(values, np.float64), np.asarray(targets, np.float64)
    error = value - target
    if clip is None:
        return 0.5 * error**2, error
    before = np.asarray(values_before, np.float64)
    cut = np.clip(value, before - clip, before + clip) - target
    free = error**2 >= cut**2
    inside = np.abs(value - before) <= clip
    return 0.5 * np.maximum(error**2, cut**2), np.where(free | inside, error, 0.0)


def value_loss(
    values: "torch.Tensor", targets: "torch.Tensor", values_before: "torch.Tensor", clip: float | None = None
) -> "torch.Tensor":
    """Return the mean of `value_losses` over the states, differentiable by the values.

    Args:
        values: shape (n,).
        targets: shape (n,).
        values_before: shape (n,).
        clip: see `value_losses`.
    """
    import torch

    squared = (values - targets) ** 2
    if clip is not None:
        cut = torch.minimum(torch.maximum(values, values_before - clip), values_before + clip)
        squared = torch.maximum(squared, (cut - targets) ** 2)
    return 0.5 * squared.mean()
