"""The experiment: the base model's evaluation, then each arm in the plan's order.

All arms go through `_train_arm`; the only thing it reads from the arm besides its names and its seed is the loss.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from analysis.errors import AuditError
from analysis.plan.model import Arm, Curve, Plan
from audits.store.durable import append_lines
from audits.store.writer import RunWriter
from runner.loop import evaluation, records
from runner.loop.backend import Backend
from runner.loop.phases import OUTSIDE, PhaseLog
from runner.loop.policy import Policy, create_policy, save_for_sampling
from runner.loop.progress import Elapsed, Progress, StepReport
from runner.loop.prompts import Prompt, PromptRenderer
from runner.loop.sampling import RolloutBatch, SamplingSettings, sample_batch
from runner.loop.schedule import training_order
from runner.loop.task import Split, TaskModule, load_task, of_split, training_grader
from runner.loop.training import Update, train_batch

Kind = Literal["pilot", "full"]
PROGRESS_NAME = "progress.jsonl"


@dataclass(frozen=True)
class Experiment:
    """What all arms share: plan, task, prompts, service and where the log goes.

    Attributes:
        kind: a pilot runs the gate's steps and is evaluated on validation items; a full run all, on test items.
        prompts: of all splits.
    """

    kind: Kind
    plan: Plan
    task: TaskModule
    backend: Backend
    writer: RunWriter
    progress: Progress
    renderer: PromptRenderer
    prompts: Sequence[Prompt]
    elapsed: Elapsed

    @property
    def steps(self) -> int:
        """Rollout steps of each arm."""
        return steps_of(self.kind, self.plan)

    @property
    def items(self) -> list[Prompt]:
        """The prompts that checkpoints are evaluated on."""
        return self.split(evaluation_split(self.kind))

    @property
    def curve(self) -> Curve | None:
        """What is evaluated while a full run trains; a pilot has no curve."""
        return self.plan.evaluation.curve if self.kind == "full" else None

    @property
    def curve_items(self) -> list[Prompt]:
        """The validation prompts of each point of the curve."""
        return self.split("validation")[: self.curve.items] if self.curve else []

    def split(self, split: Split) -> list[Prompt]:
        """Return the prompts of one split."""
        return [prompt for prompt in self.prompts if prompt.problem.split == split]


def steps_of(kind: Kind, plan: Plan) -> int:
    """Return the rollout steps of each arm."""
    return plan.activation_gate.pilot_steps if kind == "pilot" else plan.rollout.rollout_batches


def evaluation_split(kind: Kind) -> Split:
    """Return the split that checkpoints are evaluated on: a pilot never sees the primary endpoint's items."""
    return "validation" if kind == "pilot" else "test"


def run_experiment(kind: Kind, plan: Plan, backend: Backend, writer: RunWriter, progress: Progress) -> None:
    """Run all arms of a plan and log them.

    Raises:
        AuditError: the plan asks for what the task or the service does not have, or the service fails.
    """
    task = load_task(plan.task.id)
    problems = task.problems(plan.task, plan.dataset)
    if not of_split(problems, "train"):
        raise AuditError(f"task {plan.task.id!r} has no training problems")
    first = create_policy(backend, plan, plan.arms[0])
    renderer = PromptRenderer(first.tokenizer, plan.rollout)
    prompts = renderer.render(task, problems)
    writer.write_prompts(records.prompt_columns(prompts))
    experiment = Experiment(kind, plan, task, backend, writer, progress, renderer, prompts, Elapsed())
    _evaluate_base(experiment)
    for number, arm in enumerate(plan.arms):
        policy = first if number == 0 else create_policy(backend, plan, arm)
        _train_arm(experiment, arm, policy)


def _evaluate_base(experiment: Experiment) -> None:
    log = PhaseLog(OUTSIDE)
    with log.timed("eval"):
        sampler = _sampler(experiment, base_model=experiment.plan.base_model)
        arm, seed = evaluation.BASE_ARM, evaluation.BASE_SEED
        if experiment.curve:
            _evaluate(experiment, arm, seed, evaluation.step_checkpoint(0), sampler, experiment.curve_items)
        _evaluate(experiment, arm, seed, evaluation.BASE_CHECKPOINT, sampler, experiment.items)
    experiment.writer.write_step(arm, seed, OUTSIDE, {"phases": records.phase_columns(log.phases)})


def _evaluate(
    experiment: Experiment, arm: str, seed: int, checkpoint: str, sampler: Any, items: Sequence[Prompt]
) -> None:
    """Evaluate one checkpoint and write its outcomes."""
    outcomes = evaluation.evaluate(experiment.backend, sampler, experiment.renderer, experiment.plan.evaluation, items)
    experiment.writer.write_evals(arm, seed, checkpoint, records.eval_columns(checkpoint, outcomes))
    split = items[0].problem.split
    accuracy = f"accuracy {evaluation.accuracy(outcomes):.3f} on {len(outcomes)} {split} items"
    experiment.progress.note(f"{arm} seed {seed}, {checkpoint}: {accuracy}")


