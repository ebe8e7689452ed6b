"""Figures by training step under another tool's keys, from logs in which a step may come again."""

from collections.abc import Iterator, Mapping

from audits.store.gathered import Rows, Scratch
from runner.importers.engine.checks import counted, few
from runner.importers.engine.record import Record


class Figures:
    """Numbers by step and key; of a number that is logged again for its step, the last is kept."""

    def __init__(self) -> None:
        self._by_step: dict[int, dict[str, float]] = {}
        self._again: set[int] = set()
        self._no_numbers: set[str] = set()

    @property
    def steps(self) -> list[int]:
        """The steps that have a figure, in order."""
        return sorted(self._by_step)

    def add(self, step: int, values: Record, without: tuple[str, ...] = ()) -> None:
        """Keep the numbers of one row of a log.

        Args:
            step: the step that the row is of.
            values: figures by key.
            without: keys that are no figures.

        Raises:
            AuditError: a key is no text.
        """
        kept = self._by_step.setdefault(step, {})
        for key, value in values.values.items():
            if key in without:
                continue
            name = values.name(key)
            if not is_number(value):
                self._no_numbers.add(name)
                continue
            if kept.get(name, value) != value:
                self._again.add(step)
            kept[name] = float(value)

    def of(self, name: str) -> Mapping[int, float]:
        """Return one figure by step."""
        return {step: kept[name] for step, kept in self._by_step.items() if name in kept}

    def rows(self, scratch: Scratch) -> Rows | None:
        """Return all figures as rows of the table of scalars, by step; None where there are none."""
        scalars = scratch.rows("scalars")
        for step in self.steps:
            for name, value in self._by_step[step].items():
                scalars.append({"step": step, "name": name, "value": value})
        return scalars if scalars else None

    def notes(self) -> Iterator[str]:
        """Yield what is to be said of steps that were logged again with other numbers."""
        if self._again:
            steps = few([str(step) for step in sorted(self._again)])
            again = counted(len(self._again), "step")
            yield f"{again} logged again with other numbers ({steps}): the last number of each key was taken"

    def ignored(self, where: str) -> Iterator[str]:
        """Yield which keys were left out."""
        if self._no_numbers:
            yield f"keys {few(sorted(self._no_numbers))} of {where}: no numbers"


def is_number(value: object) -> bool:
    """Return whether a value of a JSON file is a number that a float can hold; true and false are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, float) or abs(value) < 2**1023
