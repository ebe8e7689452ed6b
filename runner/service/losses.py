"""The server-side losses of the Tinker interface, as its public documentation defines them.

For a target token, p is the log-probability under the trained model, q the behaviour's log-probability (the
datum's `logprobs`), A its advantage, w its weight and r = exp(p - q). Every loss is a plain sum over all
positions of all data: no mean, no mask. Thresholds are bounds of the ratio itself, not distances from 1.
Source: tinker-cookbook, docs/losses.mdx (2026-03-16) and tutorials/202_loss_functions.py at 9dfcc3a2.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch  # noqa: TID253 (imported by the service process alone)

from runner.service.faults import UserFault

Tensors = Mapping[str, torch.Tensor]
Config = Mapping[str, float]


@dataclass(frozen=True)
class Loss:
    """A loss: the inputs that each target token needs, its settings with their defaults, its formula.

    Attributes:
        inputs: Names beside `target_tokens`; one number a target token each.
        value: From p, the inputs and the settings (all of one shape) to the loss of each token.
        defaults: Every setting that a client may give.
        ranks: The numbers of dimensions that targets may have: 1 for [N], 2 for [N, K].
    """

    inputs: tuple[str, ...]
    value: Callable[[torch.Tensor, Tensors, Config], torch.Tensor]
    defaults: Config = field(default_factory=dict)
    ranks: tuple[int, ...] = (1,)


def cross_entropy(p: torch.Tensor, inputs: Tensors, _config: Config) -> torch.Tensor:
    """Return -w p for each token."""
    return -inputs["weights"] * p


def importance_sampling(p: torch.Tensor, inputs: Tensors, _config: Config) -> torch.Tensor:
    """Return -r A for each token, with the ratio differentiable and not truncated."""
    return -_ratio(p, inputs) * inputs["advantages"]


def ppo(p: torch.Tensor, inputs: Tensors, config: Config) -> torch.Tensor:
    """Return -min(r A, clip(r) A) for each token."""
    ratio = _ratio(p, inputs)
    clipped = ratio.clamp(config["clip_low_threshold"], config["clip_high_threshold"])
    return -torch.minimum(ratio * inputs["advantages"], clipped * inputs["advantages"])


def cispo(p: torch.Tensor, inputs: Tensors, config: Config) -> torch.Tensor:
    """Return -clip(r) p A for each token, with the clipped ratio held constant in the gradient."""
    clipped = _ratio(p, inputs).clamp(config["clip_low_threshold"], config["clip_high_threshold"])
    return -clipped.detach() * p * inputs["advantages"]


def dro(p: torch.Tensor, inputs: Tensors, config: Config) -> torch.Tensor:
    """Return -(p A - beta/2 (p - q)^2) for each token; a token without advantage is still pulled to q."""
    return -(p * inputs["advantages"] - 0.5 * config["beta"] * (p - inputs["logprobs"]) ** 2)


def _ratio(p: torch.Tensor, inputs: Tensors) -> torch.Tensor:
    return torch.exp(p - inputs["logprobs"])


LOSSES: Mapping[str, Loss] = {
    "cross_entropy": Loss(("weights",), cross_entropy, ranks=(1, 2)),
    "importance_sampling": Loss(("logprobs", "advantages"), importance_sampling, ranks=(1, 2)),
    "ppo": Loss(("logprobs", "advantages"), ppo, {"clip_low_threshold": 0.8, "clip_high_threshold": 1.2}),
    "cispo": Loss(("logprobs", "advantages"), cispo, {"clip_low_threshold": 0.0, "clip_high_threshold": 4.0}),
    "dro": Loss(("logprobs", "advantages"), dro, {"beta": 0.05}),
}


def loss_named(name: str) -> Loss:
    """Return a loss by the name it has on the wire.

    Raises:
        UserFault: If this service has no such loss; the message lists those it has.
    """
    if name not in LOSSES:
        raise UserFault(
            f"loss_fn {name!r} is not served here; this service has {', '.join(LOSSES)}. "
            "Any other loss of the log-probabilities: forward_backward_custom"
        )
    return LOSSES[name]


def resolved_config(name: str, given: Config) -> dict[str, float]:
    """Return the settings of a loss: its defaults, overridden by what the client gave.

    Raises:
        UserFault: If a setting is not one of this loss.
    """
    defaults = loss_named(name).defaults
    if surplus := sorted(set(given) - set(defaults)):
        known = ", ".join(defaults) or "none"
        raise UserFault(f"loss_fn_config of {name}: unknown {', '.join(surplus)}; known: {known}")
    return {**defaults, **given}
