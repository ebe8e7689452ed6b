"""Every importer, found by its file: `runner/importers/<id>.py`."""

import importlib
import pkgutil
from pathlib import Path
from typing import Protocol, cast

import runner.importers
from analysis.errors import AuditError
from analysis.nearest import hint
from runner.importers.engine.imported import Imported, Options


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


def recognise(path: Path) -> str:
    """Return the id of the one importer that recognises a path.

    Raises:
        AuditError: the path is not there, or none or several recognise it.
    """
    if not path.exists():
        raise AuditError(f"{path}: there is no such file or directory (importers: {', '.join(importer_ids())})")
    found = [known for known in importer_ids() if load_importer(known).sniff(path)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise AuditError(
            f"{path}: no importer recognises it. Name one before the path: {', '.join(importer_ids())}; a table with "
            "a column of scores an arm is read by outcomes"
        )
    raise AuditError(f"{path}: {' and '.join(found)} recognise it. Name the one that is meant before the path")
