"""Every exporter, found by its file: `runner/exporters/<id>.py`."""

import importlib
import pkgutil
from pathlib import Path
from typing import Protocol, cast

import runner.exporters
from analysis.errors import AuditError
from analysis.nearest import hint
from audits.store.reader import Run


class Exporter(Protocol):
    """What every exporter has, as a module; its docstring says what the format carries and what it loses.

    Attributes:
        TABLE: table of the run format without which there is nothing to write.
        IS_FOLDER: whether it writes a directory, and not one file.
    """

    TABLE: str
    IS_FOLDER: bool

    def write(self, run: Run, out: Path) -> list[str]:
        """Write the run, and return what is to be told: what was written, then what could not be carried."""


def exporter_ids() -> tuple[str, ...]:
    """Return the ids of all exporters as they are typed, sorted."""
    found = pkgutil.iter_modules(runner.exporters.__path__)
    return tuple(sorted(module.name.replace("_", "-") for module in found if not module.ispkg))


def load_exporter(word: str) -> Exporter:
    """Return the exporter with this id.

    Raises:
        AuditError: there is no such exporter; the message names the known ones.
    """
    if word not in exporter_ids():
        known = ", ".join(exporter_ids())
        raise AuditError(f'--to "{word}": there is no such format{hint(word, exporter_ids())} (formats: {known})')
    return cast(Exporter, importlib.import_module(f"runner.exporters.{word.replace('-', '_')}"))
