"""The final checkpoint was fixed by the plan, not chosen by the test items or by the training reward.

An evaluation of several checkpoints on the test items lets the best one be reported: its accuracy is the largest of
several draws, and an interval for one draw does not hold. Choosing the seeds or checkpoints with the highest training
reward is the same for whatever the reward and the test share (arvindcr4/tinker-rl-lab reports a top-k by training
reward). Test items are touched once, at the end; a curve is drawn on validation items.

`fail`: a checkpoint on the way was evaluated on test items, by the prompts' split or because they are the final
evaluation's own items; run.json or the source states a choice by test items, training or reward; the stated step of
the final checkpoint is not the last. Where the source states that the last checkpoint was taken, test items on
the way are a `warn`: they could not choose the checkpoint, but could stop the training. A rule that is stated in other
words is `inconclusive`. It cannot see evaluations that nobody logged.
"""

from audits.engine.audit import Audit

AUDIT = Audit(
    title="no checkpoint was chosen by test items or training reward",
    requires=("evals",),
    examines="evals WHERE arm <> 'base'",
    mend="report the last checkpoint, or choose by validation items and evaluate the chosen one once, on test items "
    "that chose nothing",
    derived=("evaluation_prompts", "settings"),
)
