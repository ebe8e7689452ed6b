"""What each importer says of itself, for `audit import --list` and for `docs/importers.md`."""

import ast
import textwrap
from dataclasses import dataclass
from pathlib import Path

import runner.importers
from runner.importers.engine.registry import importer_ids, load_importer
from runner.importers.engine.tables.fields import FIELDS

_WIDTH = 96
_COLUMN = max(map(len, FIELDS)) + 2

_HEAD = """# Importers

`audit import [IMPORTER] SOURCE --out RUN` makes a run of what another tool wrote. Each importer is one file in
[`runner/importers`](../runner/importers), and what stands here is what that file says. A source is recognised by what
is in it; where several importers recognise one, or none does, the importer's id stands before the source. `--dry-run`
says what would become what and writes nothing; what is left out is told.

`--arm ROLE=NAME` gives a role to an arm of the source, by the source's own name of it (a column of a table); without
SOURCE, `--arm ROLE=PATH`, once a source, makes one run of several. Roles are `baseline` and `treatment`, others are
free. A pickle is never read; an item without an id, an item that stands twice, a score outside 0 to 1, or arms of other
items stop the import.

"""


@dataclass(frozen=True)
class Documentation:
    """What an importer's file says.

    Attributes:
        id: of the importer.
        title: the first sentence: what it reads.
        text: all of it.
    """

    id: str
    title: str
    text: str


def documented(importer_id: str) -> Documentation:
    """Return what an importer's file says, without running it."""
    path = Path(next(iter(runner.importers.__path__))) / f"{importer_id}.py"
    text = ast.get_docstring(ast.parse(path.read_bytes())) or ""
    return Documentation(importer_id, " ".join(text.split("\n\n")[0].split()).removesuffix("."), text)


def importers_list() -> str:
    """Return one line an importer, and the fields of a table."""
    known = [documented(importer_id) for importer_id in importer_ids()]
    width = max(len(item.id) for item in known) + 2
    fields = [_wrapped(f"{name:<{_COLUMN}}", said) for name, said in _field_words()]
    return "\n".join(
        [
            *(_wrapped(f"{item.id:<{width}}", item.title) for item in known),
            "",
            "`audit import --list IMPORTER` explains one.",
            "",
            "Fields of a table (outcomes), as --map FIELD=COLUMN; a column of a field's name needs no --map:",
            "",
            *fields,
        ]
    )


def importer_words(importer_id: str) -> str:
    """Return all that an importer says, with its options."""
    item = documented(importer_id)
    options = [_wrapped(f"{name:<8}", said.replace("`", "")) for name, said in _options(importer_id)]
    return "\n".join([item.id, "", item.text, "", *options])


def importers_page() -> str:
    """Return the page of all importers, one section each, sorted by id."""
    known = [documented(importer_id) for importer_id in importer_ids()]
    listed = "".join(f"- [`{item.id}`](#{item.id}): {item.title}\n" for item in known)
    return _HEAD + listed + "".join(_section(item) for item in known)


def _section(item: Documentation) -> str:
    options = "".join(f"| `{name}` | {said} |\n" for name, said in _options(item.id))
    return f"\n## {item.id}\n\n{item.text}\n\n| option | |\n|---|---|\n{options}{_fields_table(item.id)}"


def _options(importer_id: str) -> list[tuple[str, str]]:
    importer = load_importer(importer_id)
    item = (
        "the column of item ids; default `item_id`" if importer.ITEM_COLUMN else "refused: items have ids of their own"
    )
    mapped = "refused: the source has one reading"
    if importer.MAPPED:
        mapped = "`FIELD=COLUMN`, repeatable" if importer.ITEM_COLUMN else "`FIELD=NAME`, as said above"
    return [("--item", item), ("--map", mapped)]


def _field_words() -> list[tuple[str, str]]:
    return [(name, f"{field.needed}: {field.meaning}") for name, field in FIELDS.items()]


def _fields_table(importer_id: str) -> str:
    if not load_importer(importer_id).ITEM_COLUMN:
        return ""
    rows = "".join(f"| `{name}` | {said} |\n" for name, said in _field_words())
    return f"\n| field of `--map` | what a cell is |\n|---|---|\n{rows}"


def _wrapped(label: str, text: str) -> str:
    return textwrap.fill(text, _WIDTH, initial_indent=label, subsequent_indent=" " * len(label))
