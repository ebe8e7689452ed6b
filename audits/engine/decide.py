"""The decision on a run: pairing, seal, gate and preflights first, then the registered rule."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from analysis.errors import AuditError
from analysis.paired.mcnemar import mcnemar_exact, mcnemar_mid_p
from analysis.paired.methods import DecisionMethod, Unit, load_method, method_ids, proven_method_for
from analysis.paired.rule import Contrast, RuleVerdict
from analysis.paired.rule import decide as decide_rule
from analysis.plan.model import Criterion, DecisionRule, Plan
from audits.engine.check import CheckReport
from audits.engine.decision import CriterionResult, DecisionReport, Exploratory
from audits.engine.outcomes import ItemScores, arm_name, contrast_sample, load_item_scores
from audits.engine.standing import standing_of, unfinished
from audits.store.reader import Run

DEFAULT_METHOD = "paired_hoeffding"
DEFAULT_ALPHA = 0.05

_DEFAULT_ESTIMANDS: dict[Unit, str] = {
    "fixed_checkpoint_items": "mean difference in score on items like these, for the two sets of outcomes as they are",
    "training_seeds": "mean difference in score over training seeds like these",
}


@dataclass(frozen=True)
class RuleOptions:
    """What may be chosen on the command line where no plan is sealed; None keeps the default."""

    alpha: float | None = None
    margin: float | None = None
    floor: float | None = None
    band: float | None = None
    weights: Mapping[str, float] | None = None
    seed: int | None = None

    @property
    def given(self) -> list[str]:
        """Names of the options that were given."""
        return [name for name, value in vars(self).items() if value is not None]

    @property
    def as_typed(self) -> tuple[tuple[str, str], ...]:
        """The given options as they stand on a command line."""
        numbers = {name: repr(getattr(self, name)) for name in self.given if name != "weights"}
        if self.weights is not None:
            numbers["weights"] = ",".join(f"{role}={weight!r}" for role, weight in self.weights.items())
        return tuple((f"--{name}", value) for name, value in numbers.items())


def decide(
    run: Run, *, method: str | None = None, options: RuleOptions | None = None, gate: CheckReport | None = None
) -> DecisionReport:
    """Decide on a run by its plan's rule, or by the default rule where no plan is sealed in it.

    Args:
        run: a full, imported or pilot run with final evaluations.
        method: a decision method. Where a rule is registered, another method than its own is exploratory and
            changes neither verdict nor exit code.
        options: the rule's numbers, only where no plan is sealed.
        gate: the gate that allows the run, where `pilot_gate` gave it already; None evaluates it from the logs.

    Raises:
        AuditError: nothing to decide on, broken pairing (item ids are named), unknown method, or options against
            a sealed rule.
    """
    options = options or RuleOptions()
    if run.sealed is not None and options.given:
        raise AuditError(
            f"{run.path}: the rule is sealed in plan.json, so --{options.given[0]} cannot be chosen. "
            "`audit decide` without it gives the registered verdict"
        )
    registered = run.sealed is not None and run.manifest.kind == "full"
    rule = run.sealed.plan.decision_rule if run.sealed is not None else _default_rule(method, options)
    chosen = load_method(rule.method)
    asked = load_method(method) if method is not None and method != rule.method else None
    _refuse_other_unit(rule, chosen)
    if run.sealed is not None:
        _refuse_other_metrics(run, run.sealed.plan)
    roles = list(dict.fromkeys(role for criterion in rule.criteria for role in criterion.weights))
    items = load_item_scores(run, roles, rule.seeds if run.sealed is not None else None)
    result = _apply(rule, chosen, items)
    verdict, reasons = _standing(run, result, len(items.item_ids), gate)
    names = {role: arm_name(run, condition) for role, condition in items.conditions.items()}
    return DecisionReport(
        run=str(run.path),
        verdict=verdict,
        registered=registered,
        method=chosen.id,
        guarantee=chosen.info.guarantee,
        assumption=chosen.info.assumption,
        alpha=rule.alpha,
        n_items=len(items.item_ids),
        n_seeds=_n_seeds(result),
        baseline=names.get("baseline", ""),
        treatment=names.get("treatment", ""),
        unit=rule.unit,
        estimand=rule.estimand,
        criteria=_criteria(rule, result, names),
        exploratory=tuple(_exploratory(rule, beside, items, names) for beside in _beside(chosen, asked, result)),
        reasons=reasons,
        plan_sha256=run.sealed.sha256 if run.sealed is not None else None,
        options=options.as_typed,
        asked=None if asked is None else asked.id,
        aggregations=_aggregations(run, items.conditions, names),
    )


def _refuse_other_unit(rule: DecisionRule, method: DecisionMethod) -> None:
    """Refuse a method that generalises over another unit than the rule's claim."""
    if method.unit == rule.unit:
        return
    fitting = ", ".join(method_ids(rule.unit))
    if rule.unit == "training_seeds":
        raise AuditError(
            "the rule claims something about the training (unit training_seeds), and that needs a seed-level method: "
            f"{method.id} speaks of fixed checkpoints only, whatever another seed would give. Use one of: {fitting}"
        )
    raise AuditError(
        f"the rule speaks of fixed checkpoints (unit fixed_checkpoint_items), and {method.id} of training seeds: its "
        f"interval would answer another question. Register unit training_seeds, or use one of: {fitting}"
    )


