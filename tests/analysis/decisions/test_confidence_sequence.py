import math

import numpy as np
import pytest

from analysis.paired.methods import load_method
from analysis.paired.sample import PairedCounts, PairedSample, sample_from_counts
from analysis.sequential.mixture_capital import MixtureCapital

METHOD = load_method("confidence_sequence")
ALPHA = 0.2


def interval(gains, losses, n_items, alpha=ALPHA, margin=0.0):
    counts = PairedCounts(0, gains, losses, n_items - gains - losses)
    return METHOD.interval(sample_from_counts(counts), alpha=alpha, margin=margin)


def excluded_by_capital(gains, losses, n_items, delta):
    """Whether the interval at these items misses delta, from the capital alone."""
    scores = np.repeat([0.0, 0.5, 1.0], [losses, n_items - gains - losses, gains])
    goal = math.log(2.0 / ALPHA)
    below, above = (1.0 + delta) / 2.0, (1.0 - delta) / 2.0
    return MixtureCapital(scores).log_capital(below) >= goal or MixtureCapital(1.0 - scores).log_capital(above) >= goal


def excluded_by_one_look(gains, losses, n_items, delta):
    """Whether a normal interval, right for one look at many items, misses delta."""
    mean = (gains - losses) / n_items
    variance = max((gains + losses) / n_items - mean**2, 1.0 / n_items)
    return n_items >= 10 and abs(mean - delta) > 1.2815515655 * math.sqrt(variance / n_items)


def chance_of_any_miss(excluded, gain, loss, n_looks):
    """Return the chance that any look at 1, 2, ..., n_looks items misses the true difference: no simulation."""
    alive, missed = {(0, 0): 1.0}, 0.0
    for n_items in range(1, n_looks + 1):
        moved: dict[tuple[int, int], float] = {}
        for (gains, losses), chance in alive.items():
            for table, step in (
                ((gains + 1, losses), gain),
                ((gains, losses + 1), loss),
                ((gains, losses), 1 - gain - loss),
            ):
                if step > 0.0:
                    moved[table] = moved.get(table, 0.0) + chance * step
        out = {table for table in moved if excluded(*table, n_items, gain - loss)}
        missed += sum(moved[table] for table in out)
        alive = {table: chance for table, chance in moved.items() if table not in out}
    return missed


CHANCES = [(0.1, 0.1), (0.02, 0.0), (0.5, 0.5), (0.3, 0.05), (0.0, 0.97)]


@pytest.mark.parametrize("n_looks", [40, pytest.param(160, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("gain", "loss"), CHANCES)
def test_a_look_after_every_item_misses_with_at_most_alpha_in_all(gain, loss, n_looks):
    assert chance_of_any_miss(excluded_by_capital, gain, loss, n_looks) <= ALPHA


def test_this_sum_shows_what_is_wrong_with_an_interval_for_one_look():
    assert chance_of_any_miss(excluded_by_one_look, 0.1, 0.1, 60) > 1.5 * ALPHA


def test_the_sum_is_over_all_of_the_chance():
    assert chance_of_any_miss(lambda *_: False, 0.3, 0.2, 12) == 0.0
    assert chance_of_any_miss(lambda *_: True, 0.3, 0.2, 12) == pytest.approx(1.0)


def test_the_interval_misses_what_the_capital_excludes():
    found = {True: 0, False: 0}
    for gains, losses, n_items in [(8, 1, 20), (3, 3, 20), (0, 0, 35), (20, 0, 20), (1, 30, 40), (12, 4, 160)]:
        limits = interval(gains, losses, n_items)
        for delta in np.linspace(-0.99, 0.99, 45):
            outside = not limits.lower <= delta <= limits.upper
            assert outside == excluded_by_capital(gains, losses, n_items, delta)
            found[outside] += 1
    assert min(found.values()) > 50


def test_continuous_scores_looked_at_again_and_again():
    generator, misses, repetitions = np.random.default_rng(5), 0, 100
    for _ in range(repetitions):
        differences = np.clip(generator.normal(0.0, 0.4, 60), -1.0, 1.0)
        looks = [METHOD.interval(PairedSample(differences[:n], (-1.0, 1.0)), alpha=ALPHA) for n in range(3, 61, 3)]
        misses += any(found.lower > 0.0 or found.upper < 0.0 for found in looks)
        # The intersection of all looks holds as well, so that it is empty no more often than one of them misses.
        assert max(found.lower for found in looks) < min(found.upper for found in looks)
    assert misses / repetitions <= ALPHA


def test_width_beside_the_hedged_sequence():
    """Half-widths at 1319 items; confseq 0.0.11's hedged_cs has .0450 on 132 gains and 174 losses in one order."""
    halves = [
        (found.upper - found.lower) / 2.0 for found in (interval(132, 174, 1319, 0.05), interval(0, 0, 1319, 0.05))
    ]
    assert halves[0] == pytest.approx(0.0450, rel=0.03)
    assert halves[1] < 0.004
    one_look = load_method("paired_exact_unconditional")
    exact = one_look.interval(sample_from_counts(PairedCounts(0, 132, 174, 1013)), alpha=0.05)
    assert (exact.upper - exact.lower) / 2.0 < halves[0]


def test_the_order_of_the_items_changes_nothing_at_all():
    generator = np.random.default_rng(7)
    differences = generator.uniform(-0.6, 1.0, 200)
    shuffled = generator.permutation(differences)
    first, second = (METHOD.interval(PairedSample(d, (-1.0, 1.0)), alpha=0.05) for d in (differences, shuffled))
    assert (first.lower, first.upper) == pytest.approx((second.lower, second.upper), abs=1e-12)


def test_a_hopeless_margin_does_not_overflow():
    found = METHOD.interval(PairedSample(np.full(3_000_000, -1.0), (-1.0, 1.0)), alpha=0.05, margin=0.9)
    assert found.p_value == 1.0
