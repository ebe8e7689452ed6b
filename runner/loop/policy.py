"""One arm's policy on the service: a LoRA adapter that is sampled from and trained."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from analysis.errors import AuditError
from analysis.plan.model import Arm, Optimizer, Plan
from runner.loop.backend import Backend
from runner.loop.faults import ServiceFault

if TYPE_CHECKING:
    import tinker

Made = TypeVar("Made")


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
    pending = _found(
        lambda: backend.submit(
            doing,
            lambda: backend.client.create_lora_training_client(
                plan.base_model, plan.lora_rank, seed=arm.seed, train_mlp=True, train_attn=True, train_unembed=True
            ),
        )
    )
    return _policy(backend, arm, _found(lambda: backend.wait(doing, pending)), {"lora_seed": arm.seed})


def restore_policy(backend: Backend, arm: Arm, path: str) -> Policy:
    """Create the arm's adapter from a saved state, its optimiser's state included.

    Args:
        backend: the service that saved the state.
        arm: whose.
        path: the state's `tinker://` path.

    Raises:
        AuditError: the service does not hold the state.
    """
    doing = f"arm {arm.name}: going back to the saved state {path}"
    pending = _found(
        lambda: backend.submit(doing, lambda: backend.client.create_training_client_from_state_with_optimizer(path))
    )
    client = _found(lambda: backend.wait(doing, pending))
    return _policy(backend, arm, client, {"lora_seed": arm.seed, "restored_from": path})


def save_state(backend: Backend, policy: Policy, name: str) -> str:
    """Save weights and optimiser state over what has this name, and return the `tinker://` path."""
    doing = f"saving the state {name}"
    saved = backend.wait(doing, backend.submit(doing, lambda: policy.client.save_state(name, overwrite=True)))
    return str(saved.path)


def _found(ask: Callable[[], Made]) -> Made:
    """Ask for something that must be there: where it is not, trying again is of no use."""
    try:
        return ask()
    except ServiceFault as fault:
        if fault.gone:
            raise AuditError(fault.message) from fault
        raise


def _policy(backend: Backend, arm: Arm, client: "tinker.TrainingClient", origin: dict[str, Any]) -> Policy:
    info = backend.submit(f"arm {arm.name}: asking what the service trains", client.get_info)
    reported = info.model_data.model_name or info.model_name or "unknown"
    tokenizer = backend.submit(f"loading the tokenizer of {reported!r}", client.get_tokenizer)
    executed = {
        "arm": arm.condition,
        "seed": arm.seed,
        "base_model": reported,
        "model_id": str(info.model_id),
        "lora_rank": info.lora_rank,
        "optimizer": info.optimizer_config.type,
        "lora_parts": ["attn", "mlp", "unembed"],
        **origin,
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
