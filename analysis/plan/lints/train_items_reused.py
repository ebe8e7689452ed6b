"""The run needs more prompts than the train split has, so items come again."""

from collections.abc import Iterator

from analysis.plan.finding import Finding, LintInfo
from analysis.plan.model import Plan
from analysis.plan.parse import AnyPlan

LINT = LintInfo(severity="note", formats=(3,))


def findings(plan: AnyPlan) -> Iterator[Finding]:
    """Yield a finding where groups a batch times batches exceed the train items."""
    if not isinstance(plan, Plan) or plan.task.train_items is None:
        return
    prompts = plan.rollout.groups_per_batch * plan.rollout.rollout_batches
    if prompts > plan.task.train_items:
        yield Finding(
            "task.train_items",
            f"{prompts} prompts are drawn from {plan.task.train_items} train items, so items come again",
            "Say in the notes that this is meant, or give more items.",
        )
