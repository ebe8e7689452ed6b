"""The activation gate: did the pilot show that the treatment was really active?"""

import datetime
from collections.abc import Iterator

from analysis.plan.model import Check as PlannedCheck
from analysis.plan.model import Plan
from audits.engine.ask import answer_all
from audits.engine.audit import audit_ids
from audits.engine.check import Check, CheckReport, Limit, combine
from audits.engine.completeness import check_steps
from audits.engine.evidence import leave_evidence
from audits.engine.executors import LOCAL, Engine
from audits.engine.judge import Question, cannot_ask
from audits.engine.metric import Metric, load_metric
from audits.engine.waivers import apply_waivers
from audits.engine.watch import watch_asks, watched_metrics
from audits.store.policy import read_waivers
from audits.store.reader import Run


def evaluate_gate(
    run: Run, plan: Plan, *, engine: Engine = LOCAL, today: datetime.date | None = None, evidence: bool = False
) -> CheckReport:
    """Evaluate the plan's activation gate on the logs of a run.

    Args:
        run: the pilot, or any run with a token log.
        plan: whose gate; usually the plan sealed in the run.
        engine: where the scans run.
        today: the day on which a waiver must not have expired; default the day of the call, UTC.
        evidence: leave the rows behind each failing check in the run.

    Raises:
        AuditError: the gate names an unknown metric or threshold, or a file or the policy of the run is damaged.
    """
    gate = plan.activation_gate
    if not gate.applicable:
        return CheckReport(str(run.path), "not_applicable", (), (f"the plan has no gate: {gate.reason}",))
    n_steps = planned_steps(run.manifest.kind, plan)
    asked = [found for planned in gate.checks for found in questions_of(run, plan, planned)]
    seeds = {arm.condition: seeds_of(plan, arm.condition) for arm in plan.arms}
    watched = watch_asks(run, watched_metrics(in_gate=True), seeds, loss_parameters(plan), n_steps)
    questions = [found for found in asked if isinstance(found, Question)]
    answered = answer_all(run, [*questions, *watched], engine)
    if evidence:
        answered[: len(questions)] = leave_evidence(run, list(zip(questions, answered, strict=False)))
    answers = iter(answered)
    checks = [check_steps(run, plan, n_steps)]
    checks += [next(answers) if isinstance(found, Question) else found for found in asked]
    checks += answers
    waivers = [waiver for waiver in read_waivers(run.path) if waiver.check not in audit_ids()]
    waived, notes = apply_waivers(checks, waivers, today or datetime.datetime.now(datetime.UTC).date())
    return CheckReport(str(run.path), combine(check.status for check in waived), tuple(waived), (*run.notes, *notes))


def planned_steps(kind: str, plan: Plan) -> int:
    """Return the rollout steps of each seed: of a pilot the gate's, of any other kind of run all planned ones."""
    return plan.activation_gate.pilot_steps if kind == "pilot" else plan.rollout.rollout_batches


def loss_parameters(plan: Plan) -> dict[str, str]:
    """Return the thresholds of the plan's losses as SQL text.

    `eps` is of a ratio clip; `divergence` and `delta` of a mask by the sampled token's probability, `topk_divergence`
    and `topk_delta` of one by the sampler's most probable tokens: they are read from different tables.

    A threshold comes from the role whose rule it is (`delta` from the treatment, `eps` from the baseline), and
    from another arm only where that role has no such loss.
    """
    parameters: dict[str, str] = {}
    order = {"treatment": 0, "baseline": 1, "other": 2}
    arms = sorted(plan.arms, key=lambda arm: order[arm.role])
    for arm in arms:
        loss = plan.losses[arm.loss]
        prefix = "" if loss.top_k is None else "topk_"
        if loss.kind == "divergence_mask" and f"{prefix}delta" not in parameters:
            parameters |= {f"{prefix}divergence": str(loss.divergence), f"{prefix}delta": repr(loss.delta)}
    for arm in sorted(arms, key=lambda arm: arm.role != "baseline"):
        loss = plan.losses[arm.loss]
        if loss.kind == "ratio_clip":
            parameters.setdefault("eps", repr(loss.eps))
    return parameters


def questions_of(run: Run, plan: Plan, planned: PlannedCheck) -> Iterator[Question | Check]:
    """Yield what a planned check asks of the run, one question an arm, or the check that no run can answer.

    Raises:
        AuditError: the plan names an unknown metric or threshold.
    """
    metric = load_metric(planned.metric)
    parameters = loss_parameters(plan)
    limit = Limit(planned.min, planned.max, tuple(planned.one_of) if planned.one_of else None)
    fault = check_fault(plan, planned)
    if fault:
        yield cannot_ask(metric, parameters, limit, planned.measures, fault)
        return
    for arm in _arms(plan, planned, metric):
        yield Question(
            run=run,
            metric=metric,
            parameters=parameters,
            arm=arm,
            seeds=seeds_of(plan, arm),
            n_steps=planned_steps(run.manifest.kind, plan),
            update=metric.default_update if planned.update is None else planned.update,
            limit=limit,
            measures=planned.measures,
        )


def seeds_of(plan: Plan, condition: str) -> tuple[int, ...]:
    """Return the training seeds that the plan gives an arm."""
    return tuple(arm.seed for arm in plan.arms if arm.condition == condition)


def check_fault(plan: Plan, planned: PlannedCheck) -> str | None:
    """Return why a planned check has no answer in any run, None where it has one.

    Raises:
        AuditError: the plan names an unknown metric or threshold.
    """
    metric = load_metric(planned.metric)
    metric.fill("".join(metric.blocks.values()), loss_parameters(plan))
    if not _arms(plan, planned, metric):
        return f"the check is on the {planned.arm or metric.header['arm']} arm, and no arm of the plan has that role"
    if planned.update is not None and metric.default_update is None and metric.table != "tokens":
        return f"the check is on update {planned.update}, and {metric.id} is a figure of the whole rollout batch"
    if metric.header["unit"] == "name" and not planned.one_of:
        return f"the check has min or max, and {metric.id} is a name: it needs one_of"
    return None


def _arms(plan: Plan, planned: PlannedCheck, metric: Metric) -> list[str]:
    role = planned.arm or metric.header["arm"]
    roles = ("treatment", "baseline", "other") if role == "all" else (role,)
    return [arm for wanted in roles for arm in plan.conditions(wanted)]
