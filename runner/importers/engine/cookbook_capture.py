"""What tinker-cookbook's capture says was sent to the service: settings of sampling and of the optimiser.

A captured sample has tokens and log-probabilities of the sampler, and neither those of the trainer nor advantages, so
that no token row can be made of it; its group and trajectory are stated only where a recipe adds them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from runner.importers.engine.checks import few
from runner.importers.engine.record import Record
from runner.importers.engine.source_files import json_lines

_FOLDER, _SAMPLES, _TRAINING = "capture", "sample.jsonl", "train_op.jsonl"
_OPTIMIZER = ("learning_rate", "beta1", "beta2", "eps", "weight_decay", "grad_clip_norm")
_SAMPLING = {"temperature": "rollout.temperature", "max_tokens": "rollout.max_tokens"}


class Capture:
    """The settings of every captured request that was answered."""

    def __init__(self) -> None:
        self._values: dict[str, set[Any]] = {}
        self._updates: dict[object, int] = {}
        self._counts = {"samples": 0, "optimiser steps": 0, "requests without an answer": 0}

    def executed(self) -> dict[str, Any]:
        """Return what was sent with one value throughout, by the plan's paths."""
        found = {path: next(iter(values)) for path, values in self._values.items() if len(values) == 1}
        batches = set(self._updates.values())
        if len(batches) == 1 and None not in self._updates:
            found["rollout.updates_per_batch"] = batches.pop()
        return found

    def notes(self) -> Iterator[str]:
        """Yield what was captured, and which settings had several values."""
        counts = ", ".join(f"{name}: {number:,}" for name, number in self._counts.items() if number)
        if counts:
            yield f"captured requests: {counts}"
        several = {path: values for path, values in self._values.items() if len(values) > 1}
        for path, values in several.items():
            yield f"{path} was sent with several values ({few(sorted(map(str, values)))})"
        if None in self._updates:
            yield "captured optimiser steps state no iteration, so they are not counted by batch"

    def add_sample(self, record: Record) -> None:
        """Count a captured call of the sampler."""
        if not self._answered(record):
            return
        self._counts["samples"] += 1
        if isinstance(record.values.get("sampling_params"), dict):
            sent = record.part("sampling_params")
            for key, path in _SAMPLING.items():
                if sent.values.get(key) is not None:
                    self._add(path, sent.number(key) if key == "temperature" else sent.whole(key))

    def add_training(self, record: Record) -> None:
        """Count a captured call of the trainer."""
        if not self._answered(record) or record.text("op") != "optim_step":
            return
        self._counts["optimiser steps"] += 1
        scope = record.part("scope") if record.values.get("scope") is not None else Record({}, record.where)
        iteration = scope.whole_or_none("iteration")
        self._updates[iteration] = self._updates.get(iteration, 0) + 1
        if isinstance(record.values.get("hyperparams"), dict):
            sent = record.part("hyperparams")
            for key in _OPTIMIZER:
                if sent.values.get(key) is not None:
                    self._add(f"optimizer.{key}", sent.number(key))

    def _answered(self, record: Record) -> bool:
        answered = record.text_or_none("status") == "ok"
        self._counts["requests without an answer"] += not answered
        return answered

    def _add(self, path: str, value: float) -> None:
        self._values.setdefault(path, set()).add(value)


def capture_files(folder: Path) -> list[Path]:
    """Return the captured files of a log directory."""
    return [path for name in (_SAMPLES, _TRAINING) if (path := folder / _FOLDER / name).is_file()]


def read_capture(paths: list[Path]) -> Capture:
    """Return the settings of captured requests.

    Raises:
        AuditError: a line is no captured request; it is named.
    """
    found = Capture()
    for path in paths:
        if not path.stat().st_size:
            continue
        for record in json_lines(path):
            (found.add_sample if path.name == _SAMPLES else found.add_training)(record)
    return found
