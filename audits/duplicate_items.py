"""No two items of the final evaluation ask the same question.

An interval over n items takes them for n questions. A question that stands there twice is answered the same way twice
and counts double: the 1,460 problems of a published set were 11,680 rows, each eight times (sail-sg/Precision-RL#8),
and AIME has been evaluated as 32 copies (verl-project/verl#3065). Any duplicate makes n another number than the
interval says, so one is enough to fail; the notes tell how much it matters, with the effective n. Questions are
compared exactly, and without case, spacing, punctuation and unicode variants (`analysis.question_text`). Two golds for
one question mean that one of them is wrong.

It cannot see a question in other words, and compares no images or code attached to a question. The GSM8K test set has
none.
"""

from audits.engine.audit import Audit

AUDIT = Audit(
    title="each item of the final evaluation asks another question",
    requires=("evals.prompt_id", "prompts"),
    examines="derived_evaluated_items WHERE is_final",
    mend="evaluate each question once, or decide over the distinct questions only; correct golds that disagree",
    derived=("evaluated_items",),
)
