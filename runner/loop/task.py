"""What a task is: problems with gold answers, their text, and the grade that training sees.

A task is a file `runner/loop/tasks/<id>.py`, a grader of evaluations a file `analysis/graders/<id>.py`; the file's
name is the id, and there is no list to edit.
"""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, cast

import analysis.graders
import runner.loop.tasks
from analysis.errors import AuditError
from analysis.graders.grade import Grade
from analysis.plan.model import Dataset, Task

Message = Mapping[str, str]
Split = Literal["train", "validation", "test"]


_REFUSED_GRADERS = {
    "math_verify": "tinker-cookbook 0.5.8 calls it in a thread, where math-verify 0.9.0 raises because it sets an "
    "alarm signal; the error is swallowed and every answer counts as wrong. Name another grader, such as boxed_number",
}


@dataclass(frozen=True)
class Problem:
    """One problem: its id is the pairing key of evaluations, so it never depends on an arm or a seed."""

    prompt_id: str
    split: Split
    question: str
    gold: str


@dataclass(frozen=True)
class Completion:
    """What the model answered.

    Attributes:
        token_ids: as sampled, the end token included.
        text: decoded, without special tokens.
        stop_reason: `stop`, `length`, or the service's own word.
    """

    token_ids: Sequence[int]
    text: str
    stop_reason: str


Grader = Callable[[Problem, Completion], Grade]
"""Grades one completion of one problem."""


class TaskModule(Protocol):
    """What a task file defines."""

    def problems(self, task: Task, dataset: Dataset | None) -> Sequence[Problem]:
        """Return the problems of all three splits, in a fixed order, as many as the plan asks for."""

    def messages(self, question: str) -> Sequence[Message]:
        """Return the turns before the completion, each with `role` and `content`; the last is the user's."""

    def grade(self, problem: Problem, completion: Completion, chat: Any) -> Grade:
        """Grade a training completion; `chat` is the cookbook's renderer of the prompt, None where it was plain."""


class GraderModule(Protocol):
    """What a grader file defines."""

    def grade(self, completion: str, stop_reason: str, gold: str) -> Grade:
        """Grade a completion against the gold answer."""


def load_task(task_id: str) -> TaskModule:
    """Return the task with this id.

    Raises:
        AuditError: there is no such task.
    """
    return cast(TaskModule, _load("task", task_id, runner.loop.tasks.__name__, Path(runner.loop.tasks.__path__[0])))


def load_grader(grader_id: str) -> GraderModule:
    """Return the grader with this id.

    Raises:
        AuditError: there is no such grader, or it is one that is known to grade wrongly.
    """
    if grader_id in _REFUSED_GRADERS:
        raise AuditError(f"grader {grader_id!r} is refused: {_REFUSED_GRADERS[grader_id]}")
    package = analysis.graders
    return cast(GraderModule, _load("grader", grader_id, package.__name__, Path(package.__path__[0])))


def training_grader(task: TaskModule, chat: Any) -> Grader:
    """Return what grades the task's training completions.

    Args:
        task: the task.
        chat: the cookbook's renderer of the prompts, None where they are plain.
    """
    return lambda problem, completion: task.grade(problem, completion, chat)


def evaluation_grader(grader_id: str) -> Grader:
    """Return what grades evaluations: a plan's grader reads text only, whatever the training reward was.

    Raises:
        AuditError: see `load_grader`.
    """
    module = load_grader(grader_id)
    return lambda problem, completion: module.grade(completion.text, completion.stop_reason, problem.gold)


def _load(kind: str, name: str, package: str, folder: Path) -> object:
    known = sorted(path.stem for path in folder.glob("*.py") if path.stem not in {"__init__", "grade"})
    if name not in known:
        raise AuditError(f"{kind} {name!r}: there is no such {kind}. Known: {', '.join(known)}")
    return importlib.import_module(f"{package}.{name}")


def of_split(problems: Sequence[Problem], split: Split) -> list[Problem]:
    """Return the problems of one split, in their order."""
    return [problem for problem in problems if problem.split == split]
