"""Rows of a table as outcomes of arms, with every cell that is not what it should be."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as attribute
from pathlib import Path
from typing import Any

from analysis.errors import AuditError
from audits.store.gathered import Prompts, Rows, Scratch
from runner.importers.engine.checks import few, short
from runner.importers.engine.tables.cells import CellError
from runner.importers.engine.tables.fields import FIELDS, Layout, no_column
from runner.importers.engine.tables.table import Table

Key = tuple[str, int, str]

_KEYS = ("arm", "seed", "checkpoint", "sample")
_MOST_ARMS = 1_000
_SHOWN_FAULTS = 8
_SHOWN_LINES = 4


@dataclass
class _Faults:
    """Cells of one column that are not what their field needs."""

    field: str
    found: int = 0
    shown: list[str] = attribute(default_factory=list)


class OutcomeRows:
    """Gathers the outcomes of a table.

    Args:
        source: the file, for messages.
        table: its rows.
        layout: which column is which field.
        arm: name of the arm where no column names one.
        scratch: gathers the rows.

    Attributes:
        rows: rows of the table of evaluations by arm, seed and checkpoint.
        prompts: questions with their golds; empty where no column has questions.
        failed_with_zero: rows with an error whose stated score was 0.
        without_gold: rows with a question and no gold, which make no prompt.
    """

    def __init__(self, source: Path, table: Table, layout: Layout, arm: str, scratch: Scratch) -> None:
        self._source, self._table, self._layout, self._arm, self._scratch = source, table, layout, arm, scratch
        self._others = [(name, column) for name, column in layout.columns.items() if name != "item_id"]
        self._derives_correct = layout.columns.get("correct") not in table.columns
        self._faults: dict[str, _Faults] = {}
        self._given: dict[str, bool] = {}
        self._partial: set[Key] = set()
        self.rows: dict[Key, Rows] = {}
        self.prompts: Prompts = scratch.prompts()
        self.failed_with_zero = 0
        self.without_gold = 0

    def gather(self) -> None:
        """Read all rows.

        Raises:
            AuditError: cells that are not what their field needs, an item without an id or twice, or a mapped column
                that no row has; lines and items are named.
        """
        for number, found in self._table.rows(self._layout.read):
            self._add(number, found)
        for column in [*(self._layout.columns[name] for name in self._layout.mapped), *self._layout.scores]:
            if column not in self._table.columns:
                raise no_column(self._source, self._table, column)
        for column, faults in self._faults.items():
            known = FIELDS[faults.field]
            raise AuditError(
                f'{self._source}: {faults.found} cells of column "{short(column)}" are not {known.needed}: '
                f"{few(faults.shown, faults.found)}{known.advice}"
            )
        for key, rows in self.rows.items():
            twice = rows.ask("repeated_items")
            if twice:
                raise self._stands_twice(key, {(item, sample) for item, sample, *_ in twice}, twice[0][-1])
            if key in self._partial:
                # A score in between is neither right nor wrong, so that the arm has no such column.
                rows.forget("correct")

    def _add(self, number: int, found: Mapping[str, Any]) -> None:
        values = self._values(number, found)
        item = values["item_id"]
        outcome = {name: value for name, value in values.items() if name not in ("arm", "seed", "question", "score")}
        outcome |= {"checkpoint": values.get("checkpoint", "final"), "sample": values.get("sample", 0)}
        if "question" in values:
            outcome["prompt_id"] = self._prompt(number, values)
        columns = self._layout.scores or (self._layout.columns.get("score", ""),)
        for column in columns:
            name = column if self._layout.scores else values.get("arm", self._arm)
            key = (name, values.get("seed", 0), outcome["checkpoint"])
            score = self._read("score", column, number, item, found) if self._layout.scores else values.get("score")
            self._append(key, number, {**outcome, "score": score}, column, found)

    def _values(self, number: int, found: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of a row's fields; a field without a value is not there."""
        column = self._layout.columns["item_id"]
        item = self._read("item_id", column, number, None, found)
        if item is None:
            if column not in self._table.columns:
                raise no_column(self._source, self._table, column)
            raise AuditError(f'{self._where(number)}: column "{short(column)}" is empty: an item needs an id')
        values = {"item_id": item}
        for name, column in self._others:
            if found.get(column) is not None:
                value = self._read(name, column, number, item, found)
                if value is not None and not (value == "" and self._table.blank_is_absent):
                    values[name] = value
        for name in _KEYS:
            if self._given.setdefault(name, name in values) != (name in values):
                said = "empty" if self._given[name] else "there, and earlier rows have none"
                raise AuditError(f"{self._where(number)}: {name} of item {short(item)} is {said}")
        return values

    def _read(self, name: str, column: str, number: int, item: str | None, found: Mapping[str, Any]) -> Any:
        cell = found.get(column)
        if cell is None:
            return None
        try:
            return FIELDS[name].read(cell)
        except CellError:
            if name in ("item_id", *_KEYS):
                place = self._where(number) + (f", item {short(item)}" if item else "")
                raise AuditError(
                    f'{place}: column "{short(column)}" is {_shown(cell)}, and {FIELDS[name].needed} is needed'
                ) from None
            self._fault(name, column, number, item or "", cell)
            return _BAD

    def _append(self, key: Key, number: int, row: dict[str, Any], column: str, found: Mapping[str, Any]) -> None:
        score, correct = row["score"], row.get("correct")
        if score is _BAD or correct is _BAD:
            return
        if score is None and correct is not None:
            score = float(correct)
        if "error" in row and score == 0.0:
            self.failed_with_zero += 1
            score = row["correct"] = None
        if (score is None) == ("error" not in row):
            column = column or self._layout.columns.get("correct", "score")
            self._fault(
                "score", column, number, row["item_id"], found.get(column), "and an error too" * (score is not None)
            )
            return
        if self._derives_correct and correct is None and score is not None:
            if score in (0.0, 1.0):
                row["correct"] = score == 1.0
            else:
                self._partial.add(key)
        self._of(key).append({**row, "score": score})

    def _of(self, key: Key) -> Rows:
        if key not in self.rows:
            if len(self.rows) == _MOST_ARMS:
                raise AuditError(
                    f"{self._source}: more than {_MOST_ARMS:,} arms, seeds and checkpoints. Is "
                    f'"{short(self._layout.columns.get("arm", "seed"))}" the column that tells arms apart?'
                )
            self.rows[key] = self._scratch.rows("evals")
        return self.rows[key]

    def _prompt(self, number: int, values: Mapping[str, Any]) -> str | None:
        item, question, gold = values["item_id"], values["question"], values.get("gold")
        if question is _BAD or gold is _BAD:
            return None
        if gold is None:
            self.without_gold += 1
            return None
        prompt = {"prompt_id": item, "split": "test", "question": question, "gold": gold}
        self.prompts.add(prompt, self._where(number))
        return str(item)

    def _fault(self, name: str, column: str, number: int, item: str, cell: Any, more: str = "") -> None:
        faults = self._faults.setdefault(column, _Faults(name))
        faults.found += 1
        if len(faults.shown) < _SHOWN_FAULTS:
            said = f"{short(item)} ({self._table.noun} {number}): {_shown(cell)} {more}".rstrip()
            faults.shown.append(said)

    def _where(self, number: int) -> str:
        return f"{self._source}, {self._table.noun} {number}"

    def _stands_twice(self, key: Key, twice: set[tuple[str, int]], total: int) -> AuditError:
        """Return the error that items stand more than once, with their lines, for which the file is read again."""
        numbers: dict[str, list[int]] = {item: [] for item, _ in sorted(twice)}
        for number, found in self._table.rows(self._layout.read):
            values = self._values(number, found)
            of_group = (values.get("arm", key[0]), values.get("seed", 0), values.get("checkpoint", "final")) == key
            if of_group and (values["item_id"], values.get("sample", 0)) in twice:
                numbers[values["item_id"]].append(number)
        named = [f"{short(item)} ({self._table.noun}s {', '.join(map(str, places[:_SHOWN_LINES]))})"
                 for item, places in numbers.items()]  # fmt: skip
        return AuditError(
            f"{self._source}: {total} item ids stand more than once: {few(named, total)}. Each item needs one row an "
            "arm; a column that tells samples of an item apart is named as in --map sample=COLUMN, one that tells arms "
            "apart as in --map arm=COLUMN"
        )


# Stands for a cell that is not what its field needs, until all of them are told together.
_BAD: Any = object()


def _shown(cell: Any) -> str:
    return repr(short(cell)) if isinstance(cell, str) else short(repr(cell))


def by_arm(rows: Mapping[Key, Rows]) -> Iterator[tuple[str, int, dict[str, Rows]]]:
    """Yield arm, seed and rows by checkpoint, in the order in which the arms came."""
    for arm, seed in dict.fromkeys((arm, seed) for arm, seed, _ in rows):
        yield arm, seed, {checkpoint: found for (name, number, checkpoint), found in rows.items()
                          if (name, number) == (arm, seed)}  # fmt: skip
