"""What a grader is, and what it says about one completion.

A grader is a file `analysis/graders/<id>.py`; the file's name is the id, and there is no list to edit.
"""

import importlib
import pkgutil
from dataclasses import dataclass
from typing import Protocol, cast

import analysis.graders
from analysis.errors import AuditError

_REFUSED = {
    "math_verify": "tinker-cookbook 0.5.8 calls it in a thread, where math-verify 0.9.0 raises because it sets an "
    "alarm signal; the error is swallowed and every answer counts as wrong. Name another grader, such as boxed_number",
}


@dataclass(frozen=True)
class Grade:
    """The grade of one completion, and how it came about.

    Attributes:
        reward: what training sees; also the score of an evaluated item, 0..1.
        correct: whether the answer is right.
        extracted: the answer that was compared with the gold one, None where none was found.
        extraction: how the answer was found, or why none was.
    """

    reward: float
    correct: bool
    extracted: str | None
    extraction: str


class Grader(Protocol):
    """What a grader file defines."""

    def example(self, gold: str) -> str:
        """Return a completion that answers with the gold answer."""

    def grade(self, completion: str, stop_reason: str, gold: str) -> Grade:
        """Grade a completion against the gold answer."""


def grader_ids() -> tuple[str, ...]:
    """Return the ids of all graders, sorted: the files of `analysis/graders/` beside this one."""
    names = {module.name for module in pkgutil.iter_modules(analysis.graders.__path__)}
    return tuple(sorted(names - {"grade"}))


def load_grader(grader_id: str) -> Grader:
    """Return the grader with this id.

    Raises:
        AuditError: there is no such grader, or it is one that is known to grade wrongly.
    """
    if grader_id in _REFUSED:
        raise AuditError(f"grader {grader_id!r} is refused: {_REFUSED[grader_id]}")
    if grader_id not in grader_ids():
        raise AuditError(f"grader {grader_id!r}: there is no such grader. Known: {', '.join(grader_ids())}")
    return cast(Grader, importlib.import_module(f"{analysis.graders.__name__}.{grader_id}"))
