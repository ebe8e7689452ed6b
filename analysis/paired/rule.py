"""The registered rule: one verdict from several criteria under one method and one alpha."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from analysis.errors import AuditError
from analysis.paired.holm import holm_rejections
from analysis.paired.interval import Interval
from analysis.paired.methods import DecisionMethod
from analysis.paired.sample import PairedSample
from analysis.paired.verdict import Verdict, verdict

Combination = Literal["all", "holm"]


@dataclass(frozen=True)
class Contrast:
    """One criterion with the data it is judged on.

    Attributes:
        id: the criterion's id in the plan.
        sample: its paired differences.
        margin: `validated` needs a lower limit above it; at least 0.
        floor: `refuted` needs an upper limit below it; None for minus the margin.
        band: `tie` needs the interval inside [-band, band]; None for no tie.
    """

    id: str
    sample: PairedSample
    margin: float = 0.0
    floor: float | None = None
    band: float | None = None


@dataclass(frozen=True)
class CriterionVerdict:
    """What the rule says about one criterion.

    Attributes:
        contrast: the criterion and its data.
        interval: at the level `interval_alpha`.
        interval_alpha: alpha itself, or alpha over the number of criteria where they share it.
        verdict: from the interval and, under `holm`, from the step-down test.
        reasons: why the verdict is weaker than the limits alone would say; empty where it is not.
    """

    contrast: Contrast
    interval: Interval
    interval_alpha: float
    verdict: Verdict
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class RuleVerdict:
    """The verdict of the whole rule, and of each criterion in the order they were given."""

    verdict: Verdict
    criteria: tuple[CriterionVerdict, ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """All reasons, each led by its criterion's id."""
        return tuple(f"{item.contrast.id}: {reason}" for item in self.criteria for reason in item.reasons)


def decide(
    contrasts: Sequence[Contrast],
    *,
    method: DecisionMethod,
    alpha: float,
    combine: Combination = "all",
    seed: int | None = None,
) -> RuleVerdict:
    """Return the verdict of the rule.

    With `all`, every criterion is judged on an interval at `alpha`: claiming them all needs all of them to hold,
    so no correction is due (Berger 1982, theorem 1). With `holm`, the criteria share alpha: `validated` needs
    Holm's rejection at the margin and a lower limit above it at the level alpha / k (Bonferroni), so that the
    interval which is shown supports the word. Where a method's p-value is dual to its lower limit the second
    condition is the stricter one.

    Args:
        contrasts: at least one, with distinct ids.
        method: the registered method.
        alpha: error probability, in (0, 1).
        combine: how the criteria are combined.
        seed: the registered seed, for the methods that draw.

    Raises:
        AuditError: no criterion, two with one id, alpha outside (0, 1), limits that contradict each other, scores
            that the method does not take, or `holm` with a method that has no p-value.
    """
    ids = [contrast.id for contrast in contrasts]
    if not ids:
        raise AuditError("the decision rule has no criterion: nothing to decide on")
    if len(set(ids)) != len(ids):
        raise AuditError(f"two criteria of the decision rule share an id: {', '.join(sorted(ids))}")
    if not 0.0 < alpha < 1.0:
        raise AuditError(f"alpha is {alpha:g}; an error probability lies between 0 and 1")
    level = alpha / len(contrasts) if combine == "holm" else alpha
    intervals = [
        method.interval(contrast.sample, alpha=level, margin=contrast.margin, seed=seed) for contrast in contrasts
    ]
    rejected = [True] * len(intervals) if combine == "all" else _holm(intervals, alpha, method.id)
    criteria = tuple(
        _judge(contrast, interval, level, holm_rejects)
        for contrast, interval, holm_rejects in zip(contrasts, intervals, rejected, strict=True)
    )
    return RuleVerdict(overall([item.verdict for item in criteria]), criteria)


def overall(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict of the whole from at least one criterion's: the worst certain news comes first."""
    found = set(verdicts)
    if not found:
        raise ValueError("there is no verdict to combine")
    if found == {"validated"}:
        return "validated"
    if "refuted" in found:
        return "refuted"
    return "tie" if found == {"tie"} else "inconclusive"


def _holm(intervals: Sequence[Interval], alpha: float, method_id: str) -> list[bool]:
    """Return Holm's rejections; an untrusted p-value counts as 1, so that it opens the way for no other."""
    p_values = []
    for interval in intervals:
        if interval.p_value is None and interval.trusted:
            raise AuditError(
                f'"{method_id}" has no p-value, which `combine: holm` needs; register another method or `all`'
            )
        trusted_p = interval.p_value if interval.trusted else None
        p_values.append(1.0 if trusted_p is None else trusted_p)
    return [bool(rejection) for rejection in holm_rejections(p_values, alpha)]


def _judge(contrast: Contrast, interval: Interval, level: float, holm_rejects: bool) -> CriterionVerdict:
    """Return one criterion's verdict with the reasons that weaken it."""
    word = verdict(interval.lower, interval.upper, margin=contrast.margin, floor=contrast.floor, band=contrast.band)
    reasons: tuple[str, ...] = ()
    if not interval.trusted:
        word, reasons = "inconclusive", (interval.reason or "the method is known to fail on these data",)
    elif word == "validated" and not holm_rejects:
        word, reasons = "inconclusive", ("the lower limit is above the margin, but Holm's test does not reject",)
    return CriterionVerdict(contrast, interval, level, word, reasons)
