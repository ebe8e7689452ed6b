"""Base models in memory: a frozen float32 network, its tokenizer and its limits."""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch  # noqa: TID253 (imported by the service process alone)
from transformers import AutoModelForCausalLM, AutoTokenizer

from analysis.errors import AuditError
from runner.service.lora import AdapterSwitch


@dataclass(frozen=True)
class BaseModel:
    """A loaded Hugging Face causal model; `fingerprint` is the sha256 of its configuration and weights."""

    name: str
    folder: Path
    network: Any
    tokenizer: Any
    switch: AdapterSwitch
    eos_ids: frozenset[int]
    context_length: int
    vocabulary_size: int
    architecture: str
    fingerprint: str


def load_base_model(name: str, folder: Path) -> BaseModel:
    """Load a model folder for inference and adapter training, without network access or foreign code.

    Raises:
        AuditError: If transformers cannot read the folder as a causal language model.
    """
    try:
        network = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, local_files_only=True)
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError) as error:
        raise AuditError(f"model {name!r}: transformers cannot read {folder}: {error}") from error
    network.train(False)  # no dropout: a request's numbers are a function of the request
    network.requires_grad_(False)
    config = network.config.get_text_config()
    return BaseModel(
        name=name,
        folder=folder,
        network=network,
        tokenizer=tokenizer,
        switch=AdapterSwitch(network),
        eos_ids=_end_tokens(network, tokenizer),
        context_length=int(config.max_position_embeddings),
        vocabulary_size=int(config.vocab_size),
        architecture=type(network).__name__,
        fingerprint=_fingerprint(folder),
    )


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
