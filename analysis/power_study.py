"""What a decision method can show with right/wrong scores: detectable gaps, power, ties and the items they need."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from analysis.count_regions import CountIntervals, first_true, tie_region, validated_region
from analysis.errors import AuditError
from analysis.paired.methods import DecisionMethod
from analysis.power import Region, bonett_price_interval, power, tie_power

MOST_ITEMS = 1_000_000
"""The search for a number of items ends here."""

ITEMS_SHARE = 5e-3
"""Items for a power are found to this share of them."""

BAND_STEP = 1e-4
"""Bands are found to this."""

_FIRST_STEP = 1.004
# Standard deviations of the losses to look at: less than 1e-6 and 1e-4 of the law lie outside.
_REACH = 5.0
_SHORT_REACH = 4.0


@dataclass(frozen=True)
class Setting:
    """What a claim would be decided by.

    Attributes:
        method: the decision method.
        n_items: number of test items.
        alpha: two-sided error probability.
        margin: `validated` above it, at least 0.
        band: `tie` inside [-band, band]; None for no tie.
        target: the power asked for.
        half_width: the half-width asked for; None for none.
        seed: the registered seed, for methods that draw.
    """

    method: DecisionMethod
    n_items: int
    alpha: float = 0.05
    margin: float = 0.0
    band: float | None = None
    target: float = 0.8
    half_width: float | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        for name in ("alpha", "target"):
            if not 0.0 < getattr(self, name) < 1.0:
                raise AuditError(f"--{name} {getattr(self, name):g}: it lies between 0 and 1")
        if not 1 <= self.n_items <= MOST_ITEMS:
            raise AuditError(f"--items {self.n_items}: from 1 to {MOST_ITEMS:,} items can be asked about")
        if not 0.0 <= self.margin < 1.0:
            raise AuditError(f"--margin {self.margin:g}: a margin is at least 0 and below 1")
        for name, value in (("band", self.band), ("half-width", self.half_width)):
            if value is not None and not 0.0 < value <= 1.0:
                raise AuditError(f"--{name} {value:g}: it is above 0 and at most 1")


@dataclass(frozen=True)
class GapPower:
    """The power at one gap: probability of `validated`, and the items at which it reaches the target.

    Both are None where the gap exceeds the discordance; `items` also where `MOST_ITEMS` are too few or the gap is
    not above the margin.
    """

    gap: float
    power: float | None
    items: int | None


@dataclass(frozen=True)
class TiePower:
    """Probability of `tie` at a true gap of 0, and the smallest band that reaches the target."""

    power: float
    smallest_band: float | None


@dataclass(frozen=True)
class Row:
    """What holds at one discordance.

    Attributes:
        discordance: true share of items that exactly one arm has right.
        half_width: of the interval at the expected counts under a gap of 0.
        detectable_gap: smallest true gap that is validated with the target's probability; None where none is.
        gaps: power at each gap asked about.
        tie: None where no band was asked about.
        items_for_half_width: fewest items whose half-width is at most the one asked for; None where none was.
        curve: (gap, power) points from 0 upwards, for a chart.
    """

    discordance: float
    half_width: float
    detectable_gap: float | None
    gaps: tuple[GapPower, ...] = ()
    tie: TiePower | None = None
    items_for_half_width: int | None = None
    curve: tuple[tuple[float, float], ...] = field(default=(), repr=False)


def study(setting: Setting, discordances: Sequence[float], gaps: Sequence[float] = (), points: int = 0) -> list[Row]:
    """Return what the method can show at each discordance.

    Args:
        setting: method and rule.
        discordances: true shares of discordant items, in (0, 1].
        gaps: true gaps at which the power, and the items for the target, are asked for.
        points: number of points of each curve; 0 for no curve.

    Raises:
        AuditError: a number is out of its range, or the method needs a seed and there is none.
    """
    for discordance in discordances:
        if not 0.0 < discordance <= 1.0:
            raise AuditError(f"--discordance {discordance:g}: a share of items above 0 and at most 1")
    for gap in gaps:
        if not 0.0 < gap <= 1.0:
            raise AuditError(f"--gap {gap:g}: a gap in accuracy above 0 and at most 1; 0.02 is two points")
    intervals = CountIntervals(setting.method, setting.n_items, setting.alpha, setting.seed)
    region = validated_region(intervals, setting.margin, (0, _losses(setting.n_items, max(discordances), 0.0)[1]))
    detectable = {share: region.smallest_gap(share, setting.target) for share in discordances}
    furthest = 1.4 * max((gap for gap in detectable.values() if gap is not None), default=max(discordances))
    return [
        Row(
            discordance=share,
            half_width=intervals.half_width(share),
            detectable_gap=detectable[share],
            gaps=tuple(_gap_power(setting, intervals, region, gap, share) for gap in gaps),
            tie=None if setting.band is None else _tie(setting, intervals, share, setting.band),
            items_for_half_width=_items_for_half_width(setting, share),
            curve=tuple((gap, region.probability(gap, share)) for gap in _curve_gaps(furthest, share, points)),
        )
        for share in discordances
    ]


def _curve_gaps(furthest: float, discordance: float, points: int) -> list[float]:
    """Return evenly spaced gaps from 0 that two systems of this discordance can have."""
    return [float(gap) for gap in np.linspace(0.0, min(furthest, discordance), points)]


def _losses(n_items: int, discordance: float, gap: float, deviations: float = _REACH) -> tuple[int, int]:
    """Return the smallest and the largest number of losses within so many standard deviations, and a few more."""
    chance = (discordance - gap) / 2.0
    reach = deviations * math.sqrt(n_items * chance * (1.0 - chance)) + 8.0
    return max(0, math.floor(n_items * chance - reach)), min(n_items, math.ceil(n_items * chance + reach))


def _gap_power(setting: Setting, intervals: CountIntervals, region: Region, gap: float, discordance: float) -> GapPower:
    if gap > discordance:
        return GapPower(gap, None, None)
    reached = region.probability(gap, discordance)
    return GapPower(gap, reached, _items_for_power(setting, gap, discordance, _wider(intervals, discordance)))


def _items_for_power(setting: Setting, gap: float, discordance: float, wider: float) -> int | None:
    """Return the items at which the power reaches the target, to a share of `ITEMS_SHARE`.

    Counts are whole, so that the power climbs like a saw: a few items more may fall short again by a little.
    """
    if gap <= setting.margin:
        return None

    def enough(n_items: int) -> bool:
        intervals = CountIntervals(setting.method, n_items, setting.alpha, setting.seed)
        region = validated_region(intervals, setting.margin, _losses(n_items, discordance, gap, _SHORT_REACH))
        return region.probability(gap, discordance) >= setting.target

    closed_form = bonett_price_interval(setting.alpha)

    def enough_by_closed_form(n_items: int) -> bool:
        return power(closed_form, n_items, gap, discordance, setting.margin) >= setting.target

    by_normal_law = math.ceil(8.0 * discordance / (gap - setting.margin) ** 2)
    guess = fewest_items(enough_by_closed_form, by_normal_law, ITEMS_SHARE)
    return None if guess is None else fewest_items(enough, math.ceil(guess * wider**2), ITEMS_SHARE)


def _items_for_half_width(setting: Setting, discordance: float) -> int | None:
    if setting.half_width is None:
        return None
    wanted = setting.half_width

    def enough(n_items: int) -> bool:
        intervals = CountIntervals(setting.method, n_items, setting.alpha, setting.seed)
        return intervals.half_width(discordance) <= wanted

    return fewest_items(enough, math.ceil(4.0 * discordance / wanted**2), 0.0)


def fewest_items(enough: Callable[[int], bool], guess: int, share: float) -> int | None:
    """Return the fewest items that are enough, to within a share of them; None where `MOST_ITEMS` are not.

    Args:
        enough: whether so many items are; once true it stays true, apart from a small saw.
        guess: where the search starts.
        share: 0 for the very number.
    """
    high, factor = min(max(guess, 1), MOST_ITEMS), _FIRST_STEP
    if enough(high):
        low = math.floor((high - 1) / factor)
        while low > 0 and enough(low):
            factor *= factor
            high, low = low, math.floor((low - 1) / factor)
    else:
        low, high = high, min(math.ceil((high + 1) * factor), MOST_ITEMS)
        while not enough(high):
            if high == MOST_ITEMS:
                return None
            factor *= factor
            low, high = high, min(math.ceil((high + 1) * factor), MOST_ITEMS)
    while high - low > max(1.0, share * high):
        middle = (low + high) // 2
        if enough(middle):
            high = middle
        else:
            low = middle
    return high


def _tie(setting: Setting, intervals: CountIntervals, discordance: float, band: float) -> TiePower:
    losses = _losses(setting.n_items, discordance, 0.0)

    def probability(width: float) -> float:
        return tie_region(intervals, width, losses).probability(0.0, discordance)

    def certified_by_closed_form(step: int) -> bool:
        return tie_power(closed_form, setting.n_items, discordance, step * BAND_STEP) >= setting.target

    closed_form, beyond = bonett_price_interval(setting.alpha), round(1.0 / BAND_STEP) + 1
    narrow = first_true(certified_by_closed_form, 1, beyond)
    guess = round(narrow * _wider(intervals, discordance))
    found = first_true(lambda step: probability(step * BAND_STEP) >= setting.target, 1, beyond, guess)
    return TiePower(probability(band), round(found * BAND_STEP, 4) if found < beyond else None)


def _wider(intervals: CountIntervals, discordance: float) -> float:
    """Return how many times wider than Bonett and Price's the interval is at the expected counts."""
    even = np.array(intervals.n_items * discordance / 2.0)
    lower, upper = bonett_price_interval(intervals.alpha)(intervals.n_items, even, even)
    return 2.0 * intervals.half_width(discordance) / float(upper - lower)
