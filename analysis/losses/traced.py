"""The policy losses in torch: what `forward_backward_custom` differentiates.

Each loss is a function of tensors that `torch.fx` can trace (torch and arithmetic only, no branch on a value), so
a service that runs custom losses itself can take it unchanged. Everything is widened to float64 before `exp`, as
the SQL audits do: the mask that trained and the mask recomputed from the float32 log are then the same.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from analysis.divergences import KL_GUARD, topk_kl, topk_tv
from analysis.losses.preference import build_preference_loss
from analysis.plan.model import Loss

if TYPE_CHECKING:
    import torch

TokenLoss = Callable[..., tuple["torch.Tensor", Mapping[str, "torch.Tensor"]]]
CustomLoss = Callable[[Sequence[Any], Sequence["torch.Tensor"]], tuple["torch.Tensor", dict[str, float]]]

INPUT_RANKS: Mapping[str, Literal[0, 1, 2]] = {"logprobs": 1, "sampler_logprobs": 1, "advantages": 1, "mask": 1}
"""What a traced loss reads, each of rank 1; names as `ServiceClient.create_custom_loss` wants them.

A loss with a top-k divergence reads `divergences` after them, of rank 1 too.
"""


def token_loss(loss: Loss) -> TokenLoss:
    """Return the loss as a traceable function of one sequence, or of several laid end to end.

    The function takes `logprobs`, `sampler_logprobs`, `advantages` and `mask` (1 at a loss token, 0 elsewhere), all
    of shape (n,), and returns the sum over loss tokens and the counts `custom/loss_tokens:sum` and
    `custom/hidden:sum` (tokens whose gradient the clip or the mask took away). With a top-k divergence it takes
    `divergences` (n,) as its fifth argument: it has no gradient, and is computed from more than the sampled tokens.

    Source: see `analysis.losses.reference.reference_losses`, which it equals.
    """
    if loss.kind == "preference":
        raise ValueError("a preference loss has pairs, not tokens: see analysis.losses.preference")
    return _ratio_clip(loss) if loss.kind == "ratio_clip" else _divergence_mask(loss)


def build_loss(loss: Loss) -> CustomLoss:
    """Return the loss as `TrainingClient.forward_backward_custom` takes it.

    Each datum carries `sampler_logprobs`, `advantages` and `mask` beside its `target_tokens`, all of one length. The
    data are laid end to end and evaluated at once: the sum over tokens does not see where a sequence ends.

    With a top-k divergence the targets of a position are c candidates, the sampled token first, so that the forward
    pass that trains also gives the candidates' log-probabilities. Beside them the datum carries `candidate_logprobs`
    (the sampler's) and `candidate_listed` (0 for an empty cell), of shape (n, c) too. A preference loss takes other
    data: see `analysis.losses.preference.build_preference_loss`.
    """
    if loss.kind == "preference":
        return build_preference_loss(loss.beta or 0.0)
    evaluate = token_loss(loss)

    def custom_loss(data: Sequence[Any], logprobs: Sequence["torch.Tensor"]) -> tuple["torch.Tensor", dict[str, float]]:
        import torch

        columns = [
            torch.cat([datum.loss_fn_inputs[name].to_torch() for datum in data])
            for name in ("sampler_logprobs", "advantages", "mask")
        ]
        current = torch.cat(list(logprobs))
        if loss.top_k is not None:
            columns.append(_topk_divergences(loss, data, current))
            current = current[:, 0]
        total, counts = evaluate(current, *columns)
        return total, {name: float(count.item()) for name, count in counts.items()}

    return custom_loss


def _topk_divergences(loss: Loss, data: Sequence[Any], current: "torch.Tensor") -> "torch.Tensor":
    import torch

    divergence = topk_tv if loss.divergence == "topk_tv" else topk_kl
    sampler, listed = (
        np.concatenate([datum.loss_fn_inputs[name].to_numpy() for datum in data])
        for name in ("candidate_logprobs", "candidate_listed")
    )
    return torch.from_numpy(divergence(sampler, current.detach().numpy(), listed > 0))


def _ratio_clip(loss: Loss) -> TokenLoss:
    import torch

    low, high = 1.0 - (loss.eps or 0.0), 1.0 + (loss.eps or 0.0)

    def ratio_clip(
        logprobs: "torch.Tensor", sampler_logprobs: "torch.Tensor", advantages: "torch.Tensor", mask: "torch.Tensor"
    ) -> tuple["torch.Tensor", Mapping[str, "torch.Tensor"]]:
        advantage, ratio = advantages.double(), _ratio(loss, logprobs.double(), sampler_logprobs.double())
        surrogate = torch.minimum(ratio * advantage, torch.clamp(ratio, low, high) * advantage)
        hidden = ((advantage > 0) & (ratio > high)) | ((advantage < 0) & (ratio < low))
        values = -surrogate
        if loss.kl_coefficient is not None:
            log_ratio = logprobs.double() - sampler_logprobs.double()
            values = values + loss.kl_coefficient * (torch.exp(log_ratio) - 1.0 - log_ratio)
        return _summed(values, hidden, mask.double())

    return ratio_clip


def _divergence_mask(loss: Loss) -> TokenLoss:
    delta = loss.delta or 0.0

    def given_divergence_mask(
        logprobs: "torch.Tensor",
        sampler_logprobs: "torch.Tensor",
        advantages: "torch.Tensor",
        mask: "torch.Tensor",
        divergences: "torch.Tensor",
    ) -> tuple["torch.Tensor", Mapping[str, "torch.Tensor"]]:
        current, sampler, advantage = logprobs.double(), sampler_logprobs.double(), advantages.double()
        ratio = _ratio(loss, current, sampler)
        outward = ((advantage > 0) & (current > sampler)) | ((advantage < 0) & (current < sampler))
        hidden = outward & (divergences.double() > delta)
        weight = -advantage * (~hidden).double()
        values = weight * ratio.detach() * current if loss.form == "score" else weight * ratio
        return _summed(values, hidden, mask.double())

    def binary_divergence_mask(
        logprobs: "torch.Tensor", sampler_logprobs: "torch.Tensor", advantages: "torch.Tensor", mask: "torch.Tensor"
    ) -> tuple["torch.Tensor", Mapping[str, "torch.Tensor"]]:
        divergences = _binary_divergence(loss, logprobs.detach().double(), sampler_logprobs.double())
        return given_divergence_mask(logprobs, sampler_logprobs, advantages, mask, divergences)

    return binary_divergence_mask if loss.top_k is None else given_divergence_mask


def _ratio(loss: Loss, current: "torch.Tensor", sampler: "torch.Tensor") -> "torch.Tensor":
    import torch

    ratio = torch.exp(current - sampler)
    if loss.truncation is None:
        return ratio
    # The value becomes min(r, C) and so does the derivative; a plain clamp would hide what the mask keeps.
    return ratio * (torch.clamp(ratio, max=loss.truncation) / ratio).detach()


def _binary_divergence(loss: Loss, current: "torch.Tensor", sampler: "torch.Tensor") -> "torch.Tensor":
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
