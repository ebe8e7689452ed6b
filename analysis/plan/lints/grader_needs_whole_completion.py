"""The grader takes the whole completion for the answer, but the task asks for reasoning that ends in a box.

`numeric_exact` is right only where the completion is one integer and nothing else. On GSM8K, whose prompt asks for a
boxed answer after a worked example, it would score every completion 0.
"""

from collections.abc import Iterator

from analysis.plan.finding import Finding, LintInfo
from analysis.plan.model import Plan
from analysis.plan.parse import AnyPlan

LINT = LintInfo(severity="error", formats=(3,))
BOXED_TASKS = ("gsm8k",)
WHOLE_COMPLETION_GRADERS = ("numeric_exact",)


def findings(plan: AnyPlan) -> Iterator[Finding]:
    """Yield a finding where a task with boxed answers is evaluated by a grader that reads no box."""
    if not isinstance(plan, Plan) or plan.task.id not in BOXED_TASKS:
        return
    if plan.evaluation.grader in WHOLE_COMPLETION_GRADERS:
        yield Finding(
            "evaluation.grader",
            f"{plan.evaluation.grader} is right only where the whole completion is one integer, and task "
            f"{plan.task.id} asks for reasoning and a boxed answer: every item would score 0",
            "Name boxed_number, which compares the last box as an exact number.",
        )
