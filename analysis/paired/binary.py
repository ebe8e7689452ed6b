"""The guard of the methods that take right/wrong scores only."""

from analysis.errors import AuditError
from analysis.paired.sample import PairedCounts, PairedSample


def right_wrong_counts(sample: PairedSample, method_id: str) -> PairedCounts:
    """Return the 2 x 2 table of the sample.

    Raises:
        AuditError: the scores are not right or wrong, or are not weighed as treatment minus baseline; the message
            names the methods that fit.
    """
    if sample.counts is None:
        # Imported here, as the methods import this module.
        from analysis.paired.methods import load_method, method_ids

        fitting = [other for other in method_ids() if load_method(other).info.scores == "bounded"]
        raise AuditError(
            f'"{method_id}" takes right/wrong scores (0 or 1, treatment minus baseline); for other scores register '
            f"one of: {', '.join(fitting)}"
        )
    return sample.counts
