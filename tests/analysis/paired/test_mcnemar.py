import json
from pathlib import Path

import pytest

from analysis.paired.mcnemar import mcnemar_exact, mcnemar_mid_p

ROWS = json.loads((Path(__file__).parents[2] / "data" / "stats_fixtures.json").read_text(encoding="utf-8"))["rows"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['n10']}-{row['n01']}")
def test_frozen_p_values(row):
    assert mcnemar_exact(row["n10"], row["n01"]) == pytest.approx(row["mcnemar"]["exact"], rel=1e-12)
    assert mcnemar_mid_p(row["n10"], row["n01"]) == pytest.approx(row["mcnemar"]["midp"], rel=1e-12)


def test_published_p_values_of_cavo_2012():
    assert mcnemar_exact(6, 16) == pytest.approx(0.052479, abs=5e-7)
    assert mcnemar_mid_p(6, 16) == pytest.approx(0.034690, abs=5e-7)


def test_agrees_with_statsmodels():
    # Slow to import, and banned at module level.
    from statsmodels.stats.contingency_tables import mcnemar

    for gains, losses in [(0, 1), (5, 5), (12, 31), (132, 174)]:
        assert mcnemar_exact(gains, losses) == pytest.approx(mcnemar([[1, gains], [losses, 1]], exact=True).pvalue)


@pytest.mark.parametrize("p_value", [mcnemar_exact, mcnemar_mid_p])
def test_no_discordant_item_is_no_evidence(p_value):
    # A library in use returns 0 here: the chi-squared statistic is 0 / 0.
    assert p_value(0, 0) == 1.0
    assert p_value(7, 3) == p_value(3, 7)
