"""What ran is what was planned, setting by setting.

A flag that a trainer ignores leaves a plan that says one thing and a model that was trained by another: a LoRA adapter
dropped under data parallelism (EleutherAI/lm-evaluation-harness#2432), an option overwritten on the way
(pytorch/rl#4016). Public runs stop at step 20 of a planned 30 and are reported as finished. Every difference fails;
somebody who means it says so in a waiver.

What the logs show is compared from the logs: arms and seeds, rollout steps, updates a batch, groups, loss and
optimiser as sent, base model as the service reported it, loss tokens, evaluated items and their split, samples an
item, the length at which completions were cut. The rest (temperature, renderer, grader, LoRA rank, data set) is what
run.json states; the notes name it. It cannot see a service that reports one thing and does another. A setting that
nobody logged is `inconclusive`. A pilot is held to the gate's steps and the validation items.
"""

from audits.engine.audit import Audit
from audits.store.reader import Run


def something_was_planned(run: Run) -> str | None:
    """Return why nothing can be compared: the run carries no plan, and its source states none."""
    if run.sealed is None and not run.manifest.planned:
        return "no plan is sealed in this run and its source states none, so nothing was planned"
    return None


AUDIT = Audit(
    title="every planned setting is the one that was executed",
    requires=("updates or evals or rollouts or scalars",),
    examines="derived_settings WHERE planned IS NOT NULL",
    mend="run what was planned, or seal a plan that says what ran and supersedes this one; a difference that is meant "
    "is accepted by a waiver in policy.json, with its reason",
    derived=("settings",),
    applies=something_was_planned,
)
