"""A revision, a status or any other text still says "unresolved".

A pin names the code that a result rests on. Until it names one, the correctness preflight has nothing to
compare with, and no full run may start. A required correctness preflight without any revision is the same.
"""

import re
from collections.abc import Iterator

from analysis.plan.finding import Finding, LintInfo
from analysis.plan.model import Plan
from analysis.plan.parse import AnyPlan
from analysis.plan.walk import texts

LINT = LintInfo(severity="error", formats=(1, 2, 3))

# Only texts that begin with the word: a sentence about something unresolved is prose, not an open field.
_OPEN = re.compile(r"\s*(unresolved|tbd|todo|fixme|\?\?\?)\b", re.IGNORECASE)
_REVISIONS = ("reference_revision", "baseline_revision")


def findings(plan: AnyPlan) -> Iterator[Finding]:
    """Yield one finding for each open text."""
    for path, text in texts(plan):
        if _OPEN.match(text) and not path.startswith("notes"):
            yield Finding(path, f"unresolved, so no full run may start: {text}", "Pin it: name the exact revision.")
    if isinstance(plan, Plan) and plan.preflights.correctness.required:
        named = {path.rsplit(".", 1)[-1] for path, _ in texts(plan.preflights.correctness.settings)}
        for key in _REVISIONS:
            if key not in named:
                yield Finding(
                    "preflights.correctness.settings",
                    f"the correctness preflight is required, but no {key} says what it compares with",
                    f"Add {key} to a path under settings.paths.",
                )
