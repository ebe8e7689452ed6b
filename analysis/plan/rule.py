"""The registered criteria in the numbers that power and width need, the same for formats 2 and 3."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analysis import power
from analysis.plan.legacy import LegacyCriterion, PlanV2
from analysis.plan.model import Criterion, Plan
from analysis.plan.parse import AnyPlan


@dataclass(frozen=True)
class Registered:
    """One criterion of a decision rule.

    Attributes:
        path: where it stands in the plan.
        method: the registered method.
        n: number of test items.
        alpha: the criterion's own share of alpha (Bonferroni's under `holm`).
        spread: largest minus smallest possible value of one item's contrast.
        margin: validated above it.
        band: tie inside [-band, band]; None where no tie is registered.
        right_or_wrong: treatment minus baseline of scores in [0, 1], for which power is enumerated.
    """

    path: str
    method: str
    n: int
    alpha: float
    spread: float
    margin: float
    band: float | None
    right_or_wrong: bool

    @property
    def hoeffding_half_width(self) -> float:
        """Half-width of the paired Hoeffding interval."""
        return power.hoeffding_half_width(self.n, self.alpha, self.spread)


def registered(plan: AnyPlan) -> Iterator[Registered]:
    """Yield the criteria of a plan; none for format 1, which has no rule."""
    if not isinstance(plan, Plan | PlanV2):
        return
    rule = plan.decision_rule
    share = len(rule.criteria) if isinstance(plan, Plan) and plan.decision_rule.combine == "holm" else 1
    criteria: Sequence[Criterion | LegacyCriterion] = rule.criteria
    for index, criterion in enumerate(criteria):
        low, high = criterion.bounds
        yield Registered(
            path=f"decision_rule.criteria[{index}]",
            method=rule.method,
            n=plan.task.test_items if isinstance(plan, Plan) else plan.eval.n_examples,
            alpha=rule.alpha / share,
            spread=sum(abs(weight) for weight in criterion.weights.values()) * (high - low),
            margin=criterion.margin,
            band=criterion.band if isinstance(criterion, Criterion) else None,
            right_or_wrong=(low, high) == (0.0, 1.0) and sorted(criterion.weights.values()) == [-1.0, 1.0],
        )
