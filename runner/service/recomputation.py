"""Gradient checkpointing: layers that compute their activations again in the backward pass.

Hugging Face's layers do so only in training mode, and in training mode they keep no key-value cache and drop
units out. So the mode is set on those layers alone, only around a training request, and a network that was
configured with dropout is refused.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from transformers.modeling_layers import GradientCheckpointingLayer

from analysis.errors import AuditError


class RecomputedLayers:
    """The layers of one network that `active` puts into recomputation; none where it is not enabled.

    Raises:
        AuditError: If it is enabled for a network that has no such layers, or one that drops units out.
    """

    def __init__(self, network: Any, name: str, *, enabled: bool) -> None:
        self._layers: list[Any] = []
        if not enabled:
            return
        self._layers = [module for module in network.modules() if isinstance(module, GradientCheckpointingLayer)]
        config = network.config.get_text_config().to_dict()
        dropout = {key: value for key, value in config.items() if ("dropout" in key or "pdrop" in key) and value}
        if not self._layers or dropout:
            reason = f"it has dropout ({', '.join(dropout)})" if dropout else "its layers do not offer it"
            raise AuditError(f"--gradient-checkpointing: not for model {name!r}: {reason}")
        network.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})

    @contextmanager
    def active(self) -> Iterator[None]:
        """Let the layers recompute inside the block."""
        for layer in self._layers:
            layer.training = True
        try:
            yield
        finally:
            for layer in self._layers:
                layer.training = False
