"""Evaluations of verifiers 0.1: `results.jsonl`, with what `metadata.json` beside it says was executed.

One line a rollout: an example that stands again is a further sample of it. The score is `reward`, or a metric that
`--map score=NAME` names. A rollout that failed has reward 0 in the file; here it has its error and no score. The text
is that of the one answer; rollouts of several turns are refused. `is_truncated` becomes the stop reason `length`,
which is what it means. Where several tasks stand in one file, an item is named by task and example. Written for
verifiers 0.1.14; files of earlier 0.1 releases have a `task`, and a text instead of messages.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analysis.errors import AuditError
from audits.store.gathered import Prompts, Rows
from audits.store.manifest import ArmRecord
from runner.importers.engine.checks import counted, few, short
from runner.importers.engine.imported import Imported, ImportedArm, Options
from runner.importers.engine.record import Record
from runner.importers.engine.source_files import json_lines, peek, read_json, source_file

ITEM_COLUMN = False
MAPPED = True

_RESULTS, _METADATA = "results.jsonl", "metadata.json"
_NEEDED = {"example_id", "prompt", "completion", "reward"}
_KNOWN = {
    *_NEEDED, "task", "answer", "info", "error", "error_chain", "long_error_chain", "timing", "generation_ms",
    "scoring_ms", "total_ms", "is_completed", "is_truncated", "stop_condition", "metrics", "tool_defs", "token_usage",
}  # fmt: skip
_SAMPLING = {"temperature": "evaluation.temperature", "max_tokens": "evaluation.max_tokens", "seed": "evaluation.seed"}


@dataclass
class _Found:
    """What the lines gave."""

    rows: Rows
    prompts: Prompts
    samples: dict[str, int] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    failed: int = 0


def sniff(path: Path) -> bool:
    """Return whether the path is a file of results, or a folder with one."""
    path = path / _RESULTS if path.is_dir() else path
    return path.suffix == ".jsonl" and set(peek(path) or {}) >= _NEEDED


def read(source: Path, options: Options) -> Imported:
    """Return the outcomes of an evaluation.

    Args:
        source: `results.jsonl`, or the folder that holds it.
        options: of them, where rows are gathered, and the metric that is the score.

    Raises:
        AuditError: a line is no rollout of one turn, or a metric is missing; line and item are named.
    """
    if set(options.mapping) - {"score"}:
        raise AuditError("--map: only the score is a choice here, as in --map score=correct_answer")
    path = source / _RESULTS if source.is_dir() else source
    beside = path.parent / _METADATA
    metadata = read_json(beside) if beside.is_file() else None
    # A name of the example alone is enough unless several tasks count their examples from 0.
    tasks = {record.text_or_none("task") for record in json_lines(path)}
    found = _Found(options.scratch.rows("evals"), options.scratch.prompts())
    for record in json_lines(path):
        _take(found, record, len(tasks) > 1, options.mapping.get("score"))
    name = source.resolve().name if source.is_dir() else source.stem
    files = [path, *([beside] if metadata is not None else [])]
    return Imported(
        importer="verifiers_results",
        files=tuple(source_file(file) for file in files),
        arms=(
            ImportedArm(
                ArmRecord(arm=name, seed=0, role="other", name=name, settings=_settings(metadata)),
                evals={"final": found.rows},
            ),
        ),
        prompts=found.prompts.rows if found.prompts.rows else None,
        details=_details(metadata),
        mapped=(
            f"example_id{' and task' if len(tasks) > 1 else ''} -> evals.item_id; a further line of it -> sample",
            f"{options.mapping.get('score', 'reward')} -> evals.score, error -> evals.error",
            "completion, answer, is_truncated, token_usage.output_tokens -> completion, gold, stop_reason, n_tokens",
            "prompt -> prompts, where it is one question with an answer",
            f"{_METADATA} model, sampling_args -> settings of the arm",
        ),
        ignored=tuple(_ignored(found)),
        notes=tuple(_notes(found, metadata)),
    )


def _take(found: _Found, record: Record, by_task: bool, metric: str | None) -> None:
    item = str(record.whole("example_id"))
    if by_task:
        item = f"{record.text_or_none('task') or 'no task'}/{item}"
    record = Record(record.values, f"{record.where}, item {short(item)}")
    metrics = record.part("metrics") if record.values.get("metrics") is not None else Record({}, record.where)
    found.unknown |= record.beyond({*_KNOWN, *metrics.values})
    error = _error(record)
    found.failed += error is not None
    sample = found.samples.get(item, 0)
    found.samples[item] = sample + 1
    truncated = record.values.get("is_truncated") is not None and record.flag("is_truncated")
    gold = record.text_or_none("answer")
    found.rows.append({
        "checkpoint": "final", "item_id": item, "sample": sample,
        "score": None if error is not None else _score(record, metrics, metric),
        "completion": _completion(record), "gold": gold,
        "stop_reason": "length" if truncated else record.text_or_none("stop_condition"),
        "n_tokens": _output_tokens(record), "error": error, "prompt_id": _prompt(found, record, gold),
    })  # fmt: skip


def _score(record: Record, metrics: Record, metric: str | None) -> float:
    if metric is None:
        return record.number("reward")
    holder = metrics if metric in metrics.values else record
    if metric not in holder.values:
        raise AuditError(f"{record.where}: has no metric {short(metric)} (metrics: {few(sorted(metrics.values))})")
    return holder.number(metric)


def _error(record: Record) -> str | None:
    if isinstance(record.values.get("error"), dict):
        error = record.part("error")
        return error.text_or_none("error_chain_repr") or error.text("error")
    return record.text_or_none("error")


def _completion(record: Record) -> str | None:
    """Return the text of the answer; what is no text (a call of a tool alone) has none."""
    if record.values["completion"] is None or isinstance(record.values["completion"], str):
        return record.text_or_none("completion")
    answers = [message for message in record.parts("completion") if message.text("role") == "assistant"]
    if len(answers) > 1:
        raise AuditError(f"{record.where}: a rollout of {len(answers)} turns, and the run format has one")
    return _content(answers[0]) if answers else None


def _content(message: Record) -> str | None:
    if not isinstance(message.values.get("content"), list):
        return message.text_or_none("content")
    parts = [part for part in message.parts("content") if part.values.get("type") == "text"]
    return "\n".join(part.text("text") for part in parts) if parts else None


def _output_tokens(record: Record) -> int | None:
    if record.values.get("token_usage") is None:
        return None
    tokens = record.part("token_usage").number("output_tokens")
    return int(tokens) if tokens == int(tokens) and 0 <= tokens < 2**31 else None


def _prompt(found: _Found, record: Record, gold: str | None) -> str | None:
    """Keep a prompt of one question whose answer is known, and return its id."""
    prompt = record.values["prompt"]
    question = record.text("prompt") if isinstance(prompt, str) else None
    if isinstance(prompt, list):
        asked = [message for message in record.parts("prompt") if message.text("role") == "user"]
        question = _content(asked[0]) if len(asked) == 1 else None
    if question is None or gold is None:
        return None
    text = json.dumps([prompt, gold], sort_keys=True)
    prompt_id = f"test/{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    found.prompts.add({"prompt_id": prompt_id, "split": "test", "question": question, "gold": gold}, record.where)
    return prompt_id


def _settings(metadata: Record | None) -> dict[str, Any]:
    if metadata is None:
        return {}
    sampling: Mapping[str, Any] = (
        metadata.part("sampling_args").values if metadata.values.get("sampling_args") is not None else {}
    )
    settings = {path: sampling[key] for key, path in _SAMPLING.items() if sampling.get(key) is not None}
    samples = metadata.whole_or_none("rollouts_per_example")
    model = metadata.text_or_none("model")
    return (
        settings
        | ({"model": model} if model else {})
        | ({"evaluation.samples_per_item": samples} if samples is not None else {})
    )


def _details(metadata: Record | None) -> dict[str, Any]:
    keys = ("env_id", "env_args", "version_info")
    return {key: metadata.values[key] for key in keys if metadata is not None and metadata.values.get(key) is not None}


def _ignored(found: _Found) -> Iterator[str]:
    if found.unknown:
        yield f"keys {few(sorted(found.unknown))}: not known to this importer"
    yield "info, timing, tool_defs and the metrics beside the score: not read"


def _notes(found: _Found, metadata: Record | None) -> Iterator[str]:
    if found.failed:
        yield f"{counted(found.failed, 'rollout')} with an error: no score, where the file has reward 0"
    if metadata is None:
        yield f"no {_METADATA} beside it: model and sampling are not known"
        return
    examples, samples = (metadata.whole_or_none(key) for key in ("num_examples", "rollouts_per_example"))
    if examples is not None and samples is not None and examples * samples != len(found.rows):
        yield (
            f"{_METADATA} says {examples:,} examples of {samples} rollouts, and {len(found.rows):,} lines stand there: "
            "the evaluation may have ended early"
        )
