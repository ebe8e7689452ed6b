"""Evaluates one checkpoint and logs its outcomes, once: what is logged whole is not sampled again."""

from collections.abc import Callable, Sequence
from typing import Any

from runner.loop import evaluation, records
from runner.loop.backend import Backend
from runner.loop.phases import OUTSIDE, PhaseLog
from runner.loop.prompts import Prompt
from runner.loop.setting import Experiment, is_evaluated


def evaluate_checkpoint(
    experiment: Experiment,
    backend: Backend,
    arm: str,
    seed: int,
    checkpoint: str,
    items: Sequence[Prompt],
    open_sampler: Callable[[PhaseLog], Any],
) -> None:
    """Evaluate a checkpoint and log its outcomes, unless they are logged.

    Args:
        experiment: the experiment.
        backend: the session to use.
        arm: the arm's folder name.
        seed: the arm's seed.
        checkpoint: `base`, `stepNNNNNN` or `final`.
        items: the prompts.
        open_sampler: opens a sampler on the checkpoint's weights; it may log phases of its own.

    Raises:
        AuditError: the service failed or refused.
        Stopped: the run was asked to stop; nothing was logged.
    """
    conduct = experiment.conduct
    if is_evaluated(conduct.writer, arm, seed, checkpoint):
        return
    log = PhaseLog(OUTSIDE)
    sampler = open_sampler(log)
    with log.timed("eval"):
        given_up_on_stop = backend.stopping_on(conduct.stop)
        outcomes = evaluation.evaluate(
            given_up_on_stop, sampler, experiment.renderer, experiment.plan.evaluation, items
        )
    conduct.pace.note("evaluation", log.seconds)
    conduct.writer.write_evals(
        arm, seed, checkpoint, records.eval_columns(checkpoint, outcomes), records.phase_columns(log.phases)
    )
    accuracy = evaluation.accuracy(outcomes)
    conduct.journal.write(
        "evaluation", arm=arm, seed=seed, checkpoint=checkpoint, accuracy=accuracy, items=len(outcomes)
    )
    conduct.note(f"{arm}, seed {seed}, checkpoint {checkpoint}: accuracy {accuracy:.3f} of {len(outcomes)} items")


def open_sampler(backend: Backend, *, base_model: str | None = None, model_path: str | None = None) -> Any:
    """Open a sampler on a base model or on saved weights.

    Raises:
        AuditError: the service does not have them.
    """
    doing = f"opening a sampler on {base_model or model_path}"
    pending = backend.submit(doing, lambda: backend.client.create_sampling_client(model_path, base_model))
    return backend.wait(doing, pending)
