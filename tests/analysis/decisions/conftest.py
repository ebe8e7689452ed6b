"""Samples that the tests of the decision methods share."""

import json
from pathlib import Path

import pytest

from analysis.paired.sample import PairedCounts, sample_from_counts

FIXTURES = Path(__file__).parents[2] / "data" / "stats_fixtures.json"


@pytest.fixture(scope="session")
def table():
    """A sample from (only treatment right, only baseline right, items), half of the rest right in both."""

    def make(only_treatment, only_baseline, n_items):
        rest = n_items - only_treatment - only_baseline
        return sample_from_counts(PairedCounts(rest // 2, only_treatment, only_baseline, rest - rest // 2))

    return make


@pytest.fixture(scope="session")
def frozen_rows():
    """Intervals computed once by independent code, by method."""
    return json.loads(FIXTURES.read_text(encoding="utf-8"))["rows"]
