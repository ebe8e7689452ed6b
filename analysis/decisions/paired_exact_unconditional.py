"""The exact unconditional interval for a paired difference of proportions.

For right/wrong scores of items drawn independently from one population, the numbers of items that only one arm has
right are trinomial. Each limit is Buehler's (1957) exact limit for the order of tables that Tango's (1998) asymptotic
limit gives, with the discordance as nuisance parameter confined by Berger and Boos (1994) at 1e-5. Each side has an
error of alpha / 2. The supremum over the nuisance parameter is certified between mesh points, and the search errs
outward. The proof uses no asymptotics; that the floating-point sums are right to the allowance made for them is
checked numerically, not proved. See docs/exact-interval.md.
"""

from analysis.paired.binary import right_wrong_counts
from analysis.paired.exact_limit import exact_lower_limit
from analysis.paired.interval import Interval, Method
from analysis.paired.sample import PairedSample

METHOD = Method(
    title="Exact unconditional interval, Buehler's limit in Tango's order",
    guarantee="proven",
    assumption="items are independent draws from one population, each with one right/wrong score in each arm",
    when="scores are right or wrong: the shortest interval here with a finite-sample guarantee",
    scores="binary",
    source="Buehler 1957; Tango 1998; Berger and Boos 1994",
)


def interval(sample: PairedSample, *, alpha: float, margin: float = 0.0, seed: int | None = None) -> Interval:
    """Return the two-sided interval at level `alpha`.

    Args:
        sample: the paired differences of right/wrong scores.
        alpha: error probability, in (0, 1), half on each side.
        margin: the null hypothesis of the p-value is "difference <= margin".
        seed: not used; the method is deterministic.

    Returns:
        The interval; its p-value is at most `alpha` exactly where `lower` is above `margin`, and never
        below twice the nuisance error of 1e-5.

    Raises:
        AuditError: the scores are not right or wrong.
    """
    counts = right_wrong_counts(sample, "paired_exact_unconditional")
    gains, losses, n_items = counts.only_treatment, counts.only_baseline, counts.n_items
    below = exact_lower_limit(gains, losses, n_items, alpha / 2.0, margin)
    # The upper limit is the lower limit of the swapped arms; its p-value is not asked for.
    above = exact_lower_limit(losses, gains, n_items, alpha / 2.0, 1.0)
    return Interval(sample.estimate, below.lower, -above.lower, min(1.0, 2.0 * below.p_value))
