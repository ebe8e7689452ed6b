"""Phases of tinker-cookbook's `timing_spans.jsonl`: the spans of an iteration that do not lie inside one another."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from audits.store.gathered import Rows, Scratch
from runner.importers.engine.source_files import json_lines

# A span is counted from the first of its iteration, by no clock of the world, so that a phase has no start.
_PHASES = {
    "sampling": "sample",
    "train_step": "train",
    "run_evaluations_parallel": "eval",
    "save_checkpoint": "checkpoint",
}


@dataclass
class Spans:
    """Phases by step, and the names of spans that are none."""

    phases: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)

    def rows(self, scratch: Scratch) -> Iterator[tuple[int, Rows]]:
        """Yield the phases of each step that has one, as rows of the table of phases."""
        for step, phases in sorted(self.phases.items()):
            rows = scratch.rows("phases")
            for phase in phases:
                rows.append(phase)
            if rows:
                yield step, rows


def read_spans(path: Path) -> Spans:
    """Return the phases of a file of spans; of a step that a resumed run wrote again, the last.

    Raises:
        AuditError: a line is no list of spans with names and durations; it is named.
    """
    found = Spans()
    for record in json_lines(path):
        step = record.whole("step")
        found.phases[step] = []
        for span in record.parts("spans"):
            name, seconds = span.text("name"), span.number("duration")
            if seconds < 0:
                raise span.fault("duration", "a number from 0")
            if name in _PHASES:
                found.phases[step].append({"step": step, "phase": _PHASES[name], "seconds": seconds})
            else:
                found.others.add(name)
    return found
