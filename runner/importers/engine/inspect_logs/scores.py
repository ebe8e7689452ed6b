"""Which score of a sample of an Inspect log is meant, and what number it is."""

import math
from typing import Any

from analysis.errors import AuditError
from runner.importers.engine.checks import few, short
from runner.importers.engine.record import Record

# Inspect's own reading, `inspect_ai.scorer.value_to_float`.
_LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}


class ScoreChoice:
    """Takes one score of each sample, by the name that was chosen, or the only one that there is.

    Args:
        wanted: `SCORER` or `SCORER.KEY`, None where nothing was chosen.
        source: the log, for messages.

    Attributes:
        name: what was taken, as it would be chosen; None before a sample had it.
    """

    def __init__(self, wanted: str | None, source: str) -> None:
        self.name: str | None = None
        self._wanted, self._source = wanted, source
        self._seen: dict[str, None] = {}

    @property
    def others(self) -> list[str]:
        """The scorers that were not taken."""
        return [name for name in self._seen if self.name is None or not _names(self.name, name)]

    def of(self, sample: Record) -> Record | None:
        """Return a sample's score, its `value` the one that is meant; None where this sample has none.

        Raises:
            AuditError: it is not said which of several is meant.
        """
        scores = sample.part_or_empty("scores")
        self._seen |= dict.fromkeys(map(scores.name, scores.values))
        if self._wanted is None and len(self._seen) > 1:
            raise self._unclear(list(self._seen), "scorers")
        found = next((name for name in scores.values if self._wanted is None or _names(self._wanted, name)), None)
        if found is None:
            return None
        score = scores.part(found)
        key = self._wanted[len(found) + 1 :] if self._wanted else ""
        value = score.values.get("value")
        if isinstance(value, dict) and key not in value:
            raise self._unclear([f"{found}.{inner}" for inner in value], f"values of {short(found)}")
        # A scorer that could give none of its values says so with one NaN.
        if key and not isinstance(value, dict) and not _is_absent(value):
            raise AuditError(f"{score.where}: is one value, and --map score={short(self._wanted or '')} names a part")
        self.name = self._wanted or found
        return Record({**score.values, "value": value[key] if isinstance(value, dict) else value}, score.where)

    def check_found(self) -> None:
        """Check that some sample had the score.

        Raises:
            AuditError: none had it.
        """
        if self.name is None and self._wanted is not None:
            raise self._unclear(list(self._seen), "scorers")

    def _unclear(self, names: list[str], what: str) -> AuditError:
        unknown = self._wanted is not None and self._wanted not in self._seen
        absent = f", and {short(self._wanted or '')} is none of them" if unknown else ""
        return AuditError(
            f"{self._source}: {len(names)} {what} ({few(names)}){absent}. Say which is meant, as --map score=NAME"
        )


def number_of(score: Record) -> tuple[float, bool | None] | None:
    """Return a score as a number and whether it says right or wrong; None where the scorer gave no score (NaN, null).

    Letters are C 1, I 0, P 0.5 (not right) and N 0; a plain number says no right or wrong.

    Raises:
        AuditError: it is no number and no word that Inspect reads as one.
    """
    value: Any = score.values.get("value")
    if _is_absent(value):
        return None
    if isinstance(value, bool):
        return float(value), value
    if isinstance(value, str):
        known = _LETTERS.get(value, _WORDS.get(value.lower()))
        if known is not None:
            return known, known == 1.0
        try:
            value = float(value)
        except ValueError:
            raise score.fault("value", "C, I, P, N, yes, no, true, false or a number") from None
    return Record({"value": value}, score.where).number("value"), None


def _is_absent(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _names(wanted: str, scorer: str) -> bool:
    return wanted == scorer or wanted.startswith(f"{scorer}.")
