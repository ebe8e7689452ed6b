"""Nothing demands evidence that the treatment was active.

Without a gate a null result cannot be told from a treatment that never did anything.
"""

from collections.abc import Iterator

from analysis.plan.finding import Finding, LintInfo
from analysis.plan.legacy import PlanV2
from analysis.plan.model import Plan
from analysis.plan.parse import AnyPlan

LINT = LintInfo(severity="warn", formats=(1, 2, 3))


def findings(plan: AnyPlan) -> Iterator[Finding]:
    """Yield a finding where no gate applies."""
    if isinstance(plan, Plan | PlanV2) and plan.activation_gate.applicable:
        return
    yield Finding(
        "activation_gate",
        "no gate applies: a result could come from a treatment that never acted, and nothing would show it",
        "Demand in a pilot that the mask fires and the policy drifts (the plan `demo` shows how).",
    )
