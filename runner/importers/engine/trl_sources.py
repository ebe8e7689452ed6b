"""Which files of a source are TRL's completions, by step, and which is the trainer's state."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from analysis.errors import AuditError
from runner.importers.engine.checks import few
from runner.importers.engine.source_files import folder_entries, peek

_COMPLETIONS = re.compile(r"completions_([0-9]{1,9})\.parquet")
_CHECKPOINT = re.compile(r"checkpoint-([0-9]{1,9})")
_STATE = "trainer_state.json"
_HISTORY = "log_history"


@dataclass
class TrlFiles:
    """What a source holds."""

    completions: dict[int, Path] = field(default_factory=dict)
    state: Path | None = None
    others: list[Path] = field(default_factory=list)

    @property
    def read(self) -> list[Path]:
        """Every file that is read."""
        return [*self.completions.values(), *([self.state] if self.state else [])]


def is_trl(path: Path) -> bool:
    """Return whether a path is an output directory, a file of completions or a trainer's state; never raises."""
    if path.is_dir():
        try:
            return bool(_trl_files(path).read)
        except AuditError:
            return False
    if path.name.endswith(".json"):
        return _HISTORY in (peek(path) or {})
    return _COMPLETIONS.fullmatch(path.name) is not None


def trl_files(source: Path) -> TrlFiles:
    """Return which files of a source are what.

    Args:
        source: an output directory, its folder of completions, or one of their files.

    Raises:
        AuditError: it holds none of them.
    """
    if not source.is_dir():
        match = _COMPLETIONS.fullmatch(source.name)
        return TrlFiles(completions={int(match[1]): source}) if match else TrlFiles(state=source)
    found = _trl_files(source)
    if not found.read:
        seen = few([path.name for path in folder_entries(source)]) or "nothing"
        raise AuditError(
            f"{source}: holds neither completions/completions_NNNNN.parquet nor {_STATE} (it holds {seen})"
        )
    return found


def _trl_files(folder: Path) -> TrlFiles:
    found = TrlFiles()
    inside = folder / "completions"
    entries = folder_entries(folder)
    for path in filter(Path.is_file, [*entries, *(folder_entries(inside) if inside.is_dir() else [])]):
        match = _COMPLETIONS.fullmatch(path.name)
        if match:
            found.completions[int(match[1])] = path
        elif path.name == _STATE:
            found.state = path
        else:
            found.others.append(path)
    if found.state is None:
        # The state of the last checkpoint holds the history up to it.
        saved = {int(match[1]): path / _STATE for path in entries
                 if (match := _CHECKPOINT.fullmatch(path.name)) and (path / _STATE).is_file()}  # fmt: skip
        found.state = saved[max(saved)] if saved else None
    found.completions = dict(sorted(found.completions.items()))
    return found
