import numpy as np
import pytest

from analysis.paired.buehler_region import region_at_least
from analysis.paired.certified_supremum import certified_supremum
from analysis.paired.region_probability import TrinomialRegion
from analysis.paired.tango_score import tango_lower_limit

CRITICAL = 1.959963984540054


def _region(cells):
    return TrinomialRegion(region_at_least(*cells, tango_lower_limit(*cells, CRITICAL), CRITICAL, cells[2]))


def _random_cells(generator):
    n_items = int(generator.integers(2, 400))
    gains = int(generator.integers(0, n_items + 1))
    return gains, int(generator.integers(0, n_items - gains + 1)), n_items


def test_bound_holds_on_a_dense_mesh_and_is_tight():
    generator = np.random.default_rng(5)
    checked = 0
    while checked < 60:
        cells = _random_cells(generator)
        if cells[1] == cells[2]:
            continue
        delta = float(generator.uniform(-0.95, 0.95))
        region, psi_range = _region(cells), (abs(delta), 1.0)
        found = certified_supremum(region, delta, psi_range, target=0.0, tolerance=1e-4)
        # Dense near both edges, where the information is infinite.
        share = np.sin(np.linspace(0.0, np.pi / 2.0, 3001)) ** 2
        dense = region.probability(delta, abs(delta) + (1.0 - abs(delta)) * share).value.max()
        assert found.upper >= dense
        assert found.upper <= found.lower + 1e-4 + 2e-9
        assert found.lower <= dense + 1e-4
        checked += 1


def test_only_cells_above_the_target_are_refined():
    region = _region((132, 174, 1319))
    coarse = certified_supremum(region, -0.0579, (0.2, 0.27), target=0.5, tolerance=1e-7)
    fine = certified_supremum(region, -0.0579, (0.2, 0.27), target=0.0, tolerance=1e-7)
    assert coarse.upper <= 0.5
    assert coarse.upper > fine.upper >= fine.lower >= coarse.lower


def test_supremum_at_the_edge_has_the_slope_along_the_edge():
    # With no discordant item the worst case has losses only: the probability of none is (1 - |delta|)^n.
    region, delta, step = _region((0, 0, 30)), -0.11, 1e-6
    found = certified_supremum(region, delta, (0.11, 0.5), target=0.0, tolerance=1e-7)
    assert found.psi == 0.11
    assert found.lower == pytest.approx(0.89**30, abs=1e-8)
    expected = ((1.0 - 0.11 + step) ** 30 - (1.0 - 0.11 - step) ** 30) / (2.0 * step)
    assert found.delta_slope == pytest.approx(expected, rel=1e-5)


def test_one_point_is_its_own_supremum():
    region = _region((5, 3, 20))
    found = certified_supremum(region, 0.1, (0.4, 0.4), target=0.0, tolerance=1e-6)
    value = float(region.probability(0.1, np.array([0.4])).value[0])
    assert found.lower == value
    assert found.upper == pytest.approx(value, abs=2e-9)
    assert found.upper > value
