"""The run's own grader gives each stored completion the grade that was recorded of it.

A grade is a function of completion, stop reason and gold answer, so anybody can compute it again. Where it comes out
otherwise, labels were changed after the fact, another grader ran than the plan names, or the completion that is stored
is not the one that was graded; which of them, the logs cannot say. It is also what a grader that was mended later
looks like: then the evaluation has to be graded again with one grader for all arms.

The label, the score and the extracted answer are compared exactly; a difference in any of them is a failure. It does
not apply where the plan names no grader of ours, and cannot see completions that were not stored.
"""

from audits.derived.answers import own_graders
from audits.engine.audit import Audit
from audits.store.reader import Run


def _applies(run: Run) -> str | None:
    if run.sealed is None:
        return "no plan is sealed in this run, so no grader was named"
    if own_graders(run):
        return None
    return f"the plan's grader {run.sealed.plan.evaluation.grader!r} is none that could be run again here"


AUDIT = Audit(
    title="the plan's grader gives each stored completion its recorded grade",
    requires=("evals.completion or rollouts.completion", "evals.gold or rollouts.gold"),
    examines="derived_answers WHERE own_score IS NOT NULL",
    mend="find out what wrote the listed grades; then grade all stored completions of all arms again with one grader",
    derived=("answers",),
    applies=_applies,
)
