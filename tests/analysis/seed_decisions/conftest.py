"""Seed-level samples from the model that the methods assume."""

import numpy as np
import pytest

from analysis.paired.sample import sample_from_seeds
from analysis.seeds.sample import SeedScores


@pytest.fixture(scope="session")
def drawn():
    """A sample whose true difference is 0: normal seed effects, item effects and noise, far inside its bounds."""

    def draw(generator, n_seeds, *, seed_sd=0.0, item_sd=0.0, noise=0.1, n_items=60, paired=True, shift=0.0):
        def side(sign, seeds):
            effects = seed_sd * generator.standard_normal((seeds, 1)) / np.sqrt(2.0)
            rest = noise * generator.standard_normal((seeds, n_items)) / np.sqrt(2.0)
            return 0.5 * shift * (sign > 0) + sign * (item_effects / 2.0) + effects + rest

        item_effects = item_sd * generator.standard_normal(n_items)
        scores = SeedScores(side(1.0, n_seeds), side(-1.0, n_seeds if paired else n_seeds + 1), paired)
        return sample_from_seeds(scores, (-10.0, 10.0))

    return draw
