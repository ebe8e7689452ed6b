"""What a grader says about one completion."""

from dataclasses import dataclass


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
