"""The policy losses in torch: what `forward_backward_custom` differentiates.

Each loss is a function of tensors that `torch.fx` can trace (torch and arithmetic only, no branch on a value), so
a service that runs custom losses itself can take it unchanged. Everything is widened to float64 before `exp`, as
the SQL audits do: the mask that trained and the mask recomputed from the float32 log are then the same.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from analysis.divergences import KL_GUARD
from analysis.plan.model import Loss

if TYPE_CHECKING:
    import torch

TokenLoss = Callable[
    ["torch.Tensor", "torch.Tensor", "torch.Tensor", "torch.Tensor"],
    tuple["torch.Tensor", Mapping[str, "torch.Tensor"]],
]
CustomLoss = Callable[[Sequence[Any], Sequence["torch.Tensor"]], tuple["torch.Tensor", dict[str, float]]]

INPUT_RANKS: Mapping[str, Literal[0, 1, 2]] = {"logprobs": 1, "sampler_logprobs": 1, "advantages": 1, "mask": 1}
"""What a traced loss reads, each of rank 1; names as `ServiceClient.create_custom_loss` wants them."""


def token_loss(loss: Loss) -> TokenLoss:
    """Return the loss as a traceable function of one sequence, or of several laid end to end.

    The function takes `logprobs`, `sampler_logprobs`, `advantages` and `mask` (1 at a loss token, 0 elsewhere), all
    of shape (n,), and returns the sum over loss tokens and the counts `custom/loss_tokens:sum` and
    `custom/hidden:sum` (tokens whose gradient the clip or the mask took away).

    Source: see `analysis.losses.reference.reference_losses`, which it equals.
    """
    return _ratio_clip(loss) if loss.kind == "ratio_clip" else _divergence_mask(loss)


def build_loss(loss: Loss) -> CustomLoss:
    """Return the loss as `TrainingClient.forward_backward_custom` takes it.

    Each datum carries `sampler_logprobs`, `advantages` and `mask` beside its `target_tokens`, all of one length. The
    data are laid end to end and evaluated at once: the sum over tokens does not see where a sequence ends.
    """
    evaluate = token_loss(loss)

    def custom_loss(data: Sequence[Any], logprobs: Sequence["torch.Tensor"]) -> tuple["torch.Tensor", dict[str, float]]:
        import torch

        columns = [
            torch.cat([datum.loss_fn_inputs[name].to_torch() for datum in data])
            for name in ("sampler_logprobs", "advantages", "mask")
        ]
        total, counts = evaluate(torch.cat(list(logprobs)), *columns)
        return total, {name: float(count.item()) for name, count in counts.items()}

    return custom_loss


def _ratio_clip(loss: Loss) -> TokenLoss:
    import torch

    low, high = 1.0 - (loss.eps or 0.0), 1.0 + (loss.eps or 0.0)

    def ratio_clip(
        logprobs: "torch.Tensor", sampler_logprobs: "torch.Tensor", advantages: "torch.Tensor", mask: "torch.Tensor"
    ) -> tuple["torch.Tensor", Mapping[str, "torch.Tensor"]]:
        advantage, ratio = advantages.double(), _ratio(loss, logprobs.double(), sampler_logprobs.double())
        surrogate = torch.minimum(ratio * advantage, torch.clamp(ratio, low, high) * advantage)
        hidden = ((advantage > 0) & (ratio > high)) | ((advantage < 0) & (ratio < low))
        return _summed(-surrogate, hidden, mask.double())

    return ratio_clip


def _divergence_mask(loss: Loss) -> TokenLoss:
    delta = loss.delta or 0.0

    def divergence_mask(
        logprobs: "torch.Tensor", sampler_logprobs: "torch.Tensor", advantages: "torch.Tensor", mask: "torch.Tensor"
    ) -> tuple["torch.Tensor", Mapping[str, "torch.Tensor"]]:
        current, sampler, advantage = logprobs.double(), sampler_logprobs.double(), advantages.double()
        ratio = _ratio(loss, current, sampler)
        outward = ((advantage > 0) & (current > sampler)) | ((advantage < 0) & (current < sampler))
        hidden = outward & (_divergence(loss, current.detach(), sampler) > delta)
        weight = -advantage * (~hidden).double()
        values = weight * ratio.detach() * current if loss.form == "score" else weight * ratio
        return _summed(values, hidden, mask.double())

    return divergence_mask


def _ratio(loss: Loss, current: "torch.Tensor", sampler: "torch.Tensor") -> "torch.Tensor":
    import torch

    ratio = torch.exp(current - sampler)
    if loss.truncation is None:
        return ratio
    # The value becomes min(r, C) and so does the derivative; a plain clamp would hide what the mask keeps.
    return ratio * (torch.clamp(ratio, max=loss.truncation) / ratio).detach()


def _divergence(loss: Loss, current: "torch.Tensor", sampler: "torch.Tensor") -> "torch.Tensor":
    import torch

    mu, pi = torch.exp(sampler), torch.exp(current)
    if loss.divergence == "binary_tv":
        return torch.abs(mu - pi)
    mu_other, pi_other = torch.clamp(1.0 - mu, min=0.0), torch.clamp(1.0 - pi, min=0.0)
    return mu * (sampler - current) + (1.0 - mu) * torch.log((mu_other + KL_GUARD) / (pi_other + KL_GUARD))


def _summed(
    values: "torch.Tensor", hidden: "torch.Tensor", mask: "torch.Tensor"
) -> tuple["torch.Tensor", Mapping[str, "torch.Tensor"]]:
    counts = {"custom/loss_tokens:sum": mask.sum(), "custom/hidden:sum": (hidden.double() * mask).sum()}
    return (values * mask).sum(), counts
