"""What lm-evaluation-harness says of a task in its `results_DATE.json`: settings, by the plan's paths."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from runner.importers.engine.record import Record
from runner.importers.engine.source_files import read_json

# The date of a run, the same in the names of its results and its samples.
SAMPLES = re.compile(r"samples_(.+)_([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9-]+(?:\.[0-9]+)?)\.jsonl")


def results_beside(samples: Path) -> Path | None:
    """Return the results of the run that wrote a file of samples, None where they are not beside it."""
    named = SAMPLES.fullmatch(samples.name)
    beside = samples.with_name(f"results_{named[2]}.json") if named else None
    return beside if beside is not None and beside.is_file() else None


def settings_of(path: Path, task: str) -> dict[str, Any]:
    """Return the settings that a run's results state of a task.

    Raises:
        AuditError: the file is not what it should be.
    """
    record = read_json(path)
    task_config = record.part_or_empty("configs").part_or_empty(task)
    return {name: value for name, value in _stated(record, task_config, task) if value is not None}


def _stated(record: Record, task_config: Record, task: str) -> Iterator[tuple[str, Any]]:
    config = record.part_or_empty("config")
    generation = {**task_config.part_or_empty("generation_kwargs").values, **_arguments(config, "gen_kwargs")}
    options = Record(generation, f"{task_config.where}, generation_kwargs")
    arguments = _arguments(config, "model_args")
    yield "model", arguments.get("pretrained") or arguments.get("model") or config.text_or_none("model")
    yield "model_adapter", arguments.get("peft") or arguments.get("delta")
    yield "evaluation.backend", config.text_or_none("model")
    yield "evaluation.task", task
    yield "evaluation.task_version", record.part_or_empty("versions").values.get(task)
    yield "evaluation.fewshot", record.part_or_empty("n-shot").whole_or_none(task)
    yield "evaluation.temperature", _temperature(options)
    yield "evaluation.max_tokens", _most_tokens(options)
    yield "evaluation.stop", generation.get("until")
    yield "evaluation.seed", config.values.get("random_seed")
    yield "evaluation.repeats", task_config.whole_or_none("repeats")
    yield "evaluation.chat_template", record.values.get("chat_template_sha")
    yield "evaluation.system_instruction", record.values.get("system_instruction_sha")
    yield "dataset.path", task_config.text_or_none("dataset_path")
    yield "dataset.name", task_config.text_or_none("dataset_name")


def _arguments(config: Record, key: str) -> dict[str, Any]:
    """Return arguments that stand as an object, or as a text `a=b,c=d` in older results."""
    value = config.values.get(key)
    if isinstance(value, str):
        pairs = (entry.partition("=") for entry in value.split(","))
        return {name.strip(): found.strip() for name, separator, found in pairs if separator}
    return dict(config.part_or_empty(key).values)


def _temperature(options: Record) -> float | None:
    """Return the temperature; without sampling it is 0 whatever stands there."""
    if options.values.get("do_sample") in (False, "false", "False"):
        return 0.0
    return _number(options, "temperature")


def _most_tokens(options: Record) -> int | None:
    name = next((name for name in ("max_gen_toks", "max_new_tokens", "max_tokens") if name in options.values), None)
    value = _number(options, name) if name else None
    return int(value) if value is not None else None


def _number(options: Record, key: str) -> float | None:
    """Return a number, which stands as text where it came from the command line."""
    value = options.values.get(key)
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", value):
        return float(value)
    return None if value is None else options.number(key)