def _train_arm(experiment: Experiment, arm: Arm, policy: Policy) -> None:
    """Train one arm, then evaluate its final checkpoint."""
    _note_executed(experiment, "arms", policy.executed)
    train = experiment.split("train")
    order_seed = arm.seed if experiment.plan.task.order == "shuffled_by_seed" else None
    order = training_order(len(train), experiment.plan.rollout.groups_per_batch, experiment.steps, order_seed)
    for step in range(experiment.steps):
        _train_step(experiment, arm, policy, step, [train[index] for index in order[step]])
    _evaluate_final(experiment, arm, policy)


def _train_step(experiment: Experiment, arm: Arm, policy: Policy, step: int, prompts: Sequence[Prompt]) -> None:
    plan, backend, log = experiment.plan, experiment.backend, PhaseLog(step)
    with log.timed("checkpoint"):
        doing = f"{arm.name}, step {step}: publishing the weights to sample from"
        published = backend.submit(doing, lambda: policy.client.save_weights_and_get_sampling_client())
        sampler = backend.wait(doing, published)
    if step > 0 and evaluation.is_curve_point(experiment.curve, step, experiment.steps):
        with log.timed("eval"):
            checkpoint = evaluation.step_checkpoint(step)
            _evaluate(experiment, arm.condition, arm.seed, checkpoint, sampler, experiment.curve_items)
    with log.timed("sample"):
        batch = sample_batch(
            backend,
            sampler,
            experiment.renderer,
            training_grader(experiment.task, experiment.renderer.chat),
            prompts,
            SamplingSettings(plan.rollout.temperature, plan.rollout.max_tokens, plan.rollout.group_size),
            seed=arm.seed,
            step=step,
            sampler_version=f"optim_step={step * plan.rollout.updates_per_batch}",
        )
    with log.timed("train"):
        loss = plan.losses[arm.loss]
        updates = train_batch(backend, policy, loss, plan.optimizer, batch, plan.rollout.updates_per_batch)
    tables = {
        "tokens": records.token_columns(batch, updates),
        "rollouts": records.rollout_columns(batch),
        "updates": records.update_columns(plan, arm, policy.base_model, step, updates),
        "phases": records.phase_columns(log.phases),
    }
    experiment.writer.write_step(arm.condition, arm.seed, step, tables)
    _report_step(experiment, arm, batch, updates, log)


def _report_step(
    experiment: Experiment, arm: Arm, batch: RolloutBatch, updates: Sequence[Update], log: PhaseLog
) -> None:
    report = StepReport(
        arm=arm.name,
        step=batch.step,
        steps=experiment.steps,
        reward=batch.mean_reward,
        hidden_share=updates[-1].n_hidden / updates[-1].n_loss_tokens,
        tokens_per_second=batch.n_tokens / max(log.seconds, 1e-9),
        elapsed=experiment.elapsed.seconds,
    )
    experiment.progress.step(report)
    append_lines(experiment.writer.run / PROGRESS_NAME, [json.dumps(vars(report), sort_keys=True)])


def _evaluate_final(experiment: Experiment, arm: Arm, policy: Policy) -> None:
    log = PhaseLog(OUTSIDE)
    with log.timed("checkpoint"):
        name = f"{experiment.writer.manifest.run_id}-{arm.name}-final"
        path = save_for_sampling(experiment.backend, policy, name)
    with log.timed("eval"):
        sampler = _sampler(experiment, model_path=path)
        if experiment.curve:
            last = evaluation.step_checkpoint(experiment.steps)
            _evaluate(experiment, arm.condition, arm.seed, last, sampler, experiment.curve_items)
        _evaluate(experiment, arm.condition, arm.seed, evaluation.FINAL_CHECKPOINT, sampler, experiment.items)
    experiment.writer.write_step(arm.condition, arm.seed, OUTSIDE, {"phases": records.phase_columns(log.phases)})
    checkpoint = {"arm": arm.condition, "seed": arm.seed, "checkpoint": evaluation.FINAL_CHECKPOINT, "path": path}
    _note_executed(experiment, "checkpoints", checkpoint)


def _sampler(experiment: Experiment, *, base_model: str | None = None, model_path: str | None = None) -> Any:
    backend, doing = experiment.backend, f"opening a sampler on {base_model or model_path}"
    pending = backend.submit(doing, lambda: backend.client.create_sampling_client(model_path, base_model))
    return backend.wait(doing, pending)


def _note_executed(experiment: Experiment, key: str, entry: dict[str, Any]) -> None:
    executed = experiment.writer.manifest.executed
    experiment.writer.update_manifest(executed={**executed, key: [*executed.get(key, []), entry]})
