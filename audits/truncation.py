"""Completions that the token cap cut off are known as such, and no claim rests on how they were counted.

A cut completion is one whose stop reason says so (length, max_tokens and the like), or that has no stop reason and is
as long as the cap. The notes give, for each arm, the accuracy as labelled, with cut answers counted wrong, and without
them, each with its denominator: two arms may differ in how long they write, not in what they know (arXiv:2504.07086).
Frameworks have mislabelled cut completions (trl#7039, trl#6369, trl#6439) and counted them over wrong denominators
(verl#7817, verl#7823).

Failures: a completion longer than the cap, or cut below it (the cap that ran is not the one that is stated, or the
context ended first, which is another cap for each prompt); a cut answer recorded as right although the run's grader
takes none; a difference between treatment and baseline whose sign turns when cut answers are counted wrong: whatever is
claimed then rests on answers that were never finished. An evaluation of which nobody can say what was cut is
`inconclusive`; of rollouts the notes say it.

Warnings: more than half of the completions are cut, so that the typical one was never finished; a cut answer that is
recorded as right by a grader that may (the answer can stand before the cut); a difference whose sign turns when cut
answers are left out; arms whose cut shares differ by as much as their accuracies and by more than two standard errors:
the cut alone could explain the result; the cap as the most frequent length of completions that are said to have ended
by themselves: natural lengths do not pile up there, unless the cap is as long as a whole answer. One completion at the
cap is chance.

It cannot see a cut that the service hid together with the length.
"""

from audits.engine.audit import Audit

AUDIT = Audit(
    title="no claim rests on how completions that the token cap cut off were counted",
    requires=("evals.n_tokens or evals.stop_reason or rollouts.n_tokens or rollouts.stop_reason",),
    examines="derived_lengths",
    mend="evaluate with a cap that few completions reach, the same for all arms, and log stop reason and length",
    derived=("lengths", "token_caps", "arms"),
)
