import numpy as np
import pytest
from scipy.special import gammaln, xlogy

from analysis.paired import region_probability
from analysis.paired.buehler_region import Region, region_at_least
from analysis.paired.region_probability import TrinomialRegion, widest_count
from analysis.paired.tango_score import tango_lower_limit, tango_score

CRITICAL = 1.959963984540054


def _all_tables(n_items):
    gains, losses = (cells.ravel() for cells in np.mgrid[0 : n_items + 1, 0 : n_items + 1])
    inside = gains + losses <= n_items
    return gains[inside], losses[inside]


def _mass(n_items, gains, losses, gain, loss):
    rest = n_items - gains - losses
    log_mass = gammaln(n_items + 1) - gammaln(gains + 1) - gammaln(losses + 1) - gammaln(rest + 1)
    return np.exp(log_mass + xlogy(gains, gain) + xlogy(losses, loss) + xlogy(rest, max(1.0 - gain - loss, 0.0)))


def _members(region, gains, losses):
    return gains >= region.fewest_gains[losses]


@pytest.mark.parametrize("cells", [(3, 5, 12), (0, 0, 9), (4, 0, 20), (7, 7, 20), (0, 8, 9), (1, 0, 1), (20, 0, 20)])
def test_region_is_the_set_of_tables_with_at_least_the_observed_score(cells):
    gains_seen, losses_seen, n_items = cells
    limit = tango_lower_limit(*cells, CRITICAL)
    region = region_at_least(*cells, limit, CRITICAL, n_items)
    gains, losses = _all_tables(n_items)
    expected = tango_score(gains, losses, n_items, limit) >= CRITICAL - 1e-6
    assert np.array_equal(_members(region, gains, losses), expected)
    assert gains_seen >= region.fewest_gains[losses_seen]
    assert (np.diff(region.fewest_gains) >= 0).all()


@pytest.mark.parametrize("cells", [(3, 5, 12), (4, 0, 20), (14, 7, 40), (0, 0, 9)])
@pytest.mark.parametrize("delta", [-0.4, -0.03, 0.0, 0.11, 0.5])
def test_probability_and_slopes_agree_with_enumeration(cells, delta):
    n_items = cells[2]
    region = region_at_least(*cells, tango_lower_limit(*cells, CRITICAL), CRITICAL, n_items)
    psi = abs(delta) + (1.0 - abs(delta)) * np.array([0.0, 0.01, 0.2, 0.5, 0.9, 1.0])
    found = TrinomialRegion(region).probability(delta, psi)
    gains, losses = _all_tables(n_items)
    members = _members(region, gains, losses)

    def enumerated(delta, psi):
        return _mass(n_items, gains, losses, (psi + delta) / 2.0, (psi - delta) / 2.0)[members].sum()

    expected = [enumerated(delta, value) for value in psi]
    assert found.value == pytest.approx(expected, abs=1e-9)
    assert (found.value >= np.array(expected) - 1e-13).all()
    step = 1e-6
    for index in (1, 2, 3, 4):
        psi_slope = (enumerated(delta, psi[index] + step) - enumerated(delta, psi[index] - step)) / (2.0 * step)
        delta_slope = (enumerated(delta + step, psi[index]) - enumerated(delta - step, psi[index])) / (2.0 * step)
        assert found.psi_slope[index] == pytest.approx(psi_slope, abs=1e-6)
        assert found.delta_slope[index] == pytest.approx(delta_slope, abs=1e-6)


def test_losses_past_the_described_ones_do_not_matter():
    cells = (132, 174, 1319)
    limit = tango_lower_limit(*cells, CRITICAL)
    psi = np.array([0.2, 0.23, 0.26])
    whole = TrinomialRegion(region_at_least(*cells, limit, CRITICAL, 1319)).probability(limit, psi)
    cut = TrinomialRegion(region_at_least(*cells, limit, CRITICAL, widest_count(1319, 0.26))).probability(limit, psi)
    assert cut.value == pytest.approx(whole.value, abs=1e-12)
    assert cut.psi_slope == pytest.approx(whole.psi_slope, abs=1e-9)


def test_what_is_not_summed_is_added_whole(monkeypatch):
    cells, psi = (132, 174, 1319), np.array([0.2, 0.23, 0.26])
    limit = tango_lower_limit(*cells, CRITICAL)
    region = TrinomialRegion(region_at_least(*cells, limit, CRITICAL, 1319))
    whole = region.probability(limit, psi).value
    monkeypatch.setattr(region_probability, "_DEVIATIONS", 1.0)
    assert (region.probability(limit, psi).value > whole + 1e-3).all()


def test_an_empty_and_a_full_region():
    psi = np.array([0.3, 0.9])
    empty = TrinomialRegion(Region(50, np.full(51, 51))).probability(0.1, psi)
    assert empty.value == pytest.approx([0.0, 0.0], abs=1e-9)
    full = TrinomialRegion(Region(50, np.zeros(51, dtype=np.int64))).probability(0.1, psi)
    assert full.value == pytest.approx([1.0, 1.0], abs=1e-12)
    assert full.psi_slope == pytest.approx([0.0, 0.0], abs=1e-12)
