"""A plan in plain words: what is compared, how it is trained, what counts as proof.

The texts quote the plan, which is untrusted: whoever prints them escapes control characters.
"""

from dataclasses import dataclass

from analysis.plan.legacy import LegacyPlan, PlanV2
from analysis.plan.model import Arm, Check, Criterion, Loss, Plan
from analysis.plan.parse import AnyPlan
from analysis.power import hoeffding_half_width


@dataclass(frozen=True)
class Paragraph:
    """One paragraph of an explanation, without line breaks of its own."""

    heading: str
    text: str


def explain(plan: AnyPlan) -> tuple[Paragraph, ...]:
    """Return the explanation of a plan of any format, in the order in which a reader asks."""
    if isinstance(plan, Plan):
        return (
            Paragraph("Question", f"{plan.title}. {plan.hypothesis}"),
            Paragraph("What is compared", _compared(plan)),
            Paragraph("How it is trained", _trained(plan)),
            Paragraph("What must hold before the full run", _before(plan)),
            Paragraph("What counts as proof", _proof(plan)),
            *(Paragraph(f"What the verdicts mean for {c.id}", _verdicts(c)) for c in plan.decision_rule.criteria),
            Paragraph("What the claim does not cover", _scope(plan)),
        )
    return (
        Paragraph("Question", f"{plan.title}. {plan.hypothesis}"),
        Paragraph("What is compared", _legacy_compared(plan)),
        Paragraph("How it is trained", _legacy_trained(plan)),
        Paragraph("What counts as proof", _legacy_proof(plan)),
        Paragraph("Can it run?", _legacy_runnable(plan)),
    )


def _compared(plan: Plan) -> str:
    parts = []
    for condition in dict.fromkeys(arm.condition for arm in plan.arms):
        arms = [arm for arm in plan.arms if arm.condition == condition]
        seeds = ", ".join(str(arm.seed) for arm in arms)
        loss, advantage = _loss(plan.loss_of(condition)), _advantage(plan, arms[0])
        parts.append(f"{condition} ({_role(arms[0])}, seed {seeds}) is trained with {loss}{advantage}")
    one = "Everything else is shared: base model, prompts, rollout settings, optimiser, evaluation."
    return f"On {plan.base_model}, LoRA rank {plan.lora_rank}: {'; '.join(parts)}. {one}"


def _role(arm: Arm) -> str:
    return f"the {arm.role}" if arm.role != "other" else "neither treatment nor baseline"


def _loss(loss: Loss) -> str:
    if loss.kind == "preference":
        return f"the preference loss (DPO, right against wrong completions, beta {loss.beta:g} against the base model)"
    ending = "summed over loss tokens, relative to the sampler's probabilities"
    cap = "no truncation of r" if loss.truncation is None else f"r truncated at {loss.truncation:g}"
    if loss.eps is not None:
        bounds = f"[{1 - loss.eps:g}, {1 + loss.eps:g}]"
        penalty = "" if loss.kl_coefficient is None else f", KL penalty {loss.kl_coefficient:g}"
        return f"the ratio-clipped loss (r clipped to {bounds}, {ending}, {cap}{penalty})"
    name = {
        "binary_tv": "binary total variation |pi - mu|",
        "binary_kl": "binary KL(mu || pi)",
        "topk_tv": f"total variation over {_candidates(loss)}",
        "topk_kl": f"KL(mu || pi) over {_candidates(loss)}",
    }.get(loss.divergence or "", "divergence")
    return (
        f"the divergence-masked loss (a token is dropped where {name} exceeds {loss.delta:g} in the direction that "
        f"its advantage pushes; {loss.form} form, {ending}, {cap})"
    )


def _advantage(plan: Plan, arm: Arm) -> str:
    if arm.advantage is None:
        return ""
    found = plan.advantages[arm.advantage]
    return (
        f" and advantages from a critic (capacity {found.critic.capacity}, gamma {found.discount:g}, lambda "
        f"{found.decay:g}, normalisation {found.normalization})"
    )


def _candidates(loss: Loss) -> str:
    return f"the sampler's {loss.top_k} most probable tokens, the sampled one and the rest together"


def _trained(plan: Plan) -> str:
    rollout, optimizer = plan.rollout, plan.optimizer
    clip = (
        "no gradient clipping"
        if optimizer.grad_clip_norm == 0
        else f"gradient norm at most {optimizer.grad_clip_norm:g}"
    )
    adam = "AdamW without weight decay, which is Adam" if optimizer.weight_decay == 0 else "AdamW"
    steps = rollout.rollout_batches * rollout.updates_per_batch
    return (
        f"{rollout.rollout_batches} rollout batches of {rollout.groups_per_batch} prompts x {rollout.group_size} "
        f"samples (temperature {rollout.temperature:g}, at most {rollout.max_tokens} tokens, "
        f"renderer {rollout.renderer}), "
        f"{_count(rollout.updates_per_batch, 'update')} on each, so {steps} optimiser steps an arm. "
        f"{_group_means(plan)}{adam}: learning rate {optimizer.learning_rate:g}, beta "
        f"{optimizer.beta1:g} and {optimizer.beta2:g}, eps {optimizer.eps:g}, weight decay "
        f"{optimizer.weight_decay:g}, {clip}."
    )


def _group_means(plan: Plan) -> str:
    """Say which arms have the reward minus the group's mean as their advantage."""
    by_group = {
        arm.condition: arm.advantage is None and plan.losses[arm.loss].kind != "preference" for arm in plan.arms
    }
    if all(by_group.values()):
        return "The advantage is the reward minus the group's mean. "
    named = [name for name, is_so in by_group.items() if is_so]
    return f"The advantage of {' and '.join(named)} is the reward minus the group's mean. " if named else ""


