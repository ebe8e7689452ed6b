"""The bootstrap law of a mean by resampling, for differences that lie on no lattice."""

import numpy as np
from numpy.typing import NDArray

from analysis.errors import AuditError
from analysis.paired.lattice_law import MeanLaw, bootstrap_law

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
    means = []
    for start in range(0, N_RESAMPLES, rows):
        draws = generator.integers(0, n_items, size=(min(rows, N_RESAMPLES - start), n_items))
        means.append(differences[draws].mean(axis=1))
    support = np.sort(np.concatenate(means))
    return MeanLaw(support, np.arange(1, N_RESAMPLES + 1) / N_RESAMPLES)


def bootstrap_or_resampled_law(differences: NDArray[np.float64], seed: int | None) -> MeanLaw:
    """Return the exact bootstrap law where the differences lie on a lattice, else the resampled one.

    Args:
        differences: shape (n,), sorted, with at least two distinct values.
        seed: of the resampling, as registered; not used where the law is exact.

    Raises:
        AuditError: the differences must be resampled and there is no seed.
    """
    law = bootstrap_law(differences)
    if law is not None:
        return law
    if seed is None:
        raise AuditError(
            "the differences lie on no lattice, so the bootstrap must resample: register `resampling_seed` in the "
            "decision rule (or pass a seed), else chance decides the verdict"
        )
    return resampled_law(differences, seed)
