r"""Each recorded label agrees with what the completion answers, however strictly one looks for the answer.

A lenient grader takes any number that it finds, and then measures arithmetic on the way instead of answers; a strict
one that misses an answer measures form. Either moves an accuracy by tens of points and one arm more than the other,
once training has taught an arm the form. Seen in public: sgl-project/sglang#29933 (65 % of the answers graded wrong
were right, followed by run-on text), EleutherAI/lm-evaluation-harness#3214 and #3438,
open-compass/opencompass#2426 (`8,000` read as `000`).

The strict answer is what the run's own way finds (the grader of the sealed plan, or the one way of ours that the log
names); a run that does not say how it grades is read by marker, last box or a bare number. What each finding means:

- right by a lenient way only, by an intermediate number, by one of several answers, or without the gold number: the
  label claims an answer that the model did not give. Fail; warn for a lenient way where the run does not say how it
  grades and no completion of any arm marks its answer, as in "The answer is 4".
- wrong against the strict answer: the label denies an answer that stands where it had to stand. Fail; warn where two
  strict ways give two answers, or where the completion was cut off, since a rule may count either as wrong.
- wrong, and a lenient way finds the gold number: the measure as registered, but it is part form. Warn.
- answer not read as a number: recorded right, and our exact comparison cannot read the marked answer. Warn.
- a training reward decides what was learned, not what the evaluation measured: every finding in rollouts is a warn.

It cannot see gold answers that are no numbers (they are not examined), nor a right number from wrong reasoning.
"""

from audits.engine.audit import Audit

AUDIT = Audit(
    title="each recorded label agrees with the answer in the completion",
    requires=("evals.completion or rollouts.completion", "evals.gold or rollouts.gold",
              "evals.score or evals.correct or rollouts.reward"),
    examines="derived_answers WHERE is_judged",
    mend="grade the stored completions again by the marked answer alone, in all arms, and report that accuracy; what a "
    "lenient way adds belongs beside it",
    derived=("answers",),
)  # fmt: skip
