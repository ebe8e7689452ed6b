"""A loss is defined that no arm uses: a leftover, or a misspelt arm."""

from collections.abc import Iterator

from analysis.plan.finding import Finding, LintInfo
from analysis.plan.model import Plan
from analysis.plan.parse import AnyPlan

LINT = LintInfo(severity="warn", formats=(3,))


def findings(plan: AnyPlan) -> Iterator[Finding]:
    """Yield a finding for each loss that no arm names."""
    if not isinstance(plan, Plan):
        return
    for name in sorted(plan.losses.keys() - {arm.loss for arm in plan.arms}):
        yield Finding(f"losses.{name}", "no arm uses this loss", "Remove it, or name it in an arm.")
