"""What a task is: problems with gold answers, their text, and the grade that training sees.

A task is a file `runner/loop/tasks/<id>.py`, a grader of evaluations a file `analysis/graders/<id>.py`; the file's
name is the id, and there is no list to edit.
"""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, cast

import analysis.graders
import runner.loop.tasks
from analysis.errors import AuditError
from analysis.graders.grade import Grade
from analysis.plan.model import Task

Split = Literal["train", "validation", "test"]


@dataclass(frozen=True)
class Problem:
    """One problem: its id is the pairing key of evaluations, so it never depends on an arm or a seed."""

    prompt_id: str
    split: Split
    question: str
    gold: str


class TaskModule(Protocol):
    """What a task file defines."""

    def problems(self, task: Task) -> Sequence[Problem]:
        """Return the problems of all three splits, in a fixed order, as many as the plan asks for."""

    def render(self, question: str) -> str:
        """Return the text of the prompt, or of the user's turn where the plan names a chat renderer."""

    def grade(self, completion: str, stop_reason: str, gold: str) -> Grade:
        """Grade a training completion."""


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
        AuditError: there is no such grader.
    """
    package = analysis.graders
    return cast(GraderModule, _load("grader", grader_id, package.__name__, Path(package.__path__[0])))


def _load(kind: str, name: str, package: str, folder: Path) -> object:
    known = sorted(path.stem for path in folder.glob("*.py") if path.stem not in {"__init__", "grade"})
    if name not in known:
        raise AuditError(f"{kind} {name!r}: there is no such {kind}. Known: {', '.join(known)}")
    return importlib.import_module(f"{package}.{name}")


def of_split(problems: Sequence[Problem], split: Split) -> list[Problem]:
    """Return the problems of one split, in their order."""
    return [problem for problem in problems if problem.split == split]
