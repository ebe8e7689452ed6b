"""Open sessions on disk, so that a service that is started again still knows them and what they hold.

One JSON file a session, `sessions/ID.json` below the state directory, replaced whole at each change. What only
memory holds is not in it: training runs go on from a saved state, unnamed sampler weights are gone.
"""

import json
import logging
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from runner.service.durability import flush_folder

FORMAT_VERSION = 2
FORGET_SECONDS = 7 * 86400.0
"""A session without a change for so long is dropped at the next start: its client is gone."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SamplerRecord:
    """What a sampling session samples: a base model, or a checkpoint on it."""

    base_model: str
    model_path: str | None


@dataclass(frozen=True)
class SessionRecord:
    """A session: its sampling sessions by id, and its uploaded losses by id, as the client sent them."""

    samplers: dict[str, SamplerRecord] = field(default_factory=dict)
    losses: dict[str, dict[str, Any]] = field(default_factory=dict)


class SessionJournal:
    """The open sessions below one state directory."""

    def __init__(self, state_dir: Path, clock: Callable[[], float] = time.time) -> None:
        self._root = state_dir / "sessions"
        self._root.mkdir(parents=True, exist_ok=True)
        self._clock = clock

    def write(self, session_id: str, record: SessionRecord) -> None:
        """Keep a session and what it holds."""
        content = {"format_version": FORMAT_VERSION, "changed_at": self._clock(), **asdict(record)}
        with tempfile.NamedTemporaryFile("w", dir=self._root, suffix=".writing", delete=False, encoding="utf-8") as new:
            json.dump(content, new, indent=1, sort_keys=True)
            new.flush()
            os.fsync(new.fileno())
        Path(new.name).replace(self._root / f"{session_id}.json")
        flush_folder(self._root)

    def remove(self, session_id: str) -> None:
        """Forget a session."""
        (self._root / f"{session_id}.json").unlink(missing_ok=True)

    def read(self) -> dict[str, SessionRecord]:
        """Return the sessions, each with what it holds; drop old ones and what an interruption left."""
        for leftover in self._root.glob("*.writing"):
            leftover.unlink()
        sessions: dict[str, SessionRecord] = {}
        for file in sorted(self._root.glob("*.json")):
            content = json.loads(file.read_text(encoding="utf-8"))
            if content["format_version"] != FORMAT_VERSION:
                _log.warning("%s: format version %s is not read", file, content["format_version"])
            elif self._clock() - content["changed_at"] > FORGET_SECONDS:
                file.unlink()
            else:
                samplers = {name: SamplerRecord(**record) for name, record in content["samplers"].items()}
                sessions[file.stem] = SessionRecord(samplers, content["losses"])
        return sessions
