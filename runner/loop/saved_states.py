"""Where each arm's weights and optimiser state were saved: `state/saved/arm=<arm>/seed=<seed>.json` in the run.

Two names are written in turn on the service, so that the state before the last is whole while the last is written
over, and a run keeps two states an arm whatever its length.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from analysis.errors import AuditError
from audits.store.durable import write_whole
from audits.store.layout import partition_folder

STATE_NAME = "state"
_KEPT = 2


@dataclass(frozen=True)
class SavedState:
    """One saved state: the weights after the updates of `step`.

    Attributes:
        step: the rollout step, 0-based.
        path: the service's `tinker://` path.
        slot: which of the two names it took.
    """

    step: int
    path: str
    slot: int


class SavedStates:
    """The states of one arm, oldest first; the file is written whole."""

    def __init__(self, run: Path, arm: str, seed: int) -> None:
        self._path = run / STATE_NAME / f"{partition_folder('saved', arm, seed)}.json"
        self._states = self._read()

    def usable(self, last_whole_step: int) -> SavedState | None:
        """Return the latest state whose rows are all logged, None where training starts anew.

        Args:
            last_whole_step: the last step up to which every step is whole; -1 for none.
        """
        return max((state for state in self._states if state.step <= last_whole_step), key=_step, default=None)

    @property
    def next_slot(self) -> int:
        """The name to write next: never the one that the latest state has."""
        return 1 - self._states[-1].slot if self._states else 0

    def add(self, state: SavedState) -> None:
        """Record a state that the service has saved; one of the same name is gone by now."""
        self._write([*(kept for kept in self._states if kept.slot != state.slot), state][-_KEPT:])

    def forget_after(self, step: int) -> None:
        """Drop the states of later steps: their rows will be logged anew."""
        self._write([state for state in self._states if state.step <= step])

    def _write(self, states: list[SavedState]) -> None:
        self._states = states
        self._path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"states": [asdict(state) for state in states]}, indent=2, sort_keys=True)
        write_whole(self._path, f"{text}\n".encode())

    def _read(self) -> list[SavedState]:
        try:
            content = json.loads(self._path.read_text(encoding="utf-8"))
            return [SavedState(**state) for state in content["states"]]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise AuditError(f"{self._path}: not a record of saved states ({error}); nothing can be resumed") from error


def _step(state: SavedState) -> int:
    return state.step
