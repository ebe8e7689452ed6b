"""What a preflight asks of the service: a small batch, its log-probabilities, one update of known size."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from analysis.errors import AuditError
from analysis.losses import build_loss
from analysis.losses.traced import CustomLoss
from analysis.plan.model import Arm, Loss
from audits.store.seal import SealedPlan
from runner.loop.backend import Backend
from runner.loop.policy import Policy, create_policy
from runner.loop.progress import Progress
from runner.loop.prompts import Prompt, PromptRenderer
from runner.loop.sampling import Sample, SamplingSettings, sample_prompts
from runner.loop.schedule import request_seed
from runner.loop.task import load_task, of_split, training_grader
from runner.loop.training import rollout_datum

if TYPE_CHECKING:
    import tinker

BATCH_PROMPTS = 4
BATCH_SAMPLES = 2
BATCH_TOKENS = 64
HUGE_EPS = 1e6
MADE_ADVANTAGES = (1.0, -1.0, 0.5, -0.75, 1.25, 0.0, -0.5, 0.75)

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Preparation:
    """What a preflight works on.

    Attributes:
        sealed: the plan.
        run: the pilot's directory; it may not be there yet.
        backend: an open session.
        settings: the plan's settings of this preflight.
        progress: shows how far the preflight is.
        build_loss: makes the custom loss that trains.
        lay_out: makes the datum that trains, from a sample and its advantage.
        traced: losses that this session has traced.
    """

    sealed: SealedPlan
    run: Path
    backend: Backend
    settings: Mapping[str, Any]
    progress: Progress
    build_loss: Callable[[Loss], CustomLoss] = build_loss
    lay_out: Callable[[Sample, float], "tinker.Datum"] = rollout_datum
    traced: dict[Loss, "tinker.LossHandle"] = field(default_factory=dict)

    def note(self, text: str) -> None:
        """Show a remark to whoever waits."""
        self.progress.note(text)

    def fresh(self, arm: Arm) -> Policy:
        """Return a fresh client of an arm, made as the training loop makes it."""
        return create_policy(self.backend, self.sealed.plan, arm)


def training_prompts(preparation: Preparation, policy: Policy) -> tuple[list[Prompt], PromptRenderer]:
    """Return the first training prompts of the plan's task, and what rendered them.

    Raises:
        AuditError: the task has no training problems.
    """
    plan = preparation.sealed.plan
    task = load_task(plan.task.id)
    problems = of_split(task.problems(plan.task, plan.dataset), "train")
    if not problems:
        raise AuditError(f"task {plan.task.id!r} has no training problems")
    renderer = PromptRenderer(policy.tokenizer, plan.rollout)
    return renderer.render(task, problems[:BATCH_PROMPTS]), renderer


def sample_small_batch(preparation: Preparation, policy: Policy, seed: int) -> list[Sample]:
    """Return a few completions of the policy's own weights, by the plan's sampling settings.

    Raises:
        AuditError: the service refused a request, or every completion is empty.
    """
    plan, backend = preparation.sealed.plan, preparation.backend
    prompts, renderer = training_prompts(preparation, policy)
    doing = "preflight: publishing the weights to sample from"
    sampler = backend.wait(doing, backend.submit(doing, lambda: policy.client.save_weights_and_get_sampling_client()))
    settings = SamplingSettings(
        plan.rollout.temperature,
        min(plan.rollout.max_tokens, BATCH_TOKENS),
        min(plan.rollout.group_size, BATCH_SAMPLES),
    )
    grader = training_grader(load_task(plan.task.id), renderer.chat)
    seeds = [request_seed(seed, "preflight", 0, index) for index in range(len(prompts))]
    groups = sample_prompts(backend, sampler, renderer, grader, prompts, settings, seeds)
    samples = [sample for group in groups for sample in group if len(sample.token_ids)]
    if not samples:
        raise AuditError("preflight: every sampled completion is empty, so there is no token to compare")
    return samples


def made_advantages(samples: Sequence[Sample]) -> list[float]:
    """Return an advantage of each sample: both signs and zero, whatever the rewards were."""
    return [MADE_ADVANTAGES[index % len(MADE_ADVANTAGES)] for index in range(len(samples))]


def with_sampler(samples: Sequence[Sample], logprobs: Sequence[Vector]) -> list[Sample]:
    """Return the samples with other sampler log-probabilities."""
    return [
        replace(sample, logprobs=np.asarray(values, np.float32))
        for sample, values in zip(samples, logprobs, strict=True)
    ]


def service_layout(samples: Sequence[Sample], advantages: Sequence[float]) -> list["tinker.Datum"]:
    """Return the samples as the service's own losses take them, laid out here and not by the training loop."""
    import tinker

    data = []
    for sample, advantage in zip(samples, advantages, strict=True):
        sequence = [*sample.prompt.token_ids, *(int(token) for token in sample.token_ids)]
        columns = {name: np.zeros(len(sequence) - 1, np.float32) for name in ("logprobs", "advantages")}
        for number, logprob in enumerate(sample.logprobs):
            # The target at position i is token i + 1.
            target = len(sample.prompt.token_ids) + number - 1
            columns["logprobs"][target], columns["advantages"][target] = logprob, advantage
        inputs = {name: tinker.TensorData.from_numpy(values) for name, values in columns.items()}
        targets = tinker.TensorData.from_numpy(np.asarray(sequence[1:], np.int64))
        data.append(
            tinker.Datum(
                model_input=tinker.ModelInput.from_ints(sequence[:-1]),
                loss_fn_inputs={"target_tokens": targets, **inputs},
            )
        )
    return data


