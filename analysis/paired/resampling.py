"""The bootstrap law of a mean by resampling, for differences that lie on no lattice."""

import numpy as np
from numpy.typing import NDArray

from analysis.paired.lattice_law import MeanLaw

N_RESAMPLES = 20_000
_BLOCK_CELLS = 1 << 22


def resampled_law(differences: NDArray[np.float64], seed: int) -> MeanLaw:
    """Return the law of `N_RESAMPLES` means of n draws with replacement (Efron 1979).

    Args:
        differences: shape (n,), sorted, so that the order of the items cannot change the result.
        seed: of NumPy's PCG64 generator.

    Returns:
        The empirical law of the resampled means.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    n_items = differences.size
    rows = max(1, _BLOCK_CELLS // n_items)
    means = [
        differences[generator.integers(0, n_items, size=(min(rows, N_RESAMPLES - start), n_items))].mean(axis=1)
        for start in range(0, N_RESAMPLES, rows)
    ]
    support = np.sort(np.concatenate(means))
    return MeanLaw(support, np.arange(1, N_RESAMPLES + 1) / N_RESAMPLES)
