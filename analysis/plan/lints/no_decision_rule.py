"""The plan has no decision rule: nothing says which interval decides.

A limit on a point estimate ("at least 2 points above") is met by chance in a large share of null experiments;
format 1 has only that.
"""

from collections.abc import Iterator

from analysis.plan.finding import Finding, LintInfo
from analysis.plan.parse import AnyPlan

LINT = LintInfo(severity="error", formats=(1,))


def findings(plan: AnyPlan) -> Iterator[Finding]:
    """Yield one finding: format 1 cannot hold a rule."""
    yield Finding(
        "decision_rule",
        "missing: format 1 has no decision rule, so no method, no alpha and no interval is registered",
        "Write a format-3 plan with a decision_rule: method, alpha, margin, floor, band.",
    )
