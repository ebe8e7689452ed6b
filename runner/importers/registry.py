"""Every importer, found by its file: `runner/importers/<id>.py`."""

import importlib
import pkgutil
from pathlib import Path
from typing import Protocol, cast

import runner.importers
from analysis.errors import AuditError
from analysis.nearest import hint


class Importer(Protocol):
    """The one function that every importer has."""

    def run(self, source: Path, *, out: Path, item: str, arms: dict[str, str], command_line: list[str]) -> str:
        """Make a run directory and return one line that says what was imported."""


def importer_ids() -> tuple[str, ...]:
    """Return the ids of all importers, sorted."""
    found = (module.name for module in pkgutil.iter_modules(runner.importers.__path__))
    return tuple(sorted(name for name in found if name != "registry"))


def load_importer(importer_id: str) -> Importer:
    """Return the importer with this id.

    Raises:
        AuditError: there is no such importer; the message names the known ones.
    """
    known = importer_ids()
    if importer_id not in known:
        raise AuditError(f'there is no importer "{importer_id}"{hint(importer_id, known)}')
    return cast(Importer, importlib.import_module(f"runner.importers.{importer_id}"))
