"""Counterfactual masks: what any loss's rule would have taken away on any arm's batches, from the log alone."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from analysis.errors import AuditError
from analysis.nearest import hint
from analysis.plan.model import Plan
from audits.engine.measure import Measurement
from audits.engine.metric import load_metric
from audits.engine.request import Request

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


@dataclass(frozen=True, eq=False)
class RuleAsk:
    """One rule asked of one arm's log, every update."""

    arm: str
    rule: Rule

    @cached_property
    def request(self) -> Request:
        """What has to be measured."""
        if self.rule.kind == "ratio":
            metric, parameters = load_metric("grpo_clip_fraction"), {"eps": repr(self.rule.threshold)}
        else:
            metric = load_metric("dppo_masked_token_fraction")
            parameters = {"divergence": self.rule.kind, "delta": repr(self.rule.threshold)}
        return Request(metric, parameters, self.arm, by_update=True)

    def share(self, found: Measurement, update: int) -> RuleShare | None:
        """Return what the rule would have taken away on one 0-based update; None where the arm never executed it.

        Before the first update there is no drift, and no rule can act on it.
        """
        steps = [step for step in found.steps if step.update == update]
        if not steps:
            return None
        shares = [float(step.value) for step in steps]
        return RuleShare(
            self.arm,
            self.rule,
            update,
            share=math.nan if found.invalid else math.fsum(shares) / len(shares),
            numerator=int(sum(step.numerator or 0 for step in steps)),
            denominator=sum(step.denominator for step in steps),
            steps_at_zero=shares.count(0.0),
            steps=len(steps),
        )


def _positive(text: str, threshold: str) -> float:
    try:
        value = float(threshold)
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf"):
        raise AuditError(f"rule {text!r}: the threshold must be a positive number, as in binary_tv=0.15")
    return value
