"""Two-digit addition: the demo's task, with a held-out split that no ordering of a sum can leak through."""

from hashlib import sha256
from typing import Any, Literal

from analysis.errors import AuditError
from analysis.graders.grade import Grade
from analysis.graders.numeric_exact import grade as grade_integer
from analysis.plan.model import Dataset, Task
from runner.loop.task import Completion, Message, Problem

Split = Literal["train", "validation", "test"]

OPERAND_LIMIT = 100
"""Operands are the whole numbers from 0 up to, not including, this one."""

_TEST_SHARE = 0.10
_VALIDATION_SHARE = 0.04


def split_of(first: int, second: int) -> Split:
    """Say which split the sum of two operands belongs to, the same for both orders.

    The rule hashes the unordered pair, so 37+45 and 45+37 always fall together: a model that has seen one
    of them in training cannot be credited with the other. Of the 5,050 unordered pairs of 0..99, 475 are
    test, 203 are validation and 4,372 are train.

    Args:
        first: An operand, 0 to 99.
        second: The other operand, 0 to 99.

    Returns:
        `"train"`, `"validation"` or `"test"`.

    Raises:
        ValueError: If an operand is outside 0..99, where the split is not defined.
    """
    low, high = sorted((first, second))
    if low < 0 or high >= OPERAND_LIMIT:
        raise ValueError(f"the addition split is defined for 0..{OPERAND_LIMIT - 1}, not for {first}+{second}")
    digest = sha256(f"addition:{low}+{high}".encode("ascii")).digest()
    draw = int.from_bytes(digest[:8]) / 2**64
    if draw < _TEST_SHARE:
        return "test"
    if draw < _TEST_SHARE + _VALIDATION_SHARE:
        return "validation"
    return "train"


def problems(task: Task, dataset: Dataset | None) -> list[Problem]:
    """Return the sums of all three splits, in a fixed order that looks random.

    Training asks both orders of a pair. An evaluated item is an unordered pair, asked in one order: the other
    order would be nearly the same item, and the decision takes items for independent.

    Raises:
        AuditError: the plan names a data set, or asks for more items than a split has.
    """
    if dataset is not None:
        raise AuditError("dataset: task 'addition' makes its items itself; remove the block from the plan")
    found: dict[Split, list[Problem]] = {"train": [], "validation": [], "test": []}
    for first in range(OPERAND_LIMIT):
        for second in range(first, OPERAND_LIMIT):
            split = split_of(first, second)
            orders = sorted({(first, second), (second, first)}, key=_place)
            asked = orders if split == "train" else orders[:1]
            found[split].extend(_problem(split, *order) for order in asked)
    wanted: dict[Split, int | None] = {
        "train": task.train_items,
        "validation": task.validation_items,
        "test": task.test_items,
    }
    for name, count in wanted.items():
        there = len(found[name])
        if count is not None and count > there:
            raise AuditError(f"task.{name}_items is {count}, but task 'addition' has only {there} {name} items")
    return [problem for name, count in wanted.items() for problem in sorted(found[name], key=_problem_place)[:count]]


def messages(question: str) -> list[Message]:
    """Return the one turn that asks for a sum: `37+45` becomes `37+45=`."""
    return [{"role": "user", "content": f"{question}="}]


def grade(problem: Problem, completion: Completion, chat: Any) -> Grade:
    """Give 1 for exactly the sum, ended by the model itself, else 0."""
    return grade_integer(completion.text, completion.stop_reason, problem.gold)


def _problem(split: Split, first: int, second: int) -> Problem:
    return Problem(f"addition/{first}+{second}", split, f"{first}+{second}", str(first + second))


def _problem_place(problem: Problem) -> bytes:
    return sha256(problem.prompt_id.encode("ascii")).digest()


def _place(order: tuple[int, int]) -> bytes:
    return sha256(f"order:{order[0]}+{order[1]}".encode("ascii")).digest()
