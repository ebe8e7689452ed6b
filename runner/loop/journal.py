"""`progress.jsonl`: what happened, one JSON object a line, for whoever watches a run or feeds a tracker.

Every line has `event` (`started`, `resumed`, `step`, `evaluation`, `fault`, `ended`), `at` (UTC) and `elapsed` (seconds
that the run has been at work, earlier attempts included). `docs/trackers.md` lists the other keys.
"""

import json
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from audits.store.durable import append_lines
from runner.loop.budget import Pace
from runner.loop.progress import Elapsed
from runner.provenance import utc_now

PROGRESS_NAME = "progress.jsonl"


class Journal:
    """Appends events to a run's `progress.jsonl`; safe from several threads."""

    def __init__(self, run: Path, elapsed: Elapsed) -> None:
        self._path = run / PROGRESS_NAME
        self._elapsed = elapsed
        self._lock = threading.Lock()

    def write(self, event: str, **facts: Any) -> None:
        """Append one event."""
        line = {"event": event, "at": utc_now(), "elapsed": round(self._elapsed.seconds, 3), **facts}
        with self._lock:
            append_lines(self._path, [json.dumps(line, sort_keys=True)])


def read_events(run: Path) -> list[dict[str, Any]]:
    """Return the events of a run, oldest first; a line that was not finished when its process died is passed over."""
    try:
        lines = (run / PROGRESS_NAME).read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    events = []
    for line in lines:
        with suppress(ValueError):
            events.append(json.loads(line))
    return events


def seconds_at_work(events: Sequence[Mapping[str, Any]]) -> float:
    """Return how long a run had been at work at its last event; 0 where there was none."""
    return max((float(event["elapsed"]) for event in events), default=0.0)


def pace_of(events: Sequence[Mapping[str, Any]]) -> Pace:
    """Return how long the steps and evaluations of earlier attempts took."""
    pace = Pace()
    for event in events:
        if "seconds" in event:
            pace.note(event["event"], float(event["seconds"]))
    return pace
