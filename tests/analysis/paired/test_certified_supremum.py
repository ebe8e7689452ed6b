import numpy as np
import pytest

from analysis.paired.buehler_region import region_at_least
from analysis.paired.certified_supremum import _cell_bounds, _first_mesh, _largest_of_cubic, certified_supremum
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


@pytest.mark.parametrize("cells", [(132, 174, 1319), (0, 0, 30), (9, 0, 60), (40, 35, 80)])
@pytest.mark.parametrize("delta", [-0.2, -0.03, 0.0, 0.05, 0.3])
def test_no_cell_exceeds_its_bound(cells, delta):
    region = _region(cells)
    found = region.probability(delta, _first_mesh(cells[2], delta, (abs(delta), 1.0)))
    bounds = _cell_bounds(region, delta, found)
    for left, right, bound in zip(found.psi[:-1], found.psi[1:], bounds, strict=True):
        assert region.probability(delta, np.linspace(left, right, 41)).value.max() <= bound + 1e-12


def test_the_cubic_alone_is_no_bound():
    # Without its remainder the interpolant is exceeded: the test above is not passed for free.
    region = _region((132, 174, 1319))
    found = region.probability(-0.0579, _first_mesh(1319, -0.0579, (0.15, 0.4)))
    width = np.diff(found.psi)
    cubic = _largest_of_cubic(found, width)
    exceeded = [
        region.probability(-0.0579, np.linspace(left, right, 41)).value.max() > bound + 1e-9
        for left, right, bound in zip(found.psi[:-1], found.psi[1:], cubic, strict=True)
    ]
    assert any(exceeded)


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
