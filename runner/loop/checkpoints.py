"""Evaluates one checkpoint and logs its outcomes, once: what is logged whole is not sampled again."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

from runner.loop import evaluation, records
from runner.loop.backend import Backend
from runner.loop.phases import OUTSIDE, PhaseLog
from runner.loop.prompts import Prompt
from runner.loop.setting import Experiment, is_evaluated


class Checkpoint(NamedTuple):
    """Which weights: the arm's folder name, its seed, and `base`, `stepNNNNNN` or `final`."""

    arm: str
    seed: int
    name: str


def evaluate_checkpoint(
    experiment: Experiment,
    backend: Backend,
    checkpoint: Checkpoint,
    items: Sequence[Prompt],
    sampler: Callable[[], Any],
    step_log: PhaseLog | None = None,
) -> None:
    """Evaluate a checkpoint and log its outcomes, unless they are logged.

    Args:
        experiment: the experiment.
        backend: the session to use.
        checkpoint: whose weights, and which.
        items: the prompts.
        sampler: returns a sampler on the checkpoint's weights; it is asked only where it is needed.
        step_log: the phases of the step that the evaluation is part of; None: the time belongs to no step, and is
            logged with the outcomes.

    Raises:
        AuditError: the service failed or refused.
        Stopped: the run was asked to stop; nothing was logged.
    """
    conduct, (arm, seed, name) = experiment.conduct, checkpoint
    if is_evaluated(conduct.writer, arm, seed, name):
        return
    log = PhaseLog(OUTSIDE) if step_log is None else step_log
    with log.timed("checkpoint") if step_log is None else nullcontext():
        weights = sampler()
    with log.timed("eval"):
        settings = experiment.plan.evaluation
        session = backend.stopping_on(conduct.stop)
        outcomes = evaluation.evaluate(session, weights, experiment.renderer, settings, items)
    columns = records.eval_columns(name, outcomes)
    phases = records.phase_columns(log.phases) if step_log is None else None
    conduct.writer.write_evals(arm, seed, name, columns, phases)
    seconds = log.phases[-1].seconds
    conduct.pace.note("evaluation", seconds)
    accuracy, split = evaluation.accuracy(outcomes), items[0].problem.split
    conduct.journal.write(
        "evaluation",
        arm=arm,
        seed=seed,
        checkpoint=name,
        split=split,
        accuracy=accuracy,
        items=len(outcomes),
        seconds=seconds,
    )
    conduct.note(f"{arm} seed {seed}, {name}: accuracy {accuracy:.3f} on {len(outcomes)} {split} items")


def open_sampler(backend: Backend, *, base_model: str | None = None, model_path: str | None = None) -> Any:
    """Open a sampler on a base model or on saved weights.

    Raises:
        AuditError: the service does not have them.
    """
    doing = f"opening a sampler on {base_model or model_path}"
    pending = backend.submit(doing, lambda: backend.client.create_sampling_client(model_path, base_model))
    return backend.wait(doing, pending)
