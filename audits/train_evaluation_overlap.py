"""No evaluated question was trained on.

An item that training has seen measures memory. Exact copies and copies in other spelling have been found between
published training and test sets (BytedTsinghua-SIA/DAPO#36, simplescaling/s1#26, inclusionAI/PromptCoT#8). Training
prompts are those of the train split and any that a rollout names. A copy that was really sampled is a failure; a copy
that stands in the train split while the log says that no rollout used it is a warning. The same words with other
numbers are a warning, one row a form with its counts: a data set made from templates is like that throughout, and a
reviewer must know. A form without a word (`#+#`) is only counted in the notes: it is the task itself.

It cannot see a question in other words, what the base model saw in pretraining, or training prompts that were not
logged: without any training prompt it is inconclusive.
"""

from audits.engine.audit import Audit

AUDIT = Audit(
    title="no evaluated question stands among the training prompts",
    requires=("evals.prompt_id", "prompts"),
    examines="derived_evaluated_items WHERE EXISTS (FROM derived_training_prompts)",
    mend="remove the listed prompts from training and train again, or take the items out of the evaluation",
    derived=("evaluated_items", "training_prompts"),
    unexamined="no training prompt is in this run, so nothing was compared",
)
