"""Feasibility is required, and nothing was measured.

Formats 1 and 2 keep the result inside the plan; format 3 never does (a sealed plan does not change), it only
says that the preflight is required, and the result lies beside the pilot.
"""

from collections.abc import Iterator

from analysis.plan.finding import Finding, LintInfo
from analysis.plan.legacy import PlanV2
from analysis.plan.parse import AnyPlan

LINT = LintInfo(severity="error", formats=(2,))


def findings(plan: AnyPlan) -> Iterator[Finding]:
    """Yield a finding where feasibility is required and not recorded as passed."""
    if not isinstance(plan, PlanV2) or not plan.feasibility_required:
        return
    check = plan.feasibility_check
    if plan.feasibility is not None and check is not None and check.status in {"pass", "passed", "ok"}:
        return
    state = "no feasibility_check" if check is None else f"status {check.status!r}"
    problems = f" ({'; '.join(check.problems)})" if check and check.problems else ""
    yield Finding(
        "feasibility" if plan.feasibility is None else "feasibility_check.status",
        f"feasibility is required but not measured: {state}{problems}; this blocks a full run",
        "Measure time and cost on a pilot. In format 3: preflights.feasibility.required, and `audit preflight`.",
    )
