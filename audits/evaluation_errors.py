"""An item that failed has no score, and a score agrees with its verdict.

A failed evaluation has been published as accuracy 0.0: all 1,319 items had raised an error (tinker-rl-lab,
gsm8k_test_results.json). An item that failed was not answered wrong: with a score it changes the accuracy, without one
it is missing from the comparison; both are failures that name the item. Where every item of an evaluation failed,
there is no accuracy at all: it is `inconclusive`, whatever number stands in the log. A score outside 0 to 1,
`correct` and `score` that contradict each other, and an empty completion that is scored right, say that scores were not
made by reading answers.

It cannot see an error that the evaluation swallowed and logged as a wrong answer; many empty completions are a sign,
and the notes count them.
"""

from audits.engine.audit import Audit

AUDIT = Audit(
    title="no failed item is scored, and scores agree with their verdicts",
    requires=("evals",),
    examines="evals",
    mend="evaluate the items that failed again; an error is neither a wrong answer nor a reason to drop an item",
)
