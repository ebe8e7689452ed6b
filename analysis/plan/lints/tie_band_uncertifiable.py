"""The tie band is narrower than the interval that must fit inside it.

A tie is certified when the whole interval lies in [-band, band], which needs a half-width of at most the band.
For paired Hoeffding the half-width is known before the run; below it the verdict `tie` can never be given. For
narrower methods it depends on the discordance: stated is the largest one at which a true gap of 0 is certified
with probability 80 %, by exact enumeration with the Bonett-Price interval, which is as narrow as any method here.
"""

import math
from collections.abc import Iterator
from functools import lru_cache

from analysis.plan.finding import Finding, LintInfo
from analysis.plan.parse import AnyPlan
from analysis.plan.rule import Registered, registered
from analysis.power import bonett_price_interval, hoeffding_items, largest_certifiable_discordance

LINT = LintInfo(severity="error", formats=(3,))
TARGET = 0.8
# Two systems rarely disagree on more than this share; a band that holds up to it needs no remark.
ORDINARY_DISCORDANCE = 0.2


def findings(plan: AnyPlan) -> Iterator[Finding]:
    """Yield a finding for each band that the registered method can never, or seldom, certify."""
    for rule in registered(plan):
        if rule.band is None:
            continue
        half = rule.hoeffding_half_width
        if rule.method == "paired_hoeffding" and rule.band < half:
            enough = math.ceil(1e4 * half) / 1e4
            items = hoeffding_items(rule.band, rule.alpha, rule.spread)
            yield Finding(
                f"{rule.path}.band",
                f"a tie within {100 * rule.band:g} points can never be certified at n={rule.n} under "
                f"paired_hoeffding: its half-width is always {half:.4f}{_narrower(rule)}",
                f"Take at least {items} items, a band of at least {enough:.4f}, or a narrower method.",
            )
        elif rule.method != "paired_hoeffding" and rule.right_or_wrong and _limit(rule) < ORDINARY_DISCORDANCE:
            yield Finding(
                f"{rule.path}.band",
                f"a tie within {100 * rule.band:g} points at n={rule.n}{_narrower(rule)}",
                "Expect `inconclusive` where the arms disagree more often, or take more items.",
                severity="note",
            )


@lru_cache(maxsize=64)
def _limit(rule: Registered) -> float:
    band = rule.band or 0.0
    return largest_certifiable_discordance(bonett_price_interval(rule.alpha), rule.n, band, TARGET) or 0.0


def _narrower(rule: Registered) -> str:
    if not rule.right_or_wrong:
        return ""
    limit = _limit(rule)
    if limit == 0.0:
        return "; no narrower method certifies it either"
    return (
        f"; a narrower method certifies it only below about {100 * limit:.0f}% discordant items "
        f"(true gap 0, probability {TARGET:.0%}, Bonett-Price interval, exact enumeration)"
    )
