"""Two-digit addition as a question to a chat model: the sums and the splits of `addition`, asked in words.

A chat model answers in a sentence before it is trained, so the last integer of the answer counts.
"""

from dataclasses import replace
from typing import Any

from analysis.graders.grade import Grade
from analysis.graders.last_integer import grade as grade_last_integer
from analysis.plan.model import Dataset, Task
from runner.loop.task import Completion, Message, Problem
from runner.loop.tasks import addition


def problems(task: Task, dataset: Dataset | None) -> list[Problem]:
    """Return the sums of task `addition`, same ids, same splits, same order; `37+45` is written `37 + 45`.

    Raises:
        AuditError: see `addition.problems`.
    """
    return [
        replace(problem, question=problem.question.replace("+", " + ")) for problem in addition.problems(task, dataset)
    ]


def messages(question: str) -> list[Message]:
    """Return the one turn that asks for a sum."""
    return [{"role": "user", "content": f"What is {question}? Answer with only the number."}]


def grade(problem: Problem, completion: Completion, chat: Any) -> Grade:
    """Give 1 where the last number is the sum and the model ended its turn by itself, else 0."""
    return grade_last_integer(completion.text, completion.stop_reason, problem.gold)
