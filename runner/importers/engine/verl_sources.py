"""Which files of a source are verl's dumps of rollouts, its dumps of validations, and its log of figures."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from analysis.errors import AuditError
from runner.importers.engine.checks import few, short
from runner.importers.engine.source_files import folder_entries, json_lines, peek
from runner.importers.engine.verl_console import looks_like_console

_DUMP = re.compile(r"([0-9]{1,9})\.jsonl")
_ROW = {"input", "output", "score"}
_FIGURES = {"step", "data"}
CONSOLES = frozenset({".log", ".txt", ".out"})
_FIELDS = ("evals", "rollouts", "score")


@dataclass
class VerlFiles:
    """What a source holds: dumps by step, and where figures stand."""

    evals: dict[int, Path] = field(default_factory=dict)
    rollouts: dict[int, Path] = field(default_factory=dict)
    figures: Path | None = None
    console: Path | None = None
    others: list[Path] = field(default_factory=list)

    @property
    def read(self) -> list[Path]:
        """Every file that is read."""
        logs = [path for path in (self.figures, self.console) if path is not None]
        return [*self.rollouts.values(), *self.evals.values(), *logs]


def nearby_files(folder: Path) -> list[Path]:
    """Return the files of a folder and of the folders in it."""
    found = folder_entries(folder)
    found += [inner for path in found if path.is_dir() for inner in folder_entries(path)]
    return sorted(path for path in found if path.is_file())


def is_dump(path: Path) -> bool:
    """Return whether a file is the dump of one step; never raises."""
    return _DUMP.fullmatch(path.name) is not None and (peek(path) or {}).keys() >= _ROW


def is_figures(path: Path) -> bool:
    """Return whether a file is a log of the file logger; never raises."""
    return path.suffix == ".jsonl" and (peek(path) or {}).keys() == _FIGURES


def verl_files(source: Path, mapping: Mapping[str, str]) -> VerlFiles:
    """Return which files of a source are what.

    Args:
        source: a dump, a log, or a folder of them.
        mapping: by `evals` and `rollouts`, the folder that holds them, where this was said.

    Raises:
        AuditError: it holds none of them, or several folders hold one kind.
    """
    for key in mapping:
        if key not in _FIELDS:
            raise AuditError(f"--map {short(key)}: verl has {few(_FIELDS)} to choose")
    found = VerlFiles()
    if not source.is_dir():
        match = _DUMP.fullmatch(source.name)
        if match is not None:
            kind = next((kind for kind in _FIELDS[:2] if kind in mapping), None) or _kind(source)
            getattr(found, kind)[int(match[1])] = source
        elif source.suffix == ".jsonl":
            found.figures = source
        else:
            found.console = source
        return found
    folders: dict[Path, dict[int, Path]] = {}
    for path in nearby_files(source):
        if match := _DUMP.fullmatch(path.name):
            folders.setdefault(path.parent, {})[int(match[1])] = path
        elif found.figures is None and is_figures(path):
            found.figures = path
        elif found.console is None and path.suffix in CONSOLES and looks_like_console(path):
            found.console = path
        else:
            found.others.append(path)
    if found.figures is not None and found.console is not None:
        found.others.append(found.console)
        found.console = None
    _sort_folders(source, folders, mapping, found)
    if not found.read:
        raise AuditError(f"{source}: holds no dump <step>.jsonl of verl's and no log of its figures")
    return found


def _sort_folders(
    source: Path, folders: dict[Path, dict[int, Path]], mapping: Mapping[str, str], found: VerlFiles
) -> None:
    """Tell the folder of rollouts from that of validations."""
    named = {source / mapping[kind]: kind for kind in _FIELDS[:2] if kind in mapping}
    for folder in named:
        if folder not in folders:
            known = [path.relative_to(source).as_posix() for path in folders]
            raise AuditError(f"--map: {folder} holds no dump (folders of dumps: {few(known) or 'none'})")
    for folder, dumps in folders.items():
        kind = named.get(folder) or _kind(dumps[min(dumps)])
        if getattr(found, kind):
            if folder not in named and kind in mapping:
                found.others += dumps.values()
                continue
            raise AuditError(
                f"{source}: several folders hold {'validations' if kind == 'evals' else 'rollouts'}; name the one that "
                f"is meant, as in --map {kind}={folder.relative_to(source).as_posix()}"
            )
        setattr(found, kind, dumps)


def _kind(path: Path) -> str:
    """Return which table a dump belongs to: a validation repeats its score as the reward."""
    first = next(json_lines(path))
    if not set(first.values) >= _ROW:
        raise AuditError(f"{first.where}: no row of a dump, which has {few(sorted(_ROW))}")
    repeats = first.values.get("reward") is not None and first.number("reward") == first.number("score")
    return "evals" if repeats else "rollouts"
