"""tinker-cookbook's benchmarks: `trajectories.jsonl` of one benchmark, with the result and metadata that stand by it.

SOURCE is the file, the benchmark's folder, or a run's folder with one benchmark in it. An item is an `example_id`, and
rows of one are its samples in the file's order. The cookbook scores an example that failed as 0; here it has its error
and no score. The right answer is `logs.expected`, what was graded `logs.extracted`, and the right mark
`metrics.correct`, where the benchmark logs them. A completion that reached its limit is said to; how another one ended
is not stated. Episodes of several turns are refused: the run format has one turn. Written for cookbook 0.5.8.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analysis.errors import AuditError
from audits.store.gathered import Prompts, Rows
from audits.store.manifest import ArmRecord
from runner.importers.engine.checks import few, short
from runner.importers.engine.imported import Imported, ImportedArm, Options
from runner.importers.engine.record import Record
from runner.importers.engine.source_files import folder_entries, json_lines, peek, read_json, source_file

ITEM_COLUMN = False
MAPPED = False

_TRAJECTORIES, _RESULT, _METADATA = "trajectories.jsonl", "result.json", "metadata.json"
_KEYS = {"benchmark", "example_id", "turns", "reward"}
_KNOWN = {*_KEYS, "idx", "metrics", "logs", "error", "time_seconds"}
_PATHS = {"temperature": "evaluation.temperature", "max_tokens": "evaluation.max_tokens",
          "num_samples": "evaluation.samples_per_item"}  # fmt: skip
_LIMITS = ("max_tokens_reached", "context_overflow")


@dataclass
class _Reading:
    """What is found while the trajectories are read."""

    rows: Rows
    prompts: Prompts
    benchmark: str = ""
    samples: Counter[str] = field(default_factory=Counter)
    places: int = 0
    unknown: set[str] = field(default_factory=set)


def sniff(path: Path) -> bool:
    """Return whether the path is a file of trajectories, a benchmark's folder or a run's; never raises."""
    if not path.is_dir():
        return (peek(path) or {}).keys() >= _KEYS if path.suffix == ".jsonl" else False
    try:
        return any((peek(found) or {}).keys() >= _KEYS for found in _trajectories(path))
    except AuditError:
        return False


def read(source: Path, options: Options) -> Imported:
    """Return the outcomes of one benchmark.

    Args:
        source: `trajectories.jsonl`, its folder, or the run's folder.
        options: of them, where rows are gathered.

    Raises:
        AuditError: there are several benchmarks or none, a row is broken, or an episode has several turns.
    """
    path = _only(source)
    places = {_RESULT: path.parent / _RESULT, _METADATA: path.parent.parent / _METADATA}
    beside = {name: found for name, found in places.items() if source.is_dir() and found.is_file()}
    result = read_json(beside[_RESULT]) if _RESULT in beside else None
    metadata = read_json(beside[_METADATA]) if _METADATA in beside else None
    reading = _Reading(options.scratch.rows("evals"), options.scratch.prompts())
    for record in json_lines(path):
        _add(record, reading)
    arm = ArmRecord(
        arm=reading.benchmark, seed=0, role="other", name=reading.benchmark, settings=dict(_settings(metadata))
    )
    return Imported(
        importer="tinker_cookbook_eval",
        files=tuple(source_file(found) for found in (path, *beside.values())),
        arms=(ImportedArm(arm, evals={"final": reading.rows}),),
        prompts=reading.prompts.rows if reading.prompts.rows else None,
        details=_details(metadata),
        mapped=(
            "example_id -> evals.item_id; reward -> score; error -> error, without a score",
            "turns -> completion, n_tokens, prompts.question; metrics.correct -> correct; max_tokens_reached -> length",
            "logs.expected, logs.extracted -> gold, extracted",
        ),
        ignored=(f"keys {few(sorted(reading.unknown))}: not known to this importer",) if reading.unknown else (),
        notes=tuple(_notes(reading, result)),
    )


def _trajectories(folder: Path) -> list[Path]:
    inner = [folder / _TRAJECTORIES, *(path / _TRAJECTORIES for path in folder_entries(folder) if path.is_dir())]
    return [path for path in inner if path.is_file()]


def _only(source: Path) -> Path:
    if not source.is_dir():
        return source
    found = _trajectories(source)
    if len(found) == 1:
        return found[0]
    if not found:
        raise AuditError(f"{source}: holds no {_TRAJECTORIES} of a benchmark")
    raise AuditError(
        f"{source}: holds {len(found)} benchmarks ({few([path.parent.name for path in found])}); import one at a time, "
        f"as `audit import {found[0].parent}`"
    )


def _add(record: Record, reading: _Reading) -> None:
    benchmark, item = record.text("benchmark"), record.text("example_id")
    reading.benchmark = reading.benchmark or benchmark
    if benchmark != reading.benchmark:
        raise record.fault("benchmark", f'"{short(reading.benchmark)}", as in the first line,')
    if not item:
        raise record.fault("example_id", "an id")
    row: dict[str, Any] = {"checkpoint": "final", "item_id": item, "sample": reading.samples[item]}
    error = record.text_or_none("error")
    row |= {"score": record.number("reward")} if error is None else {"error": error or "failed without a message"}
    logs = record.part("logs") if record.values.get("logs") else Record({}, record.where)
    row |= {"gold": _stated(logs, "expected"), "extracted": _stated(logs, "extracted")}
    metrics = record.part("metrics") if record.values.get("metrics") else Record({}, record.where)
    if error is None:
        row |= {"correct": _correct(metrics), "stop_reason": "length" if _is_cut(metrics) else None}
    row |= _answer(record, row, reading)
    reading.rows.append(row)
    reading.samples[item] += 1
    reading.places += record.values.get("idx") is not None and item == str(record.values["idx"])
    reading.unknown |= record.beyond(_KNOWN)


def _answer(record: Record, row: dict[str, Any], reading: _Reading) -> dict[str, Any]:
    """Return what the turns say; a failed example has none."""
    turns = list(record.parts("turns"))
    answers = [turn for turn in turns if turn.text("role") == "assistant"]
    if len(answers) > 1:
        raise AuditError(f"{record.where}: an episode of {len(answers)} turns, and the run format has one")
    if not answers and row.get("error") is None:
        raise AuditError(f"{record.where}: an example without an answer and without an error")
    found: dict[str, Any] = {}
    if answers:
        found = {"completion": answers[0].text("content"), "n_tokens": answers[0].whole_or_none("token_count")}
    asked = [turn for turn in turns if turn.text("role") == "user"]
    if asked and row["gold"] is not None:
        prompt_id = f"{reading.benchmark}/{row['item_id']}"
        prompt = {"prompt_id": prompt_id, "split": "test", "question": asked[0].text("content"), "gold": row["gold"]}
        reading.prompts.add(prompt, record.where)
        found["prompt_id"] = prompt_id
    return found


def _stated(logs: Record, key: str) -> str | None:
    return logs.text(key) if isinstance(logs.values.get(key), str) else None


def _correct(metrics: Record) -> bool | None:
    value = metrics.values.get("correct")
    return bool(value) if isinstance(value, bool | int | float) and value in (0, 1) else None


def _is_cut(metrics: Record) -> bool:
    return any(metrics.values.get(key) not in (None, 0, False) for key in _LIMITS)


def _settings(metadata: Record | None) -> Iterator[tuple[str, Any]]:
    if metadata is None:
        return
    if metadata.values.get("model_name") is not None:
        yield "base_model", metadata.text("model_name")
    config = metadata.part("config") if metadata.values.get("config") else Record({}, metadata.where)
    for key, path in _PATHS.items():
        if config.values.get(key) is not None:
            yield path, config.number(key) if key == "temperature" else config.whole(key)


def _details(metadata: Record | None) -> dict[str, Any]:
    keys = ("checkpoint_name", "checkpoint_path")
    return {key: metadata.text(key) for key in keys if metadata is not None and metadata.values.get(key) is not None}


def _notes(reading: _Reading, result: Record | None) -> Iterator[str]:
    if reading.places:
        yield "items are named by their place in the data set, which is another where it was shuffled"
    if result is not None and result.values.get("num_examples") is not None:
        stated, found = result.whole("num_examples"), len(reading.rows)
        if stated != found:
            yield f"{_RESULT} speaks of {stated:,} examples, and {found:,} are here: of another run too, or not of all"
