"""Training prompts and evaluation prompts have one frame: same template, same system text, same stop sequences.

A model that was trained on one chat template and is evaluated on another is measured on a format, not on what it
learned (huggingface/open-r1#473, EleutherAI/lm-evaluation-harness#1841); with the wrong one in training every reward
can be 0 (PrimeIntellect-ai/prime-rl#346).

The frame is the rendered prompt with the question's first occurrence taken out. It is computed here from the text, as a
second look at the `template_sha256` that was logged: a hash that does not follow from the text is a `fail` (it is of
the text with the question replaced by `{question}`, or of the whole text where the question does not stand in it). An
evaluation prompt fails where no training prompt has its frame; where a frame was trained on and not evaluated, that is
a `warn`. A prompt in which the question does not stand word for word (its outer white space aside) is `inconclusive`,
and so is one whose rendered text was not logged.
Where run.json or the source states renderer, stop sequences or system text for training (`rollout.stop`) and for
evaluation (`evaluation.stop`), they are compared as stated. It cannot see what a service adds to a prompt by itself.
"""

from audits.engine.audit import Audit
from audits.store.reader import Run


def something_was_trained(run: Run) -> str | None:
    """Return why templates cannot be compared: outcomes alone were imported, and nothing was trained."""
    if run.sealed is None and not run.has("rollouts") and not run.has("updates"):
        return "no training stands in this run, so no prompt was trained on"
    return None


AUDIT = Audit(
    title="evaluation prompts have the frame of the training prompts",
    requires=("prompts",),
    examines="prompts",
    mend="render evaluation prompts with the training's renderer, system text and stop sequences, and evaluate again",
    derived=("settings",),
    applies=something_was_trained,
)
