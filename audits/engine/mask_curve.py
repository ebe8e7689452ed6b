"""What a kind of rule would have taken away over a range of thresholds, on every update of every arm."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import get_args

from analysis.plan.model import Plan
from audits.engine.counterfactual import CURVE_THRESHOLDS, Rule, RuleAsk, RuleKind, RuleShare, rules_of
from audits.engine.drift import arms_of
from audits.engine.executors import LOCAL, Engine
from audits.engine.measure import Measurement, measure_all
from audits.engine.passes import pass_text
from audits.store.reader import Run

_WITHOUT_PLAN: tuple[RuleKind, ...] = ("binary_tv", "ratio")


@dataclass(frozen=True)
class MaskCurve:
    """One kind of rule over thresholds.

    Attributes:
        planned: thresholds of the plan's losses of this kind, rising; empty without a plan.
        shares: by arm, update and threshold.
        sql: a query for `audit sql` that gives all of it again.
    """

    kind: RuleKind
    planned: tuple[float, ...]
    shares: tuple[RuleShare, ...]
    sql: str


def mask_curves(run: Run, plan: Plan | None, engine: Engine = LOCAL) -> tuple[MaskCurve, ...]:
    """Return a curve for each kind of rule that the plan's losses have, masks first; of both kinds without a plan.

    Args:
        run: the run; without a token log the result is empty.
        plan: its thresholds are part of the curves.
        engine: where the scan runs.

    Raises:
        AuditError: a file of the run is damaged.
    """
    arms = arms_of(run)
    if not arms:
        return ()
    planned = _planned(plan)
    asked = {
        kind: [RuleAsk(arm, Rule(kind, at)) for arm in arms for at in sorted({*CURVE_THRESHOLDS, *own})]
        for kind, own in planned.items()
    }
    # One call: all kinds share the scan.
    measured = iter(measure_all(run, [own.request for asks in asked.values() for own in asks], engine))
    return tuple(
        MaskCurve(kind, planned[kind], tuple(_shares([(own, next(measured)) for own in asks])), _query(asks))
        for kind, asks in asked.items()
    )


def _planned(plan: Plan | None) -> Mapping[RuleKind, tuple[float, ...]]:
    if plan is None:
        return dict.fromkeys(_WITHOUT_PLAN, ())
    rules = rules_of(plan)
    found = {kind: tuple(sorted(rule.threshold for rule in rules if rule.kind == kind)) for kind in get_args(RuleKind)}
    return {kind: thresholds for kind, thresholds in found.items() if thresholds}


def _shares(asked: list[tuple[RuleAsk, Measurement]]) -> Iterator[RuleShare]:
    updates = sorted({step.update for _, found in asked for step in found.steps if step.update is not None})
    for arm in dict.fromkeys(own.arm for own, _ in asked):
        for update in updates:
            for own, found in asked:
                share = own.share(found, update) if own.arm == arm else None
                if share is not None:
                    yield share


def _query(asked: list[RuleAsk]) -> str:
    request = asked[0].request
    # The rule's own text, with the column of thresholds in the place of its number.
    counted = request.metric.fill("{counted}", {name: _column(name, text) for name, text in request.parameters.items()})
    thresholds = dict.fromkeys(repr(own.rule.threshold) for own in asked)
    return pass_text("rule_curve").format(counted=counted, thresholds=", ".join(thresholds))


def _column(name: str, text: str) -> str:
    return "threshold" if name in ("delta", "eps") else text
