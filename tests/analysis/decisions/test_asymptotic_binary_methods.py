"""Tango, Bonett-Price and Newcombe against published tables and two independent libraries' formulas."""

import json
from pathlib import Path

import numpy as np
import pytest

from analysis.decisions import paired_bonett_price, paired_newcombe, paired_tango
from analysis.paired.sample import PairedCounts, sample_from_counts

PUBLISHED = json.loads((Path(__file__).parents[2] / "data" / "stats_fixtures.json").read_text(encoding="utf-8"))[
    "published"
]
METHODS = {
    "tango": (paired_tango, 0.05),
    "tango90": (paired_tango, 0.1),
    "bonett_price": (paired_bonett_price, 0.05),
    "newcombe": (paired_newcombe, 0.05),
}
# Fagerland, Lydersen and Laake 2014, table V and its companion: (both, only treatment, only baseline, neither).
BENTUR, CAVO = (1, 1, 7, 12), (59, 6, 16, 80)
TABLES = [
    *((tuple(row["cells"]), row["method"], tuple(row["ci"])) for row in PUBLISHED),
    (BENTUR, "tango", (-0.517, -0.026)),
    (BENTUR, "bonett_price", (-0.508, -0.013)),
    (BENTUR, "newcombe", (-0.507, -0.026)),
    (CAVO, "tango", (-0.1240, -0.0054)),
    (CAVO, "bonett_price", (-0.1195, -0.0032)),
    (CAVO, "newcombe", (-0.1186, -0.0046)),
]


def _sample(cells):
    both, only_treatment, only_baseline, neither = cells
    return sample_from_counts(PairedCounts(both, only_treatment, only_baseline, neither))


@pytest.mark.parametrize(("cells", "method", "expected"), TABLES)
def test_published_intervals(cells, method, expected):
    module, alpha = METHODS[method]
    found = module.interval(_sample(cells), alpha=alpha)
    digits = 3 if cells == BENTUR or ("tango" in method and cells != CAVO) else 4
    assert (found.lower, found.upper) == pytest.approx(expected, abs=0.51 * 10.0**-digits + 1e-4)


@pytest.mark.parametrize(("method", "module"), [("tango", paired_tango), ("bonett_price", paired_bonett_price)])
def test_frozen_rows(table, frozen_rows, method, module):
    checked = 0
    for row in frozen_rows:
        if method not in row["ci"]:
            continue
        found = module.interval(table(row["n10"], row["n01"], row["n"]), alpha=0.05)
        assert (found.lower, found.upper) == pytest.approx(row["ci"][method], abs=1e-9)
        checked += 1
    assert checked >= 15


def test_agree_with_an_independent_library():
    # Slow to import.
    from evalstats.core.paired import bonett_price_paired_ci, newcombe_mover_paired_ci, tango_scc_paired_ci

    generator = np.random.default_rng(3)
    oracles = [
        (paired_bonett_price, bonett_price_paired_ci, 1e-9),
        (paired_newcombe, newcombe_mover_paired_ci, 1e-9),
        (paired_tango, lambda a, b, alpha: tango_scc_paired_ci(a, b, alpha, c=0.0), 1e-9),
    ]
    for _ in range(25):
        n_items = int(generator.integers(15, 400))
        cells = generator.multinomial(n_items, generator.dirichlet([1.0, 0.5, 0.5, 1.0]))
        if cells[1] + cells[2] == 0:
            continue
        sample = _sample(int(cell) for cell in cells)
        treatment = np.repeat([1.0, 1.0, 0.0, 0.0], cells)
        baseline = np.repeat([1.0, 0.0, 1.0, 0.0], cells)
        for module, oracle, tolerance in oracles:
            for alpha in (0.05, 0.1):
                found = module.interval(sample, alpha=alpha)
                assert (found.lower, found.upper) == pytest.approx(oracle(treatment, baseline, alpha), abs=tolerance)


@pytest.mark.parametrize("module", [paired_tango, paired_bonett_price, paired_newcombe])
def test_p_value_solves_for_the_level(module):
    sample = _sample((500, 120, 80, 300))
    for margin in (0.0, 0.01, 0.02):
        p_value = module.interval(sample, alpha=0.05, margin=margin).p_value
        assert module.interval(sample, alpha=p_value).lower == pytest.approx(margin, abs=1e-8)


@pytest.mark.parametrize("module", [paired_tango, paired_bonett_price, paired_newcombe])
def test_few_discordant_items_are_not_trusted(module):
    assert not module.interval(_sample((50, 6, 3, 50)), alpha=0.05).trusted
    assert module.interval(_sample((50, 6, 4, 50)), alpha=0.05).trusted


def test_newcombe_uses_the_agreeing_items_too():
    spread = paired_newcombe.interval(_sample((50, 10, 5, 50)), alpha=0.05)
    one_sided = paired_newcombe.interval(_sample((100, 10, 5, 0)), alpha=0.05)
    assert spread.lower != one_sided.lower