def _aggregations(run: Run, conditions: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    """Return by the name of an arm what its source states of how one score was made of several answers."""
    stated = {arm.arm: arm.settings["aggregation"] for arm in run.manifest.arms if "aggregation" in arm.settings}
    return {names[role]: str(stated[arm]) for role, arm in conditions.items() if arm in stated}


def _n_seeds(result: RuleVerdict) -> int | None:
    """Return the training seeds an arm, of the arm that has fewest; None where seeds are not the unit."""
    seeds = [found.contrast.sample.by_seed for found in result.criteria]
    return min((scores.n_seeds for scores in seeds if scores is not None), default=None)


def _refuse_other_metrics(run: Run, plan: Plan) -> None:
    """Refuse a criterion on another figure than the evaluation's: the run holds one score an item."""
    for criterion in plan.decision_rule.criteria:
        if criterion.metric != plan.evaluation.metric:
            raise AuditError(
                f"{run.path}: criterion {criterion.id} is on {criterion.metric!r}, and the plan's evaluation scores "
                f"{plan.evaluation.metric!r} only: there is no number for it"
            )


def _refuse_non_finite(options: RuleOptions) -> None:
    numbers = {name: [getattr(options, name)] for name in ("alpha", "margin", "floor", "band")}
    numbers["weights"] = list((options.weights or {}).values())
    for name, values in numbers.items():
        for value in values:
            if value is not None and not math.isfinite(value):
                raise AuditError(f"--{name}: {value} is not a finite number")


def _default_rule(method: str | None, options: RuleOptions) -> DecisionRule:
    _refuse_non_finite(options)
    margin = options.margin or 0.0
    if options.band is not None and options.band <= 0:
        raise AuditError(f"--band {options.band:g}: a tie band is larger than 0")
    if options.alpha is not None and not 0 < options.alpha < 1:
        raise AuditError(f"--alpha {options.alpha:g}: alpha lies between 0 and 1")
    if margin < 0:
        raise AuditError(f"--margin {margin:g}: a margin is at least 0; swap the arms to ask the other question")
    if options.floor is not None and options.floor > margin:
        raise AuditError(
            f"--floor {options.floor:g} is above the margin {margin:g}: no interval could mean only one thing"
        )
    weights = dict(options.weights or {"treatment": 1.0, "baseline": -1.0})
    if abs(sum(weights.values())) > 1e-12 or not any(weights.values()):
        raise AuditError("--weights: the weights of a contrast sum to 0 and are not all 0")
    chosen = load_method(method or DEFAULT_METHOD)
    return DecisionRule(
        method=chosen.id,
        alpha=options.alpha or DEFAULT_ALPHA,
        unit=chosen.unit,
        estimand=_DEFAULT_ESTIMANDS[chosen.unit],
        seeds=[0],
        resampling_seed=options.seed,
        criteria=[
            Criterion(
                id="primary",
                metric="score",
                bounds=(0.0, 1.0),
                weights=weights,
                margin=margin,
                floor=options.floor,
                band=options.band,
            )
        ],
    )


def _apply(rule: DecisionRule, method: DecisionMethod, items: ItemScores) -> RuleVerdict:
    by_seed = rule.unit == "training_seeds"
    contrasts = [
        Contrast(
            id=criterion.id,
            sample=contrast_sample(items, criterion.weights, criterion.bounds, by_seed=by_seed),
            margin=criterion.margin,
            floor=criterion.floor,
            band=criterion.band,
        )
        for criterion in rule.criteria
    ]
    return decide_rule(contrasts, method=method, alpha=rule.alpha, combine=rule.combine, seed=rule.resampling_seed)


def _standing(run: Run, result: RuleVerdict, n_items: int, gate: CheckReport | None) -> tuple[str, tuple[str, ...]]:
    if run.sealed is None:
        return result.verdict, ("no plan is sealed in this run: the rule was not registered", *result.reasons)
    if run.manifest.kind == "pilot":
        return "inconclusive", ("pilot: a pilot is evaluated on validation items and decides nothing",)
    # run.json can be edited: whatever kind it names, a sealed plan's conditions hold.
    standing = standing_of(run, run.sealed, gate)
    if standing.void:
        return "void", standing.void
    if run.manifest.kind == "imported":
        imported = "imported: these outcomes were not made by a run of the sealed plan"
        return result.verdict, (imported, *standing.waived, *result.reasons)
    absent = unfinished(run, run.sealed.plan, n_items)
    verdict, reasons = ("inconclusive", absent) if absent else (result.verdict, result.reasons)
    return verdict, (*standing.waived, *reasons)


def _beside(chosen: DecisionMethod, asked: DecisionMethod | None, result: RuleVerdict) -> list[DecisionMethod]:
    """Return the methods to print beside the chosen one: what was asked for, and a proven one for an asymptotic."""
    beside = [] if asked is None else [asked]
    if chosen.info.guarantee == "asymptotic":
        proven = proven_method_for(result.criteria[0].contrast.sample)
        beside += [proven] if asked is None or asked.id != proven.id else []
    return beside


def _criteria(rule: DecisionRule, result: RuleVerdict, names: Mapping[str, str]) -> tuple[CriterionResult, ...]:
    return tuple(
        CriterionResult(
            id=criterion.id,
            metric=criterion.metric,
            verdict=found.verdict,
            estimate=found.interval.estimate,
            lower=found.interval.lower,
            upper=found.interval.upper,
            margin=criterion.margin,
            floor=0.0 - criterion.margin if criterion.floor is None else criterion.floor,
            band=criterion.band,
            p_value=found.interval.p_value,
            bounds=found.contrast.sample.bounds,
            contrast=_contrast(criterion, names),
            weights=criterion.weights,
            counts=(counts := found.contrast.sample.counts),
            mcnemar_exact=None if counts is None else mcnemar_exact(counts.only_treatment, counts.only_baseline),
            mcnemar_mid_p=None if counts is None else mcnemar_mid_p(counts.only_treatment, counts.only_baseline),
        )
        for criterion, found in zip(rule.criteria, result.criteria, strict=True)
    )


def _exploratory(
    rule: DecisionRule, method: DecisionMethod, items: ItemScores, names: Mapping[str, str]
) -> Exploratory:
    """Return a method's interval, or why it has none here: what was not registered never stops the decision."""
    try:
        _refuse_other_unit(rule, method)
        result = _apply(rule, method, items)
    except AuditError as error:
        return Exploratory(method.id, method.info.guarantee, (), reason=error.message)
    return Exploratory(method.id, method.info.guarantee, _criteria(rule, result, names), result.verdict)


def _contrast(criterion: Criterion, names: Mapping[str, str]) -> str:
    """Return the difference in words; a weight of 1 goes without saying."""
    parts: list[str] = []
    for role, weight in sorted(criterion.weights.items(), key=lambda pair: -pair[1]):
        factor = "" if abs(weight) == 1 else f"{abs(weight):g} times "
        sign = "" if not parts and weight > 0 else "plus " if weight > 0 else "minus "
        parts += [f"{sign}{factor}{names[role]}"] if weight else []
    return " ".join(parts)
