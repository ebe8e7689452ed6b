"""Low-rank adapters (LoRA, arXiv:2106.09685) on a frozen network, switched in and out by forward hooks.

The network's own modules stay as they are, so any Hugging Face causal model with ordinary linear layers
works, and with no adapter attached its numbers are those of the base model, bit for bit.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import torch  # noqa: TID253 (imported by the service process alone)
from transformers.pytorch_utils import Conv1D

ALPHA = 32.0
"""The update is scaled by ALPHA / rank, whatever the rank."""

Adapter = dict[str, torch.Tensor]
"""`<layer>.lora_a` of shape [rank, in] and `<layer>.lora_b` of shape [out, rank], float32."""


@dataclass(frozen=True)
class LoraSpec:
    """What a client asked for: the rank and which families of linear layers are adapted."""

    rank: int
    train_unembed: bool = True
    train_mlp: bool = True
    train_attn: bool = True


@dataclass(frozen=True)
class Layer:
    """A linear layer that can be adapted."""

    name: str
    family: str
    inputs: int
    outputs: int


class AdapterSwitch:
    """The linear layers of one network, and the adapter that its next forward pass adds to them."""

    def __init__(self, network: Any) -> None:
        self.layers: list[Layer] = []
        self._active: Adapter | None = None
        self._scale = 0.0
        unembedding = network.get_output_embeddings()
        for name, module in network.named_modules():
            if not isinstance(module, torch.nn.Linear | Conv1D):
                continue
            outputs, inputs = module.weight.shape
            if isinstance(module, Conv1D):  # GPT-2 keeps its matrices the other way round
                outputs, inputs = inputs, outputs
            family = "unembed" if module is unembedding else _family_of(name)
            self.layers.append(Layer(name, family, inputs, outputs))
            module.register_forward_hook(self._hook(f"{name}.lora_a", f"{name}.lora_b"))

    @contextmanager
    def attached(self, adapter: Adapter | None, spec: LoraSpec | None) -> Iterator[None]:
        """Run the network with an adapter, or as the base model where it is None."""
        self._active = adapter
        self._scale = ALPHA / spec.rank if spec is not None else 0.0
        try:
            yield
        finally:
            self._active = None

    def new_adapter(self, spec: LoraSpec, seed: int | None) -> Adapter:
        """Return a fresh adapter: A uniform in ±1/sqrt(in), B zero, so that it starts as the base model.

        Each layer draws from a stream of its own, made of the seed and the layer's name: what else is adapted
        changes nothing. Without a seed the operating system's randomness is used.
        """
        root = str(seed) if seed is not None else os.urandom(16).hex()
        adapter: Adapter = {}
        for layer in self.adapted(spec):
            stream = int.from_bytes(sha256(f"{root}:{layer.name}".encode()).digest()[:7])
            generator = torch.Generator().manual_seed(stream)
            bound = layer.inputs**-0.5
            uniform = torch.rand(spec.rank, layer.inputs, generator=generator)
            adapter[f"{layer.name}.lora_a"] = (uniform * 2 - 1) * bound
            adapter[f"{layer.name}.lora_b"] = torch.zeros(layer.outputs, spec.rank)
        return adapter

    def adapted(self, spec: LoraSpec) -> list[Layer]:
        """List the layers that a specification adapts, in the network's order."""
        wanted = {"unembed": spec.train_unembed, "mlp": spec.train_mlp, "attn": spec.train_attn}
        return [layer for layer in self.layers if wanted[layer.family]]

    def _hook(self, name_a: str, name_b: str) -> Any:
        def add_update(_module: object, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> torch.Tensor:
            if self._active is None or name_a not in self._active:
                return output
            # The adapter stays float32 on a network of lower precision; its sum is rounded once.
            values = inputs[0].to(self._active[name_a].dtype)
            low_rank = torch.nn.functional.linear(values, self._active[name_a])
            update = torch.nn.functional.linear(low_rank, self._active[name_b])
            return (output + update * self._scale).to(output.dtype)

        return add_update


def _family_of(name: str) -> str:
    parts = name.lower().split(".")
    return "attn" if any("attn" in part or "attention" in part for part in parts) else "mlp"
