"""The arms were measured in one way: same items, same prompts, same sampling, same grader, as many samples an item.

A baseline that is measured with a shorter token cap, another prompt or another temperature loses to any treatment
(arXiv:2504.07086). In a public run a majority vote of five seeds stands against a single greedy answer of the base
model: p = .035, while the five seeds alone gain 1.3 points with an interval from -2.9 to 5.5.

Samples and token caps are compared as the logs show them; what an importer's source states of one arm
(`evaluation.temperature`, `evaluation.grader`, `aggregation`: single or majority_of_5) is compared as it is stated, and
is `inconclusive` where only some arms state it. A random seed is no such setting. In a run of ours one set of
evaluation settings serves all arms. Arms of another role than baseline and treatment are passed over where both of
those are there. It cannot see what no log and no source states.
"""

from audits.engine.audit import Audit
from audits.store.reader import Run


def has_arms_to_compare(run: Run) -> str | None:
    """Return why arms cannot be compared: there is only one."""
    return None if len({record.arm for record in run.manifest.arms}) > 1 else "one arm is nothing to compare"


AUDIT = Audit(
    title="both arms were evaluated on the same items and prompts, in the same way",
    requires=("evals",),
    examines="evals WHERE checkpoint = 'final'",
    mend="evaluate the arms again with one set of settings; compare a vote of several samples with a vote of as many",
    derived=("evaluation_prompts", "settings"),
    applies=has_arms_to_compare,
)
