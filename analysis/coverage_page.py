"""The documentation page of enumerated coverage, made from the methods in the folder."""

from functools import cache

from analysis.coverage import Coverage, coverage, method_limits, plain_percentile_limits
from analysis.paired.methods import load_method, method_ids

SIZES = (10, 20, 50, 100)
ALPHAS = (0.05, 0.10)
PLAIN = "plain percentile bootstrap"
PLAIN_EXAMPLE = (50, 0.05, 0.010, 0.005)
"""Items, alpha, chance of a gain and of a loss: where a plain bootstrap does worst among ordinary evaluations."""

_ORDER = {"proven": 0, "conjectured": 1, "asymptotic": 2}

_HEAD = """\
# Coverage

How often each method's interval holds the true difference, on right/wrong scores. This page is made by
`RUNAUDIT_WRITE=1 make test-slow` (tests/analysis/test_coverage.py), which also checks it: about 3 minutes of one core.

Nothing is simulated. At each of 143 pairs of chances (that only the treatment, and that only the baseline, has an item
right; from {0, .002, .005, .01, .02, .03, .05, .08, .1, .15, .2, .3}, not both 0) the probabilities of all tables whose
interval holds the truth are added up. Most evaluations live at such small chances, and normal theory is worst there.

- **least**, **mean**: smallest and mean coverage of the limits over the 143 pairs.
- **short**: share of the pairs where the coverage is more than 0.01 below nominal.
- **guarded**: smallest coverage where an interval that may not decide (fewer than 10 discordant items, zero width)
  counts as covering: the verdict is then `inconclusive`, so nothing false is claimed.
- **half-width**: mean half-width. A method may be bought by width: Hoeffding's interval nearly always covers.

No proven method is below nominal. No conjectured one is on this grid, which proves nothing beyond it. Of a method that
draws, the orders under seed 1 are enumerated. The last row is the bootstrap as libraries give it, without a guard and
with infinitely many resamples.
"""


@cache
def coverage_of(method: str, n_items: int, alpha: float) -> Coverage:
    """Return the coverage of a method's id, or of `PLAIN`, over the grid; computed once."""
    if method == PLAIN:
        return coverage(plain_percentile_limits(n_items, alpha), alpha)
    return coverage(method_limits(load_method(method), n_items, alpha), alpha)


def coverage_page() -> str:
    """Return the page in Markdown: a table for each number of items and alpha, the strongest guarantee first."""
    guarantees = {method: load_method(method).info.guarantee for method in method_ids()}
    methods = sorted(guarantees, key=lambda method: (_ORDER[guarantees[method]], method))
    n_items, alpha, gain, loss = PLAIN_EXAMPLE
    example = plain_percentile_limits(n_items, alpha).coverage(gain, loss, guarded=False)
    parts = [
        _HEAD,
        f"At {n_items} items, a gain of {gain:.3f} and a loss of {loss:.3f}, its 95 % interval covers with probability "
        f"{example:.3f}: with probability {(1 - gain - loss) ** n_items:.2f} no item differs, and then the interval "
        "is [0, 0].\n",
    ]
    for size in SIZES:
        for level in ALPHAS:
            rows = [_row(f"`{method}`", guarantees[method], coverage_of(method, size, level)) for method in methods]
            parts.append(_table(size, level, [*rows, _row(PLAIN, "none", coverage_of(PLAIN, size, level))]))
    return "\n".join(parts)


def _table(n_items: int, alpha: float, rows: list[str]) -> str:
    head = f"## {n_items} items, nominal {1 - alpha:.2f}\n\n"
    columns = "| method | guarantee | least | mean | short | guarded | half-width |\n|---|---|---|---|---|---|---|\n"
    return head + columns + "".join(rows)


def _row(name: str, guarantee: str, found: Coverage) -> str:
    # Rounded down, so that a coverage below nominal never reads as nominal.
    least, guarded = (f"{int(value * 1e4 + 1e-6) / 1e4:.4f}" for value in (found.least, found.guarded_least))
    return (
        f"| {name} | {guarantee} | {least} | {found.mean:.4f} | {found.short:.3f} | {guarded} "
        f"| {found.half_width:.4f} |\n"
    )
