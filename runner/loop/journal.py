"""`progress.jsonl`: what happened, one JSON object a line, for whoever watches a run or feeds a tracker.

Every line has `event` (`started`, `resumed`, `step`, `evaluation`, `fault`, `ended`), `at` (UTC) and `elapsed` (seconds
that the run has been at work, earlier attempts included). `docs/trackers.md` lists the other keys.
"""

import json
import threading
from pathlib import Path
from typing import Any

from audits.store.durable import append_lines
from runner.loop.progress import Elapsed
from runner.loop.provenance import utc_now

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


def seconds_at_work(run: Path) -> float:
    """Return how long a run had been at work when it wrote its last line; 0 where it wrote none."""
    try:
        lines = (run / PROGRESS_NAME).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return 0.0
    for line in reversed(lines):
        try:
            return float(json.loads(line)["elapsed"])
        except (ValueError, KeyError, TypeError):
            # A torn last line: the process died while it wrote.
            continue
    return 0.0
