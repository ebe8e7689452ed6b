"""The decision rule names a method that does not exist, or one that cannot answer the rule's question.

Found after the full run, such a rule costs the run: the plan is sealed, and no verdict can be had from it.
"""

from collections.abc import Iterator

from analysis.errors import AuditError
from analysis.paired.methods import load_method, method_ids
from analysis.plan.finding import Finding, LintInfo
from analysis.plan.model import Plan
from analysis.plan.parse import AnyPlan

LINT = LintInfo(severity="error", formats=(3,))
_MEND = "`audit methods` lists the methods with what each can answer."


def findings(plan: AnyPlan) -> Iterator[Finding]:
    """Yield what stands between the rule and a verdict: method, unit, seed, scores, metric and training seeds."""
    if not isinstance(plan, Plan):
        return
    rule = plan.decision_rule
    try:
        method = load_method(rule.method)
    except AuditError as error:
        yield Finding("decision_rule.method", error.message, _MEND)
        return
    if method.unit != rule.unit:
        fitting = ", ".join(method_ids(rule.unit))
        message = f"{method.id} answers for unit {method.unit}, the rule claims {rule.unit}"
        yield Finding("decision_rule.method", message, f"Register one of {fitting}, or the other unit.")
    if method.info.seed == "always" and rule.resampling_seed is None:
        yield Finding("decision_rule.resampling_seed", f"{method.id} draws and needs a registered seed", "Add one.")
    for number, criterion in enumerate(rule.criteria):
        path = f"decision_rule.criteria[{number}]"
        if criterion.metric != plan.evaluation.metric:
            message = (
                f"the run scores {plan.evaluation.metric!r} only: there will be no number for {criterion.metric!r}"
            )
            yield Finding(f"{path}.metric", message, "Name the evaluation's metric in both places.")
        if method.info.scores == "binary" and criterion.bounds != (0.0, 1.0):
            message = f"{method.id} takes right/wrong scores, and these bounds are {list(criterion.bounds)}"
            yield Finding(f"{path}.bounds", message, _MEND)
    weighed = {role for criterion in rule.criteria for role, weight in criterion.weights.items() if weight}
    trained = {arm.seed for arm in plan.arms if arm.role in weighed}
    if set(rule.seeds) != trained:
        message = (
            f"the rule uses seeds {sorted(set(rule.seeds))}, and the arms it weighs are trained with {sorted(trained)}"
        )
        yield Finding("decision_rule.seeds", message, "Use every seed that is trained: a seed left out is a choice.")
