"""What the service tells about models, runs, sampling sessions and checkpoints."""

from collections.abc import Mapping
from typing import Any

from runner.service.base_models import BaseModel
from runner.service.checkpoints import Description
from runner.service.holdings import Run
from runner.service.samplers import Sampler


def of_bases(bases: Mapping[str, BaseModel]) -> dict[str, Any]:
    """Describe the base models on offer."""
    return {
        "supported_models": [
            {"model_name": name, "max_context_length": base.context_length, "trainable": True, "sampleable": True}
            for name, base in bases.items()
        ]
    }


def of_run(run: Run) -> dict[str, Any]:
    """Describe a training run; the tokenizer's id is a local folder, so the SDK loads it without network."""
    return {
        "type": "get_info",
        "model_id": run.model_id,
        "model_name": run.base_name,
        "model_data": {
            "arch": run.base.architecture,
            "model_name": run.base_name,
            "tokenizer_id": str(run.base.folder),
        },
        "is_lora": True,
        "lora_rank": run.spec.rank,
    }


def of_sampler(sampler_id: str, sampler: Sampler) -> dict[str, Any]:
    """Describe a sampling session."""
    return {"sampler_id": sampler_id, "base_model": sampler.base_name, "model_path": sampler.model_path}


def of_checkpoint(found: Description) -> dict[str, Any]:
    """Describe a checkpoint."""
    return {
        "base_model": found.base_model,
        "is_lora": True,
        "lora_rank": found.spec.rank,
        "train_unembed": found.spec.train_unembed,
        "train_mlp": found.spec.train_mlp,
        "train_attn": found.spec.train_attn,
    }