def _before(plan: Plan) -> str:
    required = [
        name for name in ("correctness", "restoration", "feasibility") if getattr(plan.preflights, name).required
    ]
    preflights = (
        f"Preflights that must have passed: {', '.join(required)}." if required else "No preflight is required."
    )
    gate = plan.activation_gate
    if not gate.applicable:
        return f"{preflights} No activation gate applies: {gate.reason}"
    checks = "; ".join(_check(check) for check in gate.checks)
    return f"{preflights} A pilot of {gate.pilot_steps} steps must show: {checks}. Why: {gate.reason}"


def _check(check: Check) -> str:
    if check.one_of:
        limit = f"one of {', '.join(check.one_of)}"
    elif check.min is None or check.max is None:
        limit = f"at most {check.max:g}" if check.min is None else f"at least {check.min:g}"
    else:
        limit = f"exactly {check.min:g}" if check.min == check.max else f"from {check.min:g} to {check.max:g}"
    where = {None: "", "all": "; all arms"}.get(check.arm, f"; {check.arm} arm")
    update = "" if check.update is None else f"; update {check.update}, counted from 0"
    return f"{check.metric} {limit} ({check.measures}{where}{update})"


def _proof(plan: Plan) -> str:
    rule, evaluation = plan.decision_rule, plan.evaluation
    decoding = "greedily" if evaluation.temperature == 0 else f"at temperature {evaluation.temperature:g}"
    samples = "one answer" if evaluation.samples_per_item == 1 else f"{evaluation.samples_per_item} answers"
    several = {
        "all": "all criteria must be validated",
        "holm": "Holm's procedure shares alpha among the criteria",
    }[rule.combine]
    many = f" There are {len(rule.criteria)} criteria; {several}." if len(rule.criteria) > 1 else ""
    return (
        f"{plan.primary_endpoint}: each final checkpoint answers the same {plan.task.test_items} test items {decoding} "
        f"({samples} an item, at most {evaluation.max_tokens} tokens, grader {evaluation.grader}). The verdict comes "
        f"from one {100 * (1 - rule.alpha):g}% interval by {rule.method} (alpha {rule.alpha:g}). "
        f"Estimand: {rule.estimand}.{many}"
    )


def _verdicts(criterion: Criterion) -> str:
    floor = -criterion.margin if criterion.floor is None else criterion.floor
    tie = (
        "tie is not registered"
        if criterion.band is None
        else f"tie: the whole interval lies inside [{-criterion.band:+g}, {criterion.band:+g}]"
    )
    weights = " ".join(f"{weight:+g} {role}" for role, weight in criterion.weights.items())
    return (
        f"With [L, U] the interval of {criterion.metric} ({weights}), first match wins. "
        f"validated: L > {_signed(criterion.margin)}. refuted: U < {_signed(floor)}. {tie}. Otherwise inconclusive. "
        "void: a required gate or preflight failed or is open, the pairing broke, or the plan changed after sealing."
    )


def _signed(value: float) -> str:
    return f"{value:+g}" if value else "0"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _scope(plan: Plan) -> str:
    if plan.decision_rule.unit == "training_seeds":
        seeds = len(plan.decision_rule.seeds)
        return f"The unit is the training seed ({seeds} an arm); the claim is about this training, on this task."
    return (
        "The unit is the test item, for fixed checkpoints: the claim is about these checkpoints and items like these, "
        "not about what another training seed would give."
    )


def _legacy_compared(plan: LegacyPlan) -> str:
    if isinstance(plan, PlanV2):
        arms = "; ".join(
            f"{arm.name}: loss {arm.loss}, seed {arm.seed}, learning rate {arm.lr:g}, "
            f"{_count(arm.updates_per_batch, 'update')} a batch"
            for arm in plan.arms
        )
        return f"On {plan.base_model}: {arms}. Baseline, in the plan's words: {plan.baseline}"
    return f"On {plan.base_model}. Baseline, in the plan's words: {plan.baseline}"


def _legacy_trained(plan: LegacyPlan) -> str:
    return (
        f"LoRA rank {plan.lora_rank}, {plan.steps} steps of batch size {plan.batch_size} on {plan.dataset.name} "
        f"({plan.dataset.n_examples} items), optimiser {plan.optimizer.name} at {plan.optimizer.lr:g}. "
        f"In the plan's words: {' '.join(plan.method.split())}"
    )


def _legacy_proof(plan: LegacyPlan) -> str:
    measured = f"{plan.eval.metric} on {plan.eval.benchmark}, {plan.eval.n_examples} items."
    if not isinstance(plan, PlanV2):
        return f"{measured} No decision rule is registered. In the plan's words: {plan.success_criterion}"
    rule = plan.decision_rule
    limits = "; ".join(f"{criterion.id}: validated if L > {_signed(criterion.margin)}" for criterion in rule.criteria)
    width = ""
    if rule.method == "paired_hoeffding":
        half = hoeffding_half_width(plan.eval.n_examples, rule.alpha)
        width = f" The interval's half-width is {half:.4f} for every outcome."
    return (
        f"{measured} One interval by {rule.method}, alpha {rule.alpha:g}. {limits}.{width} Estimand: {rule.estimand}. "
        f"In the plan's words: {plan.success_criterion}"
    )


def _legacy_runnable(plan: LegacyPlan) -> str:
    version = 2 if isinstance(plan, PlanV2) else 1
    return (
        f"No: this is plan format {version}, which says in prose what a run needs as fields. The findings list each "
        "field; a format-3 plan that has them, and names this one under `supersedes`, can run."
    )
