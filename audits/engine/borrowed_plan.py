"""A plan held against a run that carries none: its arms are taken by role, as an import names them."""

from analysis.errors import AuditError
from analysis.plan.model import Plan
from audits.store.reader import Run


def plan_for(run: Run, plan: Plan) -> Plan:
    """Return the plan with the conditions and seeds of the run's arms in the place of its own, role by role.

    A role that the run does not have keeps the plan's arms, whose evidence is then missing.

    Args:
        run: without a sealed plan.
        plan: which arms there are, what their losses are, and the gate.

    Raises:
        AuditError: the run carries its own plan, or none of its arms has a role that the plan has.
    """
    if run.sealed is not None:
        raise AuditError(f"{run.path}: a plan is sealed in this run, and no other is held against it")
    roles = {record.role for record in run.manifest.arms} & {arm.role for arm in plan.arms} - {"other"}
    if not roles:
        names = ", ".join(f"{record.arm} ({record.role})" for record in run.manifest.arms)
        raise AuditError(
            f"{run.path}: has the arms {names}, and a gate speaks of baseline and treatment. Import it again with "
            "--arm baseline=… or --arm treatment=…"
        )
    arms = []
    for arm in plan.arms:
        records = [record for record in run.manifest.arms if record.role == arm.role]
        if arm.role not in roles:
            arms.append(arm)
        elif not any(made.role == arm.role for made in arms):
            arms += [arm.model_copy(update={"name": f"{r.arm}_seed{r.seed}", "condition": r.arm, "seed": r.seed})
                     for r in records]  # fmt: skip
    return plan.model_copy(update={"arms": arms})
