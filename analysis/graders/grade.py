"""What a grader says about one completion."""

import pkgutil
from dataclasses import dataclass

import analysis.graders


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


def grader_ids() -> tuple[str, ...]:
    """Return the ids of all graders, sorted: the files of `analysis/graders/` beside this one."""
    names = {module.name for module in pkgutil.iter_modules(analysis.graders.__path__)}
    return tuple(sorted(names - {"grade"}))
