"""A check of the gate that the plan's own settings fail: the pilot could only end in `fail`."""

from collections.abc import Iterator

from analysis.plan.finding import Finding, LintInfo
from analysis.plan.model import Plan
from analysis.plan.parse import AnyPlan

LINT = LintInfo(severity="error", formats=(3,))


def findings(plan: AnyPlan) -> Iterator[Finding]:
    """Yield a finding where a check on an executed setting excludes the planned one."""
    if not isinstance(plan, Plan) or not plan.activation_gate.applicable:
        return
    planned = float(plan.rollout.updates_per_batch)
    for index, check in enumerate(plan.activation_gate.checks):
        path = f"activation_gate.checks[{index}]"
        if check.metric == "executed_updates_per_batch":
            low = planned if check.min is None else check.min
            high = planned if check.max is None else check.max
            if not low <= planned <= high:
                yield Finding(
                    path,
                    f"executed_updates_per_batch must lie in [{low:g}, {high:g}], but the plan executes {planned:g}",
                    "Make rollout.updates_per_batch and the check agree.",
                )
        if check.metric == "executed_base_model" and check.one_of and plan.base_model not in check.one_of:
            yield Finding(
                f"{path}.one_of",
                f"executed_base_model must be one of {check.one_of}, but the plan's base_model is {plan.base_model!r}",
                "Make base_model and the check agree.",
            )