def fixed_batch(prompts: Sequence[Prompt]) -> tuple[list["tinker.Datum"], str]:
    """Return the prompts as data, each token predicting the next, and the sha256 of their token ids."""
    import tinker

    data = [
        tinker.Datum(
            model_input=tinker.ModelInput.from_ints(list(prompt.token_ids[:-1])),
            loss_fn_inputs={"target_tokens": tinker.TensorData.from_numpy(np.asarray(prompt.token_ids[1:], np.int64))},
        )
        for prompt in prompts
        if len(prompt.token_ids) > 1
    ]
    return data, sha256("".join(prompt.sha256 for prompt in prompts).encode("ascii")).hexdigest()


def unit_cross_entropy(data: Sequence["tinker.Datum"], weight: float = 1.0) -> list["tinker.Datum"]:
    """Return the data with one weight at every target: the service's cross entropy then has a known gradient."""
    import tinker

    return [
        tinker.Datum(
            model_input=datum.model_input,
            loss_fn_inputs={
                "target_tokens": datum.loss_fn_inputs["target_tokens"],
                "weights": tinker.TensorData.from_numpy(np.full(datum.model_input.length, weight, np.float32)),
            },
        )
        for datum in data
    ]


def logprobs_of(backend: Backend, client: "tinker.TrainingClient", data: Sequence["tinker.Datum"]) -> list[Vector]:
    """Return the log-probability of each target under the client's weights, one array a datum.

    Raises:
        AuditError: the service refused the request or went away.
    """
    import tinker

    bare = [
        tinker.Datum(
            model_input=datum.model_input, loss_fn_inputs={"target_tokens": datum.loss_fn_inputs["target_tokens"]}
        )
        for datum in data
    ]
    doing = "preflight: forward pass"
    result = backend.wait(doing, backend.submit(doing, lambda: client.forward(bare, "cross_entropy")))
    return [np.asarray(output["logprobs"].data, np.float64) for output in result.loss_fn_outputs]


def optimizer_step(backend: Backend, client: "tinker.TrainingClient", settings: Mapping[str, float]) -> None:
    """Apply one optimiser step; what `settings` does not name is 0.

    Raises:
        AuditError: the service refused the settings.
    """
    import tinker

    off = {"beta1": 0.0, "beta2": 0.0, "weight_decay": 0.0, "grad_clip_norm": 0.0}
    params = tinker.AdamParams(**{**off, **settings})
    doing = "preflight: optim_step"
    backend.wait(doing, backend.submit(doing, lambda: client.optim_step(params)))


def along_the_gradient(rate: float) -> dict[str, float]:
    """Return settings with which a step is -rate times the gradient.

    With an eps far above every gradient, AdamW divides all of them by the same number; with both betas 0 it
    remembers nothing.
    """
    return {"learning_rate": rate * HUGE_EPS, "eps": HUGE_EPS}


def forward_backward(
    backend: Backend,
    client: "tinker.TrainingClient",
    data: Sequence["tinker.Datum"],
    loss_fn: "tinker.types.LossFnType | CustomLoss | tinker.LossHandle",
    config: dict[str, float] | None = None,
) -> Mapping[str, float]:
    """Add a loss's gradient on a batch and return the metrics; a name is the service's loss, anything else custom.

    Raises:
        AuditError: the service refused the loss.
    """
    if isinstance(loss_fn, str):
        doing = f"preflight: forward_backward with the service's {loss_fn}"
        pending = backend.submit(doing, lambda: client.forward_backward(list(data), loss_fn, config))
    else:
        doing = "preflight: forward_backward_custom"
        pending = backend.submit(doing, lambda: client.forward_backward_custom(list(data), loss_fn))
    metrics: Mapping[str, float] = backend.wait(doing, pending).metrics
    return metrics
