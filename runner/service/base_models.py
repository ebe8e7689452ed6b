"""Base models in memory: a frozen network, its tokenizer and its limits."""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch  # noqa: TID253 (imported by the service process alone)
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging as transformers_logging

from analysis.errors import AuditError
from runner.service.lora import AdapterSwitch
from runner.service.placement import CPU, Placement, resolved_device
from runner.service.recomputation import RecomputedLayers


@dataclass(frozen=True)
class BaseModel:
    """A loaded Hugging Face causal model; `fingerprint` is the sha256 of its configuration and weights.

    `device` is `cpu` or `cuda`; `cache_bytes` is the key-value cache's size for one token of one sequence.
    """

    name: str
    folder: Path
    network: Any
    tokenizer: Any
    switch: AdapterSwitch
    recomputed: RecomputedLayers
    device: str
    cache_bytes: int
    eos_ids: frozenset[int]
    context_length: int
    vocabulary_size: int
    hidden_size: int
    architecture: str
    fingerprint: str


def load_base_model(name: str, folder: Path, placement: Placement = CPU) -> BaseModel:
    """Load a model folder for inference and adapter training, without network access or foreign code.

    Raises:
        AuditError: If transformers cannot read the folder as a causal language model, there is no such device,
            or the network cannot compute its layers again.
    """
    device = resolved_device(placement)
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # a log file is no terminal
    dtype = getattr(torch, placement.dtype)
    try:
        network: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, local_files_only=True)
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError) as error:
        raise AuditError(f"model {name!r}: transformers cannot read {folder}: {error}") from error
    network.train(False)  # no dropout: a request's numbers are a function of the request
    network.requires_grad_(False)
    network.to(device)
    config = network.config.get_text_config()
    return BaseModel(
        name=name,
        folder=folder,
        network=network,
        tokenizer=tokenizer,
        switch=AdapterSwitch(network),
        recomputed=RecomputedLayers(network, name, enabled=placement.gradient_checkpointing),
        device=device,
        cache_bytes=_cache_bytes(config, dtype.itemsize),
        eos_ids=_end_tokens(network, tokenizer),
        context_length=int(config.max_position_embeddings),
        vocabulary_size=int(config.vocab_size),
        hidden_size=int(config.hidden_size),
        architecture=type(network).__name__,
        fingerprint=_fingerprint(folder),
    )


def _cache_bytes(config: Any, itemsize: int) -> int:
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    head_size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return 2 * int(config.num_hidden_layers) * int(heads) * int(head_size) * itemsize


def _end_tokens(network: Any, tokenizer: Any) -> frozenset[int]:
    """Collect the end-of-text ids: models state them in up to three places, as one id or as several."""
    found: set[int] = set()
    for source in (network.generation_config, network.config, tokenizer):
        value = getattr(source, "eos_token_id", None)
        found.update(value if isinstance(value, list) else [] if value is None else [value])
    return frozenset(found)


def _fingerprint(folder: Path) -> str:
    digest = sha256()
    for path in [folder / "config.json", *sorted(folder.glob("*.safetensors")), *sorted(folder.glob("*.bin"))]:
        digest.update(path.name.encode())
        with path.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()
