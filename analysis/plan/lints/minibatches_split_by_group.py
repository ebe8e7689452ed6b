"""The batch cannot be split into equal minibatches.

A minibatch holds whole groups, because an advantage is relative to its group. Fewer groups than updates leave an
update without data; an uneven split gives some updates more tokens, and the loss is a sum.
"""

from collections.abc import Iterator

from analysis.plan.finding import Finding, LintInfo
from analysis.plan.model import Plan
from analysis.plan.parse import AnyPlan

LINT = LintInfo(severity="warn", formats=(3,))


def findings(plan: AnyPlan) -> Iterator[Finding]:
    """Yield a finding where the groups do not divide by the updates."""
    if not isinstance(plan, Plan):
        return
    groups, updates = plan.rollout.groups_per_batch, plan.rollout.updates_per_batch
    if updates > groups:
        yield Finding(
            "rollout.updates_per_batch",
            f"{updates} updates a batch, but only {groups} groups to split: an update would have no data",
            "Plan at most one update a group.",
            severity="error",
        )
    elif groups % updates:
        yield Finding(
            "rollout.groups_per_batch",
            f"{groups} groups do not split evenly into {updates} updates, and a summed loss weighs tokens, not updates",
            f"Make groups_per_batch a multiple of {updates}.",
        )
