"""Figures that prime-rl exports beside the log-probabilities of a token, computed again and compared."""

import math
from collections.abc import Iterator, Sequence

from runner.importers.engine.record import Record
from runner.importers.engine.token_lists import aligned, flags, floats

# Both are computed in float32, from log-probabilities of float32.
_TOLERANCE = 1e-5
_MASK = "is_masked"
_THRESHOLD = 0.2


class ExportedFigures:
    """Counts, over all loss tokens, where a stated figure is another than the log-probabilities give."""

    NAMES = ("prob_delta", "log_importance_ratio", "importance_ratio", "mismatch_kl", _MASK)

    def __init__(self) -> None:
        self._stated = dict.fromkeys(self.NAMES, 0)
        self._differing = dict.fromkeys(self.NAMES, 0)
        self._masked = 0
        self._first: dict[str, str] = {}

    def compare(
        self,
        record: Record,
        places: Sequence[int],
        length: int,
        sampler: Sequence[float],
        current: Sequence[float],
        advantages: Sequence[float],
    ) -> None:
        """Compare the lists of one record, those that it has.

        Args:
            record: the record.
            places: of its loss tokens.
            length: tokens of the record.
            sampler: log-probabilities of the loss tokens at sampling, nats.
            current: in the trainer, nats.
            advantages: of the loss tokens.
        """
        computed = [_figures(*pair) for pair in zip(sampler, current, strict=True)]
        for name in self.NAMES[:-1]:
            if record.values.get(name) is None:
                continue
            stated = floats(record, name, aligned(record, name, length), places)
            for value, own in zip(stated, computed, strict=True):
                scale = max(1.0, abs(own[name]), own["importance_ratio"])
                same = abs(value - own[name]) <= _TOLERANCE * scale or (math.isnan(value) and math.isnan(own[name]))
                self._count(name, record, value == own[name] or same)
        if record.values.get(_MASK) is not None:
            mask = flags(record, _MASK)
            aligned(record, _MASK, length)
            for place, own, advantage in zip(places, computed, advantages, strict=True):
                beyond = (own["prob_delta"] if advantage > 0 else -own["prob_delta"]) - _THRESHOLD
                self._masked += mask[place]
                self._count(_MASK, record, mask[place] == (beyond > 0) or abs(beyond) <= _TOLERANCE)

    def _count(self, name: str, record: Record, same: bool) -> None:
        self._stated[name] += 1
        self._differing[name] += not same
        if not same:
            self._first.setdefault(name, record.where)

    def told(self) -> Iterator[str]:
        """Yield a sentence on each figure that was stated."""
        for name in self.NAMES[:-1]:
            if self._stated[name]:
                yield f"{name}: {self._differing_of(name)} from what the log-probabilities give"
        if self._stated[_MASK]:
            cause = ": another threshold, another rule, or a mask of something else" if self._differing[_MASK] else ""
            yield (
                f"{_MASK}: {self._masked:,} tokens; {self._differing_of(_MASK)} from |p_trainer - p_inference| > "
                f"{_THRESHOLD:g} in the advantage's direction (prime-rl's default){cause}"
            )

    def _differing_of(self, name: str) -> str:
        first = f" (the first in {self._first[name]})" if name in self._first else ""
        verb = "differs" if self._differing[name] == 1 else "differ"
        return f"{self._differing[name]:,} of {self._stated[name]:,} loss tokens {verb}{first}"


def _figures(sampler: float, current: float) -> dict[str, float]:
    try:
        ratio = math.exp(current - sampler)
        delta = math.exp(current) - math.exp(sampler)
    except OverflowError:
        ratio = delta = math.inf
    except ValueError:
        ratio = delta = math.nan
    return {
        "prob_delta": delta,
        "log_importance_ratio": current - sampler,
        "importance_ratio": ratio,
        "mismatch_kl": ratio - 1 - (current - sampler),
    }
