"""The treatment and its baseline differ in nothing, or in more than one thing.

Only the loss may differ, or only where the advantages come from: one condition of each role, the same seeds, the same
learning rates to choose from. In format 3 everything else is shared by construction; in format 2 each arm has its own
learning rate and updates.
"""

from collections.abc import Iterator

from analysis.plan.finding import Finding, LintInfo
from analysis.plan.legacy import PlanV2
from analysis.plan.model import Loss, Plan
from analysis.plan.parse import AnyPlan

LINT = LintInfo(severity="error", formats=(2, 3))

# Settings that both kinds of loss have; the kind and its threshold are the switch.
_COMMON = ("form", "anchor", "truncation", "reduction")


def findings(plan: AnyPlan) -> Iterator[Finding]:
    """Yield a finding for each way in which the comparison is not one switch."""
    if isinstance(plan, PlanV2):
        yield from _legacy(plan)
    elif isinstance(plan, Plan):
        baselines, treatments = plan.conditions("baseline"), plan.conditions("treatment")
        if len(baselines) != 1 or len(treatments) != 1:
            yield Finding(
                "arms",
                f"{len(baselines)} baseline and {len(treatments)} treatment conditions; a contrast needs one of each",
                "Give further conditions the role `other`.",
            )
            return
        yield from _conditions(plan, baselines[0], treatments[0])


def _conditions(plan: Plan, baseline: str, treatment: str) -> Iterator[Finding]:
    seeds = {name: {arm.seed for arm in plan.arms if arm.condition == name} for name in (baseline, treatment)}
    if seeds[baseline] != seeds[treatment]:
        yield Finding(
            "arms",
            f"{baseline} has seeds {sorted(seeds[baseline])}, {treatment} has {sorted(seeds[treatment])}",
            "Give both conditions the same seeds.",
        )
    rates = plan.sweep.learning_rates if plan.sweep else {}
    if sorted(rates.get(baseline, [])) != sorted(rates.get(treatment, [])):
        yield Finding(
            "sweep.learning_rates",
            f"{baseline} and {treatment} choose from different learning rates, so a gap may be the tuning's",
            "Give both conditions the same grid.",
        )
    losses = plan.loss_of(baseline), plan.loss_of(treatment)
    advantages = [{arm.advantage for arm in plan.arms if arm.condition == name} for name in (baseline, treatment)]
    if losses[0] == losses[1] and advantages[0] == advantages[1]:
        yield Finding(
            "arms",
            f"{baseline} and {treatment} have the same loss and the same advantages: there is no treatment",
            "Give the treatment its own loss, or its own advantages.",
        )
    if losses[0] != losses[1] and advantages[0] != advantages[1]:
        yield Finding(
            "arms",
            f"{baseline} and {treatment} differ in their loss and in their advantages: a gap could come from either",
            "Change one of them only.",
        )
    yield from _losses(*losses, baseline, treatment)


def _losses(baseline: Loss, treatment: Loss, baseline_name: str, treatment_name: str) -> Iterator[Finding]:
    for key in _COMMON:
        ours, theirs = getattr(baseline, key), getattr(treatment, key)
        if ours != theirs:
            yield Finding(
                "losses",
                f"besides the switch the losses differ in {key}: {baseline_name} {ours}, {treatment_name} {theirs}",
                f"Give both losses the same {key}, or say in the notes why they differ.",
                severity="warn",
            )


def _legacy(plan: PlanV2) -> Iterator[Finding]:
    for key in ("lr", "updates_per_batch"):
        values = sorted({getattr(arm, key) for arm in plan.arms})
        if len(values) > 1:
            yield Finding("arms", f"the arms differ in {key}: {values}", f"Give every arm the same {key}.")
    losses = sorted({arm.loss for arm in plan.arms})
    if len(losses) < 2:
        yield Finding("arms", f"every arm has the loss {losses[0]}: there is no treatment", "Name two losses.")
        return
    seeds = {loss: sorted(arm.seed for arm in plan.arms if arm.loss == loss) for loss in losses}
    if len({tuple(own) for own in seeds.values()}) > 1:
        yield Finding("arms", f"the arms have different seeds: {seeds}", "Give every loss the same seeds.")
