"""The preference loss of DPO, in numpy and in torch: a right completion against a wrong one of the same prompt."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class PreferenceLosses:
    """A loss at each pair.

    Attributes:
        loss: contribution of each pair to the minimised sum, shape (n,).
        gradient: derivative by the chosen completion's log-probability; by the rejected one's it is the negative.
        margin: beta times the difference of the log-ratios; above 0 where the policy prefers the chosen completion
            more than the base model does.
    """

    loss: NDArray[np.float64]
    gradient: NDArray[np.float64]
    margin: NDArray[np.float64]


def preference_losses(
    chosen: ArrayLike, rejected: ArrayLike, base_chosen: ArrayLike, base_rejected: ArrayLike, *, beta: float
) -> PreferenceLosses:
    """Return -log sigma(beta ((log pi(w) - log ref(w)) - (log pi(l) - log ref(l)))) of each pair.

    Args:
        chosen: log pi of the chosen completion, summed over its tokens, nats, shape (n,).
        rejected: of the rejected one.
        base_chosen: the base model's log-probability of the chosen completion.
        base_rejected: of the rejected one.
        beta: above 0.

    Source: Rafailov et al. 2023, arXiv:2305.18290, eq. 7.
    """
    w, low, ref_w, ref_l = (np.asarray(values, np.float64) for values in (chosen, rejected, base_chosen, base_rejected))
    margin = beta * ((w - ref_w) - (low - ref_l))
    # 1 - sigma(margin), without an overflow on either side.
    wrong = np.exp(-np.logaddexp(0.0, margin))
    return PreferenceLosses(np.logaddexp(0.0, -margin), -beta * wrong, margin)


def build_preference_loss(
    beta: float,
) -> Callable[[Sequence[Any], Sequence["torch.Tensor"]], tuple["torch.Tensor", dict[str, float]]]:
    """Return the loss as `TrainingClient.forward_backward_custom` takes it.

    The data come in pairs, the chosen completion before the rejected one. Each carries `base_logprobs` and `mask`
    beside its `target_tokens`, all of one length; everything is widened to float64.

    Args:
        beta: above 0.
    """

    def custom_loss(data: Sequence[Any], logprobs: Sequence["torch.Tensor"]) -> tuple["torch.Tensor", dict[str, float]]:
        import torch

        if len(data) % 2:
            raise ValueError("a preference loss takes completions in pairs")
        ratios = []
        for datum, current in zip(data, logprobs, strict=True):
            base, mask = (datum.loss_fn_inputs[name].to_torch().double() for name in ("base_logprobs", "mask"))
            ratios.append(((current.double() - base) * mask).sum())
        log_ratio = torch.stack(ratios)
        margin = beta * (log_ratio[0::2] - log_ratio[1::2])
        counts = {
            "custom/loss_tokens:sum": float(
                sum(datum.loss_fn_inputs["mask"].to_torch().sum().item() for datum in data)
            ),
            "custom/hidden:sum": 0.0,
        }
        return torch.nn.functional.softplus(-margin).sum(), counts

    return custom_loss
