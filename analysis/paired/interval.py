"""What a decision method is and what it returns."""

from dataclasses import dataclass
from typing import Literal

Guarantee = Literal["proven", "conjectured", "asymptotic"]


@dataclass(frozen=True)
class Method:
    """What a reader must know before trusting a decision method.

    Attributes:
        title: the method's name in words.
        guarantee: `proven` finite-sample coverage, `conjectured` (no violation known), or `asymptotic`.
        assumption: what the guarantee rests on.
        when: when to register it, in one sentence.
        scores: `bounded` (any scores inside the criterion's bounds) or `binary` (right or wrong only).
        source: paper and equation.
        seed: whether a plan must register `resampling_seed`: `never`, `continuous scores` (needed where the
            differences lie on no lattice), or `always`.
    """

    title: str
    guarantee: Guarantee
    assumption: str
    when: str
    scores: Literal["bounded", "binary"]
    source: str
    seed: Literal["never", "continuous scores", "always"] = "never"


@dataclass(frozen=True)
class Interval:
    """A two-sided interval for the mean paired difference.

    Attributes:
        estimate: the observed mean difference.
        lower: lower limit, inside the range of the difference.
        upper: upper limit, inside the range of the difference.
        p_value: for the null hypothesis "difference <= margin", dual to `lower` at the two-sided level: at
            most alpha where `lower` is above the margin; None where the method has none.
        trusted: False where the method is known to fail on these data; the verdict is then `inconclusive`.
        reason: why it is not trusted.
    """

    estimate: float
    lower: float
    upper: float
    p_value: float | None
    trusted: bool = True
    reason: str | None = None
