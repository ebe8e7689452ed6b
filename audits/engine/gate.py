"""The activation gate: did the pilot show that the treatment was really active?"""

from typing import TYPE_CHECKING

from analysis.plan.model import Check as PlannedCheck
from analysis.plan.model import Plan
from audits.engine.check import Check, CheckReport, Limit, combine
from audits.engine.completeness import check_steps
from audits.engine.judge import Question, answer, cannot_ask
from audits.engine.metric import Metric, load_metric
from audits.store.reader import Run, connect

if TYPE_CHECKING:
    import duckdb


def evaluate_gate(run: Run, plan: Plan) -> CheckReport:
    """Evaluate the plan's activation gate on the logs of a run.

    Args:
        run: the pilot, or any run with a token log.
        plan: whose gate; usually the plan sealed in the run.

    Raises:
        AuditError: the gate names an unknown metric or threshold, or a file of the run is damaged.
    """
    gate = plan.activation_gate
    if not gate.applicable:
        return CheckReport(str(run.path), "not_applicable", (), (f"the plan has no gate: {gate.reason}",))
    wanted = gate.pilot_steps if run.manifest.kind == "pilot" else plan.rollout.rollout_batches
    checks = [check_steps(run, plan, wanted)]
    with connect(run) as connection:
        for planned in gate.checks:
            checks.extend(_checks(connection, run, plan, planned, wanted))
    return CheckReport(str(run.path), combine(check.status for check in checks), tuple(checks), run.notes)


def loss_parameters(plan: Plan) -> dict[str, str]:
    """Return the thresholds of the plan's losses as SQL text: `eps`, `delta`, `divergence`.

    A threshold comes from the role whose rule it is (`delta` from the treatment, `eps` from the baseline), and
    from another arm only where that role has no such loss.
    """
    parameters: dict[str, str] = {}
    order = {"treatment": 0, "baseline": 1, "other": 2}
    arms = sorted(plan.arms, key=lambda arm: order[arm.role])
    for arm in arms:
        loss = plan.losses[arm.loss]
        if loss.kind == "divergence_mask" and "delta" not in parameters:
            parameters |= {"divergence": str(loss.divergence), "delta": repr(loss.delta)}
    for arm in sorted(arms, key=lambda arm: arm.role != "baseline"):
        loss = plan.losses[arm.loss]
        if loss.kind == "ratio_clip":
            parameters.setdefault("eps", repr(loss.eps))
    return parameters


def _checks(
    connection: "duckdb.DuckDBPyConnection", run: Run, plan: Plan, planned: PlannedCheck, n_steps: int
) -> list[Check]:
    metric = load_metric(planned.metric)
    parameters = loss_parameters(plan)
    limit = Limit(planned.min, planned.max, tuple(planned.one_of) if planned.one_of else None)
    role = planned.arm or metric.header["arm"]
    roles = ("treatment", "baseline", "other") if role == "all" else (role,)
    arms = [arm for wanted in roles for arm in plan.conditions(wanted)]
    fault = _fault(metric, planned, arms, role)
    if fault:
        return [cannot_ask(metric, parameters, limit, planned.measures, fault)]
    update = metric.default_update if planned.update is None else planned.update
    return [
        answer(
            Question(
                connection=connection,
                run=run,
                metric=metric,
                parameters=parameters,
                arm=arm,
                seeds=tuple(item.seed for item in plan.arms if item.condition == arm),
                n_steps=n_steps,
                update=update,
                limit=limit,
                measures=planned.measures,
            )
        )
        for arm in arms
    ]


def _fault(metric: Metric, planned: PlannedCheck, arms: list[str], role: str) -> str | None:
    """Return why a planned check has no answer in any run; it must not vanish from the gate."""
    if not arms:
        return f"the check is on the {role} arm, and no arm of the plan has that role"
    if planned.update is not None and metric.default_update is None:
        return f"the check is on update {planned.update}, and {metric.id} is a figure of the whole rollout batch"
    if metric.header["unit"] == "name" and not planned.one_of:
        return f"the check has min or max, and {metric.id} is a name: it needs one_of"
    return None
