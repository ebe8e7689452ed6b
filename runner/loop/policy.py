"""One arm's policy on the service: a LoRA adapter that is sampled from and trained."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from analysis.plan.model import Arm, Optimizer, Plan
from runner.loop.backend import Backend

if TYPE_CHECKING:
    import tinker


@dataclass(frozen=True)
class Policy:
    """A training client, and what the service said it is.

    Attributes:
        client: the SDK's training client.
        base_model: the model that the service reported, whatever the plan asked for.
        tokenizer: of that model.
        executed: what the service reported, for `run.json`.
    """

    client: "tinker.TrainingClient"
    base_model: str
    tokenizer: Any
    executed: dict[str, Any]


def create_policy(backend: Backend, plan: Plan, arm: Arm) -> Policy:
    """Create the arm's adapter, initialised from the arm's seed.

    Raises:
        AuditError: the service does not know the base model or refuses the rank.
    """
    doing = f"arm {arm.name}: creating a rank {plan.lora_rank} adapter on {plan.base_model!r}"
    pending = backend.submit(
        doing,
        lambda: backend.client.create_lora_training_client(
            plan.base_model, plan.lora_rank, seed=arm.seed, train_mlp=True, train_attn=True, train_unembed=True
        ),
    )
    client = backend.wait(doing, pending)
    info = client.get_info()
    reported = info.model_data.model_name or info.model_name or "unknown"
    tokenizer = backend.submit(f"loading the tokenizer of {reported!r}", client.get_tokenizer)
    executed = {
        "arm": arm.condition,
        "seed": arm.seed,
        "base_model": reported,
        "model_id": str(info.model_id),
        "lora_rank": info.lora_rank,
        "lora_seed": arm.seed,
        "optimizer": info.optimizer_config.type,
        "lora_parts": ["attn", "mlp", "unembed"],
    }
    return Policy(client, reported, tokenizer, executed)


def adam_params(optimizer: Optimizer) -> "tinker.AdamParams":
    """Return the plan's optimiser settings with every field set: the SDK's own default for eps is 1e-12."""
    import tinker

    return tinker.AdamParams(
        learning_rate=optimizer.learning_rate,
        beta1=optimizer.beta1,
        beta2=optimizer.beta2,
        eps=optimizer.eps,
        weight_decay=optimizer.weight_decay,
        grad_clip_norm=optimizer.grad_clip_norm,
    )


def save_for_sampling(backend: Backend, policy: Policy, name: str) -> str:
    """Save the weights for sampling and return their `tinker://` path."""
    doing = f"saving checkpoint {name}"
    saved = backend.wait(doing, backend.submit(doing, lambda: policy.client.save_weights_for_sampler(name)))
    return str(saved.path)
