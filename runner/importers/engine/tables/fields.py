"""Which column of a table is which field: as the command line maps them, else by equal names."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.errors import AuditError
from analysis.nearest import hint, nearest_name
from runner.importers.engine.checks import few, short
from runner.importers.engine.imported import Options
from runner.importers.engine.tables import cells
from runner.importers.engine.tables.table import Table

DEFAULT_ITEM = "item_id"


@dataclass(frozen=True)
class Field:
    """One field: how a cell is read; in words, what a cell must be, what it means, and what to do where it is not."""

    read: cells.Reader
    needed: str
    meaning: str
    advice: str = ""


FIELDS: Mapping[str, Field] = {
    "item_id": Field(cells.identifier, "a name or a whole number", "the item, the same in every arm"),
    "arm": Field(cells.identifier, "a name or a whole number", "which arm the row is of"),
    "seed": Field(cells.whole(10**15 - 1), "a whole number from 0", "the training seed of the arm"),
    "checkpoint": Field(cells.checkpoint, "base, final or stepNNNNNN", "what was evaluated; else final"),
    "sample": Field(cells.whole(2**15 - 1), "a whole number from 0 to 32767", "which sample of the item"),
    "score": Field(
        cells.score,
        "a score from 0 to 1",
        "empty where the item failed",
        ". Divide percent by 100 and write a decimal point; an item that failed with an error has no score: evaluate "
        "it again, it is never counted as wrong",
    ),
    "correct": Field(cells.flag, "true or false (or 1 or 0)", "the score too, where there is none"),
    "completion": Field(cells.text, "a text", "all of the answer"),
    "extracted": Field(cells.text, "a text", "what was found in the completion"),
    "gold": Field(cells.text, "a text", "the right answer"),
    "extraction": Field(cells.text, "a text", "how the answer was found"),
    "stop_reason": Field(cells.text, "a text", "length where the token cap cut the completion"),
    "n_tokens": Field(cells.whole(2**31 - 1), "a whole number from 0", "tokens of the completion"),
    "error": Field(cells.text, "a text", "why the item failed"),
    "question": Field(cells.text, "a text", "makes a prompt, together with gold"),
}
# Of a table with a column an arm: what belongs to the item whatever the arm.
_OF_THE_ITEM = ("item_id", "gold", "question")
# Of a table with a column an arm: what is read only where the command line names it.
_OF_A_RUN = ("seed", "sample", "checkpoint")
# Of a table with one column of scores: what its other columns may say of that arm's outcomes.
_OF_ONE_ARM = (*_OF_THE_ITEM, "completion", "extracted", "extraction", "stop_reason", "n_tokens", "error")


@dataclass(frozen=True)
class Layout:
    """How a table is read.

    Attributes:
        columns: column of each field.
        mapped: fields that the command line names; the others were found by their equal names.
        scores: where each arm has a column of scores, these columns; else empty, and every row is of one arm.
    """

    columns: Mapping[str, str]
    mapped: frozenset[str]
    scores: tuple[str, ...]

    @property
    def read(self) -> list[str]:
        """The columns that are read, each once."""
        return list(dict.fromkeys([*self.columns.values(), *self.scores]))


def layout_of(source: Path, table: Table, options: Options) -> Layout:
    """Return which columns are read as what.

    Raises:
        AuditError: a field or a column is unknown, stands twice, or the table has no outcome.
    """
    mapped = _mapped(options)
    scores = _score_columns(table, options, mapped)
    if scores:
        return _one_column_an_arm(source, table, mapped, scores)
    found = {field: field for field in FIELDS if field not in mapped and _may_be_there(table, field)}
    if "arm" not in mapped and options.arms and "arm" not in table.columns:
        _check_columns(source, table, list(options.arms.values()))
    columns = {"item_id": DEFAULT_ITEM, **found, **mapped}
    if not {"score", "correct"} & (set(mapped) | set(table.columns)) and "error" not in table.columns:
        raise AuditError(
            f"{source}: name the column of scores of each arm, as in --arm baseline=COLUMN; or, where every row is one "
            f"outcome, its column as in --map score=COLUMN or --map correct=COLUMN (columns: {few(table.columns)})"
        )
    named = [column for field, column in columns.items() if field in mapped or column in table.columns]
    _check_columns(source, table, [columns["item_id"], *named])
    return Layout(columns, frozenset(mapped), ())


def _mapped(options: Options) -> dict[str, str]:
    for field in options.mapping:
        if field not in FIELDS:
            raise AuditError(f"--map {short(field)}: there is no such field{hint(field, tuple(FIELDS))}")
    item = options.mapping.get("item_id")
    if options.item is not None and item not in (None, options.item):
        raise AuditError(f"--item {short(options.item)} and --map item_id={short(item or '')}: which names the item?")
    return {**({"item_id": options.item} if options.item is not None else {}), **options.mapping}


def _score_columns(table: Table, options: Options, mapped: Mapping[str, str]) -> tuple[str, ...]:
    """Return the columns that `--arm` names, empty where it names values of a column of arms."""
    named = tuple(options.arms.values())
    if "arm" in mapped or not named:
        return ()
    are_columns = all(name in table.columns for name in named)
    return named if are_columns or "arm" not in table.columns else ()


def _one_column_an_arm(source: Path, table: Table, mapped: Mapping[str, str], scores: tuple[str, ...]) -> Layout:
    allowed = _OF_THE_ITEM if len(scores) > 1 else _OF_ONE_ARM
    for field in mapped:
        if field not in (*allowed, *_OF_A_RUN):
            raise AuditError(
                f"--map {field}: {len(scores)} columns are named as an arm's scores, and {field} is of one outcome. "
                "Where every row is one outcome, name the column that tells the arms apart, as in --map arm=COLUMN; or "
                "import one source an arm"
            )
    columns = {"item_id": DEFAULT_ITEM, **mapped}
    columns |= {field: field for field in allowed if field not in mapped and field not in scores
                and _may_be_there(table, field)}  # fmt: skip
    if "question" in columns and "question" not in mapped and not _may_be_there(table, columns.get("gold", "")):
        del columns["question"]
    named = [column for field, column in columns.items() if field in mapped or column in table.columns]
    _check_columns(source, table, [columns["item_id"], *named, *scores])
    for column in scores:
        if [columns["item_id"], *scores].count(column) > 1:
            raise AuditError(f'{source}: column "{column}" is named twice; the item and each arm have their own')
    return Layout(columns, frozenset(mapped), scores)


def _may_be_there(table: Table, column: str) -> bool:
    return not table.is_complete or column in table.columns


def _check_columns(source: Path, table: Table, wanted: Sequence[str]) -> None:
    """Check the columns that the command line names; of JSON lines, one that no row has is found at the end."""
    for column in wanted:
        if table.is_complete and column not in table.columns:
            raise no_column(source, table, column)
        if list(table.columns).count(column) > 1:
            raise AuditError(
                f'{source}: {list(table.columns).count(column)} columns are called "{column}": which is meant?'
            )


def no_column(source: Path, table: Table, column: str) -> AuditError:
    """Return the error that a column is not there."""
    head, *inner = column.split(".")
    if inner and head in table.objects:
        keys = "".join(f".{json.dumps(part)}" for part in (head, *inner))
        return AuditError(
            f'{source}: there is no column "{short(column)}": {short(head)} holds an object; a column is a key of the '
            f"row itself. Make it one, as with jq -c '.{json.dumps(column)} = {keys}' (columns: {few(table.columns)})"
        )
    near = nearest_name(column, table.columns)
    meant = f'; did you mean "{short(near)}"?' if near else ""
    if column == DEFAULT_ITEM:
        meant += "; name the column of item ids with --item" + (f", as in --item {short(near)}" if near else "")
    return AuditError(f'{source}: there is no column "{short(column)}"{meant} (columns: {few(table.columns)})')


def told(table: Table, layout: Layout) -> Iterator[str]:
    """Yield what became what, one line a column."""
    for field, column in layout.columns.items():
        if column in table.columns:
            target = {"arm": "arms", "seed": "seeds of the arms", "question": "prompts.question"}
            if layout.columns.get("score") not in table.columns:
                target["correct"] = "evals.score, correct"
            by_name = "" if field in layout.mapped or field == "item_id" else " (found by its name)"
            yield f"column {short(column)} -> {target.get(field, f'evals.{field}')}{by_name}"
    yield from (f"column {short(column)} -> evals.score" for column in layout.scores)


def left_out(table: Table, layout: Layout) -> Iterator[str]:
    """Yield the columns that are not read, with what would take them."""
    others = [name for name in dict.fromkeys(table.columns) if name not in layout.read]
    unnamed = [name for name in others if name not in FIELDS]
    if unnamed:
        yield f"columns {few(unnamed)}: called as no field; {_TAKEN_BY[bool(layout.scores)]}"
    why: dict[str, list[str]] = {}
    for name in others:
        if name in FIELDS:
            why.setdefault(_why_left_out(name, layout), []).append(name)
    yield from (f"columns {few(names)}: {said}" for said, names in why.items())


_TAKEN_BY = {
    True: "one is taken as --arm ROLE=COLUMN or --map FIELD=COLUMN (fields: audit import --list)",
    False: "one is taken as --map FIELD=COLUMN (fields: audit import --list)",
}


def _why_left_out(name: str, layout: Layout) -> str:
    """Return why a column of a field's name is not read as this field."""
    if name in layout.mapped:
        return f"{name} is taken from column {short(layout.columns[name])}"
    if name == "question":
        return "a prompt needs its right answer too; name the column of these as in --map gold=COLUMN"
    if name in _OF_A_RUN:
        return f"taken with --map {name}={name}, where it is the same for every column of scores"
    return "not said of which arm; where every row is one outcome, name the column of arms as in --map arm=COLUMN"
