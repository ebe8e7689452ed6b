"""Both arms answered the same items, each once a sample, with a score.

A paired comparison speaks of the items that both arms answered. An item that is missing in one arm, stands there
twice, failed with an error or has no number for a score cannot be dropped or counted as wrong: either would
change the question that the interval answers. Where every item of an arm failed, nothing was measured: that is missing
evidence and no accuracy of 0; so is a baseline or treatment that run.json names and nobody evaluated.
"""

from audits.engine.audit import Audit

AUDIT = Audit(
    title="every item has one score a sample in each arm",
    requires=("evals",),
    examines="evals WHERE checkpoint = 'final'",
    mend="evaluate the listed items again, or mend them at the source; nothing is dropped or counted as wrong",
    derived=("arms",),
)
