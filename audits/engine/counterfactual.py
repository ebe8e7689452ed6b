"""Counterfactual masks: what any loss's rule would have taken away on any arm's batches, from the log alone."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from analysis.errors import AuditError
from analysis.nearest import hint
from analysis.plan.model import Plan
from audits.engine.executors import LOCAL, Engine
from audits.engine.measure import measure_all
from audits.engine.metric import load_metric
from audits.engine.request import Request
from audits.store.reader import Run

RuleKind = Literal["binary_tv", "binary_kl", "ratio"]
CURVE_THRESHOLDS = (
    0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.125, 0.15, 0.175, 0.2, 0.25, 0.3, 0.4, 0.5,
)  # fmt: skip


@dataclass(frozen=True)
class Rule:
    """A rule that takes the gradient of some tokens away.

    Attributes:
        kind: `binary_tv` and `binary_kl` mask by divergence, `ratio` clips by the probability ratio.
        threshold: delta of a mask; eps of a clip, a distance from 1.
    """

    kind: RuleKind
    threshold: float

    def __str__(self) -> str:
        return f"{self.kind}={self.threshold:g}"


@dataclass(frozen=True)
class RuleShare:
    """What a rule would have taken away on one arm's log.

    Attributes:
        update: 0-based minibatch update that was looked at.
        share: mean over steps of the share of loss tokens; NaN where rows of the arm are no numbers.
        numerator: tokens taken away, all steps together.
        denominator: loss tokens, all steps together.
        steps_at_zero: steps in which no token was.
        steps: steps that were logged.
    """

    arm: str
    rule: Rule
    update: int
    share: float
    numerator: int
    denominator: int
    steps_at_zero: int
    steps: int


def parse_rule(text: str) -> Rule:
    """Return the rule of a text such as `binary_tv=0.15`.

    Raises:
        AuditError: no such kind, or the threshold is not a positive number.
    """
    kind, _, threshold = text.partition("=")
    kinds: tuple[RuleKind, ...] = get_args(RuleKind)
    for known in kinds:
        if kind == known:
            return Rule(known, _positive(text, threshold))
    raise AuditError(f"rule {text!r}: {kind!r} is none of {', '.join(kinds)}{hint(kind, kinds)}; write binary_tv=0.15")


def rules_of(plan: Plan) -> tuple[Rule, ...]:
    """Return the rules of the losses that the plan's arms train with, each once."""
    found: dict[Rule, None] = {}
    for arm in plan.arms:
        loss = plan.losses[arm.loss]
        if loss.kind == "divergence_mask" and loss.divergence in ("binary_tv", "binary_kl") and loss.delta is not None:
            found[Rule(loss.divergence, loss.delta)] = None
        elif loss.kind == "ratio_clip" and loss.eps is not None:
            found[Rule("ratio", loss.eps)] = None
    return tuple(found)


def rule_shares(
    run: Run, arms: Sequence[str], rules: Sequence[Rule], update: int, engine: Engine = LOCAL
) -> tuple[RuleShare, ...]:
    """Return what each rule would have taken away on each arm's batches, in one scan an arm.

    Args:
        run: with a token log.
        arms: conditions.
        rules: any rules, whatever the arms trained with.
        update: 0-based minibatch update; before the first there is no drift, and no rule can act on it.
        engine: where the scans run.

    Returns:
        One line an arm and rule; none for an arm without a row on the update.

    Raises:
        AuditError: a file is damaged.
    """
    asked = [(arm, rule) for arm in arms for rule in rules]
    found = measure_all(run, [_request(arm, rule, update) for arm, rule in asked], engine)
    shares = []
    for (arm, rule), measured in zip(asked, found, strict=True):
        if isinstance(measured.value, float):
            values = [step.value for step in measured.steps]
            shares.append(
                RuleShare(
                    arm, rule, update, math.nan if measured.invalid else measured.value, int(measured.numerator or 0),
                    measured.denominator, steps_at_zero=sum(value == 0 for value in values), steps=len(values),
                )
            )  # fmt: skip
    return tuple(shares)


def _request(arm: str, rule: Rule, update: int) -> Request:
    if rule.kind == "ratio":
        return Request(load_metric("grpo_clip_fraction"), {"eps": repr(rule.threshold)}, arm, update)
    parameters = {"divergence": rule.kind, "delta": repr(rule.threshold)}
    return Request(load_metric("dppo_masked_token_fraction"), parameters, arm, update)


def _positive(text: str, threshold: str) -> float:
    try:
        value = float(threshold)
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf"):
        raise AuditError(f"rule {text!r}: the threshold must be a positive number, as in binary_tv=0.15")
    return value
