"""What a task is: problems with gold answers, their text, and the grade that training sees.

A task is a file `runner/loop/tasks/<id>.py`; the file's name is the id, and there is no list to edit.
"""

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, cast

import runner.loop.tasks
from analysis.errors import AuditError
from analysis.graders.grade import Grade, load_grader
from analysis.plan.model import Dataset, Task

Message = Mapping[str, str]
Split = Literal["train", "validation", "test"]


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


def load_task(task_id: str) -> TaskModule:
    """Return the task with this id.

    Raises:
        AuditError: there is no such task.
    """
    known = sorted(module.name for module in pkgutil.iter_modules(runner.loop.tasks.__path__))
    if task_id not in known:
        raise AuditError(f"task {task_id!r}: there is no such task. Known: {', '.join(known)}")
    return cast(TaskModule, importlib.import_module(f"{runner.loop.tasks.__name__}.{task_id}"))


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
        AuditError: see `analysis.graders.grade.load_grader`.
    """
    grader = load_grader(grader_id)
    return lambda problem, completion: grader.grade(completion.text, completion.stop_reason, problem.gold)


def of_split(problems: Sequence[Problem], split: Split) -> list[Problem]:
    """Return the problems of one split, in their order."""
    return [problem for problem in problems if problem.split == split]
