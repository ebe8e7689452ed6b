"""Every importer, found by its file: `runner/importers/<id>.py`."""

import importlib
import pkgutil
from pathlib import Path
from typing import Protocol, cast

import runner.importers
from analysis.errors import AuditError
from analysis.nearest import hint
from runner.importers.engine.checks import short
from runner.importers.engine.imported import Imported, Options
from runner.importers.engine.source_files import folder_entries
from runner.importers.engine.tables.table import is_table

_TABLES = "outcomes"
_LISTED = 8
# Whether an importer recognises a file costs reading its beginning.
_LOOKED_AT = 200


class Importer(Protocol):
    """What every importer has, as a module.

    Attributes:
        ITEM_COLUMN: whether a column names the item, so that `--item` has a meaning.
        MAPPED: whether there is a choice of what a field is taken from, so that `--map` has a meaning.
    """

    ITEM_COLUMN: bool
    MAPPED: bool

    def sniff(self, path: Path) -> bool:
        """Return whether the path looks like this importer's source; never raises."""

    def read(self, source: Path, options: Options) -> Imported:
        """Return what the source says.

        Raises:
            AuditError: the source is not what it seemed; file, line and item are named.
        """


def importer_ids() -> tuple[str, ...]:
    """Return the ids of all importers, sorted."""
    found = pkgutil.iter_modules(runner.importers.__path__)
    return tuple(sorted(module.name for module in found if not module.ispkg))


def importer_id(word: str) -> str | None:
    """Return the importer's id that a word of the command line names (`-` may stand for `_`), None where none is."""
    known = word.replace("-", "_")
    return known if known in importer_ids() else None


def known_importer(word: str) -> str:
    """Return the importer's id that a word of the command line names.

    Raises:
        AuditError: there is no such importer; the message names the known ones.
    """
    found = importer_id(word)
    if found is None:
        raise AuditError(f'there is no importer "{word}"{hint(word, importer_ids())}')
    return found


def load_importer(word: str) -> Importer:
    """Return the importer with this id.

    Raises:
        AuditError: there is no such importer; the message names the known ones.
    """
    return cast(Importer, importlib.import_module(f"runner.importers.{known_importer(word)}"))


def recognise(path: Path, *, as_table: bool = False) -> str:
    """Return the id of the one importer that recognises a path.

    Args:
        path: the source.
        as_table: whether columns were named on the command line: a table that none recognises is then read as one.

    Raises:
        AuditError: the path is not there, or none or several recognise it.
    """
    if not path.exists():
        raise AuditError(f"{path}: there is no such file or directory (importers: {', '.join(importer_ids())})")
    found = _recognising(path)
    if len(found) == 1:
        return found[0]
    if found:
        raise AuditError(f"{path}: {' and '.join(found)} recognise it. Name the one that is meant before the path")
    if as_table and is_table(path):
        return _TABLES
    raise AuditError(f"{path}: no importer recognises it{_advice(path)}")


def _recognising(path: Path) -> list[str]:
    return [known for known in importer_ids() if load_importer(known).sniff(path)]


def _advice(path: Path) -> str:
    """Return what can be done about a path that none recognises."""
    if is_table(path):
        return (
            f". A table (CSV, JSON lines, Parquet) is read by {_TABLES}: `audit import {_TABLES} {path} --item COLUMN "
            "--arm ROLE=COLUMN`, or with --map FIELD=COLUMN where a row is one outcome (fields: audit import --list)"
        )
    inside = [f"{name} ({known})" for name, known in _recognised_inside(path)] if path.is_dir() else []
    if inside:
        return f"; in it are {', '.join(inside)}. Name one, or one an arm as in --arm baseline=PATH"
    nor = ", nor anything in it" if path.is_dir() else ""
    return (
        f"{nor}. Name an importer before the path: {', '.join(importer_ids())} (`audit import --list` says what each "
        f"reads); a table with a column of scores an arm is read by {_TABLES}"
    )


def _recognised_inside(folder: Path) -> list[tuple[str, str]]:
    """Return a few of the files and folders in a folder that an importer recognises, the outermost first."""
    found: list[tuple[str, str]] = []
    waiting, looked_at = [folder], 0
    while waiting:
        entries = folder_entries(waiting.pop(0))
        for path in entries:
            if len(found) == _LISTED or looked_at == _LOOKED_AT:
                return found
            looked_at += 1
            if known := _recognising(path):
                found.append((short(path.relative_to(folder).as_posix()), " or ".join(known)))
            elif path.is_dir() and not path.is_symlink():
                waiting.append(path)
    return found
