r"""The grader tells right from wrong: known answers get the grade they must, and no set of labels is all the same.

A grader that marks everything wrong turns training into noise and an evaluation into 0.0; one that marks everything
right, or any answer to a gold that it cannot read, rewards whatever is written. Both have happened quietly:
tinker-cookbook 0.5.8 with `math_verify` marks every answer wrong (an exception in a thread, swallowed),
PrimeIntellect-ai/prime-rl#346 (all-zero rewards), huggingface/cookbook#335 and huggingface/open-r1#55 (a gold answer
that cannot be parsed scored 1.0).

Where the plan names a grader of ours, canaries made of the run's own gold answers go through it. The labels of any run
are looked at too: a checkpoint whose labels are all wrong (or all right) although the strict answer says otherwise in
at least one completion; one is enough, since a grader that works gave no label at all that shows it. A gold answer that
is empty, or no number to a grader of numbers, must never have been graded right. Where a foreign grader compares text,
completions with different answers that are all right for one such gold answer are a warn: they may be equivalent.
Where no grader of ours is named, no known answer can be put to one: the notes say so, and how many labels were looked
at; without labels nothing was examined.

It cannot see a grader that is wrong on some answers only; `answer_extraction` looks for those.
"""

from audits.engine.audit import Audit

AUDIT = Audit(
    title="the grader marks known right answers right and known wrong answers wrong",
    requires=("evals.completion or rollouts.completion", "evals.gold or rollouts.gold"),
    examines="derived_answers WHERE recorded IS NOT NULL OR EXISTS (FROM derived_canaries)",
    mend="mend the grader or the gold answers, try it on answers you know, and grade the stored completions again",
    derived=("answers", "canaries"),
    unexamined="no grader of ours is named, so 0 known answers were put to one, and no completion has a label",
)
