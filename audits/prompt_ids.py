"""Every answer belongs to the prompt that it names: the id is known and unique, the gold and the split are right.

Item, gold and split stand in several tables. Where they disagree, an answer may have been graded against another
question's gold, or training may have used items that were to be held out; accuracy then means nothing. A rollout that
names a validation or test prompt has trained on it, and a pilot that is evaluated on test items has looked at the
primary endpoint before the full run. The hash is recomputed from the logged token ids: arms are compared by it.

It trusts the table of prompts: a gold that is wrong there is wrong everywhere. A row that names no
prompt, among others that do, is a warning.
"""

from audits.engine.audit import Audit

AUDIT = Audit(
    title="each answer names a known prompt of the right split and with its gold",
    requires=("prompts", "evals.prompt_id or rollouts.prompt_id"),
    examines="derived_prompt_references",
    mend="correct the ids or golds at the source and grade again; what was trained on cannot be an evaluation item",
    derived=("prompt_hashes", "prompt_references"),
)
