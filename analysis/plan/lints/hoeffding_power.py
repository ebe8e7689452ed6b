"""What the registered paired Hoeffding interval can and cannot show with this many items.

Its half-width is the same for every outcome, so the smallest gap that it can validate is known before the run.
The power is computed exactly, by enumerating the trinomial law of the discordant items.
"""

from collections.abc import Iterator
from functools import lru_cache

from analysis.plan.finding import Finding, LintInfo
from analysis.plan.parse import AnyPlan
from analysis.plan.rule import Registered, registered
from analysis.power import hoeffding_interval, minimal_detectable_gap

LINT = LintInfo(severity="note", formats=(2, 3))
TARGET = 0.8
DISCORDANCES = (0.05, 0.10, 0.20)


def findings(plan: AnyPlan) -> Iterator[Finding]:
    """Yield the half-width and the detectable gap of each criterion."""
    for rule in registered(plan):
        if rule.method != "paired_hoeffding":
            continue
        yield Finding(
            rule.path,
            f"at n={rule.n} a paired Hoeffding interval has half-width {rule.hoeffding_half_width:.4f}"
            + (_power(rule) if rule.right_or_wrong else ""),
            "Accept that smaller gaps end as inconclusive, add items, or register a narrower method "
            "(`audit methods`, `audit power`).",
        )


@lru_cache(maxsize=64)
def _power(rule: Registered) -> str:
    interval = hoeffding_interval(rule.alpha)
    gaps = {share: minimal_detectable_gap(interval, rule.n, share, TARGET, rule.margin) for share in DISCORDANCES}
    reached = {share: gap for share, gap in gaps.items() if gap is not None}
    never = " and ".join(f"{share:.0%}" for share in gaps if share not in reached)
    if not reached:
        return f" and never reaches {TARGET:.0%} power at a discordance of {never}"
    span = sorted({f"{100 * gap:.1f}" for gap in reached.values()}, key=float)
    gap_text = f"{span[0]} to {span[-1]}" if len(span) > 1 else span[0]
    shares = [f"{100 * share:.0f}" for share in reached]
    share_text = f"{shares[0]} to {shares[-1]}" if len(shares) > 1 else shares[0]
    return (
        f" and reaches {TARGET:.0%} power only for a true gap of {gap_text} points (discordance {share_text}%"
        + (f"; never at {never}" if never else "")
        + ")"
    )
