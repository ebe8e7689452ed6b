"""The activation gate: did the pilot show that the treatment was really active?"""

from typing import TYPE_CHECKING

from analysis.plan.model import Check as PlannedCheck
from analysis.plan.model import Plan
from audits.engine.check import CheckReport, Limit, combine
from audits.engine.completeness import check_steps
from audits.engine.judge import Question, answer
from audits.engine.metric import load_metric
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
            checks.extend(answer(question) for question in _questions(connection, run, plan, planned))
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


def _questions(connection: "duckdb.DuckDBPyConnection", run: Run, plan: Plan, planned: PlannedCheck) -> list[Question]:
    metric = load_metric(planned.metric)
    role = planned.arm or metric.header["arm"]
    roles = ("treatment", "baseline", "other") if role == "all" else (role,)
    return [
        Question(
            connection=connection,
            run=run,
            metric=metric,
            parameters=loss_parameters(plan),
            arm=arm,
            update=metric.default_update if planned.update is None else planned.update,
            limit=Limit(planned.min, planned.max, tuple(planned.one_of) if planned.one_of else None),
            measures=planned.measures,
        )
        for wanted in roles
        for arm in plan.conditions(wanted)
    ]
