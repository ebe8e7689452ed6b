"""A field that a run needs is said only in prose, or nowhere.

Formats 1 and 2 have no key for the rollout, the losses' parameters, the roles of the arms or the grader. The
finding quotes the words that seem to say it; a person must carry them over into a format-3 plan. Words are matched
with patterns, so a wording may be missed or mistaken.
"""

from collections.abc import Iterator

from analysis.plan.finding import Finding, LintInfo
from analysis.plan.parse import AnyPlan
from analysis.plan.prose import fields_without_a_key

LINT = LintInfo(severity="error", formats=(1, 2), reads="prose")


def findings(plan: AnyPlan) -> Iterator[Finding]:
    """Yield one finding for each field without a key."""
    for mention in fields_without_a_key(plan):
        if mention.path is None:
            message = "a run needs it, and the plan says it nowhere, not even in prose"
        elif mention.value is None:
            message = (
                f'a run needs it, and only prose mentions it, without a value: {mention.path}: "…{mention.quote}…"'
            )
        else:
            message = f'a run needs it, and only prose says it ({mention.value}): {mention.path}: "…{mention.quote}…"'
        yield Finding(mention.field, message, f"Write a format-3 plan with {mention.field}.")
