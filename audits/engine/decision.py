"""What a decision is: the verdict, the intervals it rests on, and what speaks against it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from analysis.paired.interval import Guarantee
from analysis.paired.sample import PairedCounts
from audits.engine.check import Check, CheckReport

_VOTE = re.compile(r"majority_of_([1-9][0-9]{0,8})")


@dataclass(frozen=True)
class CriterionResult:
    """One criterion: its interval and how the lattice reads it.

    Attributes:
        bounds: smallest and largest possible difference of one item.
        mcnemar_exact: two-sided exact p-value of no difference, beside the interval; None without counts.
        mcnemar_mid_p: the same with half of the observed table's probability.
        contrast: the difference in words, "dppo_seed0 minus grpo_seed0".
        weights: weight of each role in the difference.
        counts: the 2 x 2 table of right/wrong scores, where one arm is taken from another; its "treatment" is the
            first arm of the contrast and its "baseline" the second.
    """

    id: str
    metric: str
    verdict: str
    estimate: float
    lower: float
    upper: float
    margin: float
    floor: float
    band: float | None
    p_value: float | None
    bounds: tuple[float, float]
    contrast: str
    counts: PairedCounts | None
    mcnemar_exact: float | None = None
    mcnemar_mid_p: float | None = None
    weights: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Exploratory:
    """An interval that was not registered: it is printed and never decides.

    Attributes:
        criteria: empty where the method has no interval for these data.
        verdict: what the rule would have said with this method; `none` without an interval.
        reason: why it has none.
    """

    method: str
    guarantee: Guarantee
    criteria: tuple[CriterionResult, ...]
    verdict: str = "none"
    reason: str | None = None


@dataclass(frozen=True)
class DecisionReport:
    """What `audit decide` prints. `verdict` is the registered method's, whatever else was asked for.

    Attributes:
        n_items: paired items; several samples of one item are one item.
        n_seeds: training seeds an arm where they are the unit (of the arm that has fewest), else None.
        unit: what the claim generalises over: `fixed_checkpoint_items` or `training_seeds`.
        asked: the method that was asked for beside the rule's own, None where none was.
        aggregations: by the name of an arm, how its source says one score was made of several answers
            (`majority_of_5`); an arm whose source states nothing is absent.
        integrity: the integrity audits that were asked beside it; no verdict weighs them. None where none was asked.
    """

    run: str
    verdict: str
    registered: bool
    method: str
    guarantee: Guarantee
    assumption: str
    alpha: float
    n_items: int
    baseline: str
    treatment: str
    unit: str
    estimand: str
    criteria: tuple[CriterionResult, ...]
    exploratory: tuple[Exploratory, ...] = ()
    reasons: tuple[str, ...] = ()
    plan_sha256: str | None = None
    options: tuple[tuple[str, str], ...] = ()
    recorded_look: bool = False
    n_seeds: int | None = None
    asked: str | None = None
    aggregations: Mapping[str, str] = field(default_factory=dict)
    integrity: CheckReport | None = None

    @property
    def exit_code(self) -> int:
        """0 validated, 1 refuted or tie, 4 inconclusive or void."""
        return {"validated": 0, "refuted": 1, "tie": 1}.get(self.verdict, 4)

    @property
    def against(self) -> tuple[Check, ...]:
        """The integrity audits that fail, of those that were asked."""
        return () if self.integrity is None else tuple(c for c in self.integrity.checks if c.status == "fail")

    @property
    def votes(self) -> dict[str, int]:
        """By the name of an arm, over how many answers an item it is a majority vote; arms that are none are absent."""
        found = {name: _VOTE.fullmatch(stated) for name, stated in self.aggregations.items()}
        return {name: int(match[1]) for name, match in found.items() if match is not None and int(match[1]) > 1}
