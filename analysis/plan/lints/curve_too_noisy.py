"""A point of the mid-run curve rests on so few items that its exact interval hides any change worth seeing.

The half-width is that of the Clopper-Pearson interval at a share of one half, where it is widest; a point that is drawn
from a few dozen items goes up and down by as much for no reason at all.
"""

from collections.abc import Iterator

from analysis.paired.exact_limit import clopper_pearson
from analysis.plan.finding import Finding, LintInfo
from analysis.plan.model import Plan
from analysis.plan.parse import AnyPlan

LINT = LintInfo(severity="warn", formats=(3,))
ERROR = 0.05
WIDEST = 0.10
"""Half-widths up to this one, 10 points of accuracy, are let pass."""


def findings(plan: AnyPlan) -> Iterator[Finding]:
    """Yield a finding where a point of the curve has a half-width above 0.10."""
    if not isinstance(plan, Plan) or plan.evaluation.curve is None:
        return
    items = plan.evaluation.curve.items or plan.task.validation_items
    half_width = widest_half_width(items)
    if half_width > WIDEST:
        enough = next(count for count in range(items, 10_000) if widest_half_width(count) <= WIDEST)
        yield Finding(
            "evaluation.curve.items" if plan.evaluation.curve.items else "task.validation_items",
            f"a point of the curve on {items} items is too noisy: its exact 95% interval reaches up to "
            f"{half_width:.3f} to each side, so a rise or fall of that size may be chance",
            f"Give each point at least {enough} items, or read nothing into the curve.",
        )


def widest_half_width(items: int) -> float:
    """Return half the width of the exact 95 % interval where half of the items are right.

    Args:
        items: number of items, at least 1.
    """
    low, high = clopper_pearson(items // 2, items, ERROR)
    return (high - low) / 2.0
