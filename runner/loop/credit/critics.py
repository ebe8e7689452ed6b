"""Critics by capacity: what maps a hidden state of the policy to the value of that state.

The names are those of the study (docs/critics.md). A linear head has fewer parameters than any network on the same
states, so the order of capacities is not the order of parameters: what is compared is the measured count.
"""

import math
from itertools import pairwise
from typing import TYPE_CHECKING

from analysis.plan.advantages import Capacity

if TYPE_CHECKING:
    import torch

_SMALLEST_WIDTH = 4


def layer_widths(capacity: Capacity, hidden_size: int) -> tuple[int, ...]:
    """Return the widths of a critic from its input to its one output; empty for the capacity without a network.

    Args:
        capacity: `small` has one hidden layer of a quarter of the input's width, `medium` none, `large` two of twice
            the width.
        hidden_size: numbers of one hidden state.
    """
    between: dict[Capacity, tuple[int, ...]] = {
        "small": (max(hidden_size // 4, _SMALLEST_WIDTH),),
        "medium": (),
        "large": (2 * hidden_size, 2 * hidden_size),
    }
    return () if capacity == "none" else (hidden_size, *between[capacity], 1)


def build_critic(capacity: Capacity, hidden_size: int, seed: int) -> "torch.nn.Sequential | None":
    """Return a critic with fresh weights, or None for the capacity `none`: the batch's mean needs no network.

    The last layer begins at 0, so that every first value is 0.

    Args:
        capacity: which critic.
        hidden_size: numbers of one hidden state.
        seed: of the weights; the same for the same seed, whatever else draws numbers in this process.
    """
    import torch

    widths = layer_widths(capacity, hidden_size)
    if not widths:
        return None
    generator = torch.Generator().manual_seed(seed)
    layers: list[torch.nn.Module] = []
    for inside, outside in pairwise(widths):
        layer = torch.nn.Linear(inside, outside)
        bound = 0.0 if outside == 1 else math.sqrt(6.0 / (inside + outside))
        with torch.no_grad():
            layer.weight.uniform_(-bound, bound, generator=generator)
            layer.bias.zero_()
        layers += [layer, torch.nn.Tanh()]
    return torch.nn.Sequential(*layers[:-1])


def parameter_count(critic: "torch.nn.Module | None") -> int:
    """Return how many numbers are trained; 0 without a network."""
    return 0 if critic is None else sum(parameter.numel() for parameter in critic.parameters())
