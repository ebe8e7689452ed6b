"""Evaluates a checkpoint on the plan's items, by the plan's grader."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from analysis.plan.model import Curve, Evaluation
from runner.loop.backend import Backend
from runner.loop.phases import OUTSIDE
from runner.loop.prompts import Prompt, PromptRenderer
from runner.loop.sampling import Sample, SamplingSettings, sample_prompts
from runner.loop.schedule import request_seed
from runner.loop.task import evaluation_grader

if TYPE_CHECKING:
    import tinker

BASE_ARM = "base"
BASE_SEED = 0
BASE_CHECKPOINT = "base"
FINAL_CHECKPOINT = "final"


def step_checkpoint(steps: int) -> str:
    """Return the name of the weights after so many rollout steps; 0 is the base model."""
    return f"step{steps:06d}"


def is_curve_point(curve: Curve | None, steps: int, total: int) -> bool:
    """Say whether the weights after so many rollout steps are a point of the curve: every k-th, and the last.

    Args:
        curve: the plan's curve, None where it has none.
        steps: rollout steps so far; 0 is the base model, which is always a point.
        total: rollout steps of the run.
    """
    return curve is not None and (steps % curve.every_steps == 0 or steps == total)


def evaluate(
    backend: Backend,
    sampler: "tinker.SamplingClient",
    renderer: PromptRenderer,
    settings: Evaluation,
    prompts: Sequence[Prompt],
) -> list[list[Sample]]:
    """Sample each item's completions and grade them.

    The seeds do not depend on the arm: where the temperature is not 0, all checkpoints draw the same numbers.

    Args:
        backend: the service.
        sampler: which weights.
        renderer: gives stop sequences and text.
        settings: the plan's evaluation.
        prompts: the items; test items in a full run, validation items in a pilot.

    Returns:
        The samples of each item, in the items' order.

    Raises:
        AuditError: the service refused a request or went away.
    """
    drawing = SamplingSettings(settings.temperature, settings.max_tokens, settings.samples_per_item)
    seeds = [request_seed(BASE_SEED, "eval", OUTSIDE, index) for index in range(len(prompts))]
    return sample_prompts(backend, sampler, renderer, evaluation_grader(settings.grader), prompts, drawing, seeds)


def accuracy(outcomes: Sequence[Sequence[Sample]]) -> float:
    """Return the share of right samples."""
    graded = [sample.grade.correct for samples in outcomes for sample in samples]
    return sum(graded) / len(graded)
