"""lm-evaluation-harness's `samples_TASK_DATE.jsonl`: one arm, one row a document.

The harness writes one line a document *and filter*, so that a task with two ways to extract the answer (GSM8K:
`strict-match` and `flexible-extract`) stands there twice, with other scores. One filter is imported: `--map
filter=NAME`; of several metrics one, `--map score=NAME`. A folder holds the samples of one task, else `--map task=NAME`
says which is meant. An item is task and `doc_id`; `doc_hash` must agree between two arms. The score is that of the
document as the filter left it: repeats are one row, and a majority vote has no completion. `filtered_resps` gives
`extracted`, and `[invalid]`, the harness's word for nothing found, is none. A target whose last line is `#### N`, as in
GSM8K, has the gold answer N. Settings are read from `results_DATE.json` beside the samples. There are no token counts
and no stop reasons. The harness's filters are named `lm_eval:NAME`: its flexible-extract finds other answers than our
last_number (`...` is a number to it), its strict-match the first mark and not the last. Written for lm-eval
0.4.13.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from analysis.errors import AuditError
from audits.store.gathered import Prompts, Rows
from audits.store.manifest import ArmRecord
from runner.importers.engine.checks import counted, few, short
from runner.importers.engine.harness_results import SAMPLES, results_beside, settings_of
from runner.importers.engine.imported import Imported, ImportedArm, Options
from runner.importers.engine.record import Record
from runner.importers.engine.source_files import json_lines, peek, source_file

ITEM_COLUMN = False
MAPPED = True

_OWN = {"doc_id", "doc", "target", "resps", "filtered_resps"}
_KNOWN = {*_OWN, "arguments", "filter", "metrics", "doc_hash", "prompt_hash", "target_hash"}
_FIELDS = {"filter", "score", "task"}
_NOTHING = "[invalid]"
_LAST_LINE = re.compile(r"(?:^|\n)####[ \t]*(\S[^\n]*?)\s*\Z")
_QUESTIONS = ("question", "problem", "query", "input", "prompt")


@dataclass
class _Reading:
    """What is gathered of all lines."""

    path: Path
    task: str
    wanted_filter: str | None
    wanted_score: str | None
    prompts: Prompts
    evals: Rows
    filters: dict[str, int] = field(default_factory=dict)
    metrics: dict[str, None] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    repeated: int = 0
    choices: int = 0
    marked: int = 0


def sniff(path: Path) -> bool:
    """Return whether the path is a file of samples, or a folder that holds one."""
    if path.is_dir():
        return any(SAMPLES.fullmatch(file.name) for file in path.glob("*"))
    return path.suffix == ".jsonl" and set(peek(path) or {}) >= _OWN


def read(source: Path, options: Options) -> Imported:
    """Return the outcomes of a task by one filter.

    Args:
        source: the file of samples, or the folder of a run.
        options: where rows are gathered, and which task, filter and metric are meant.

    Raises:
        AuditError: a line is broken, or it is not clear which filter, metric or task is meant; file and line are named.
    """
    if unknown := set(options.mapping) - _FIELDS:
        raise AuditError(f"--map {short(min(unknown))}: samples have a choice of {', '.join(sorted(_FIELDS))}")
    path, task = _samples(source, options.mapping.get("task"))
    found = _Reading(
        path, task, options.mapping.get("filter"), options.mapping.get("score"),
        options.scratch.prompts(), options.scratch.rows("evals"),
    )  # fmt: skip
    for record in json_lines(path):
        _append(record, found)
    chosen = _chosen_filter(found)
    results = results_beside(path)
    settings: dict[str, Any] = settings_of(results, task) if results else {"evaluation.task": task}
    score = found.wanted_score or next(iter(found.metrics))
    name = source.name if source.is_dir() else path.stem
    settings["evaluation.grader"] = f"lm_eval:{score},{chosen}"
    return Imported(
        importer="lm_eval",
        files=tuple(
            source_file(file, file.relative_to(source).as_posix() if source.is_dir() else None)
            for file in (path, results)
            if file is not None
        ),
        arms=(
            ImportedArm(
                ArmRecord(arm=name, seed=0, role="other", name=name, settings=settings),
                evals={"final": found.evals},
                item_texts=found.texts,
            ),
        ),
        prompts=found.prompts.rows if found.prompts.rows else None,
        mapped=tuple(_mapped(found, score, chosen, results)),
        ignored=tuple(_ignored(found, score, chosen)),
        notes=tuple(_notes(found, results)),
    )


def _samples(source: Path, task: str | None) -> tuple[Path, str]:
    """Return the file of samples and its task."""
    if not source.is_dir():
        named = SAMPLES.fullmatch(source.name)
        if task is not None and named and named[1] != task:
            raise AuditError(f"{source}: holds task {short(named[1])}, not {short(task)}")
        return source, task or (named[1] if named else source.stem)
    matched = [(path, found[1]) for path in sorted(source.glob("*")) if (found := SAMPLES.fullmatch(path.name))]
    files = [(path, name) for path, name in matched if task in (None, name)]
    if len(files) == 1:
        return files[0]
    if not matched:
        raise AuditError(f"{source}: holds no samples_TASK_DATE.jsonl of lm-evaluation-harness (--log_samples)")
    names = few([path.name for path, _ in matched])
    raise AuditError(
        f"{source}: {len(files)} files of samples are meant ({names}). Name the file, or its task as --map task=NAME"
    )


def _append(record: Record, found: _Reading) -> None:
    named = record.text_or_none("filter") or "none"
    found.filters[named] = found.filters.get(named, 0) + 1
    # Where it is not clear which is meant, the rest of the file is read for the names of all.
    if found.wanted_filter not in (None, named) or (found.wanted_filter is None and len(found.filters) > 1):
        return
    metric = _metric(record, found)
    score = _score(record, metric)
    item = f"{found.task}/{record.whole('doc_id')}"
    gold = _gold(record, found)
    found.texts[item] = record.text_or_none("doc_hash") or _digest(repr(record.part("doc").values))
    found.evals.append(
        {
            "checkpoint": "final",
            "item_id": item,
            "sample": 0,
            **score,
            **_answer(record, named, found),
            "gold": gold,
            "prompt_id": _prompt(record, item, gold, found),
        }
    )


def _metric(record: Record, found: _Reading) -> str:
    """Return the key of the score; older files name no metrics, and all further keys are."""
    stated = record.list("metrics") if record.values.get("metrics") is not None else sorted(record.beyond(_KNOWN))
    names = [Record({"metric": name}, record.where).text("metric") for name in stated]
    if not names:
        raise AuditError(f"{record.where}: holds no metric, so that its document has no score")
    found.metrics |= dict.fromkeys(names)
    found.unknown |= record.beyond({*_KNOWN, *names})
    if found.wanted_score is None and len(found.metrics) != 1:
        raise _unclear(found, "metrics", list(found.metrics), "score")
    metric = found.wanted_score or names[0]
    if metric not in names:
        raise AuditError(f"{record.where}: no metric {short(metric)} (metrics: {few(names)})")
    return metric


def _score(record: Record, metric: str) -> dict[str, Any]:
    value = record.values.get(metric)
    if isinstance(value, bool):
        return {"score": float(value), "correct": value}
    number = record.number(metric)
    return {"score": number, "correct": number == 1.0 if number in (0.0, 1.0) else None}


def _answer(record: Record, filtered_by: str, found: _Reading) -> dict[str, Any]:
    """Return completion and extracted answer of generated text; of ranked choices there is neither."""
    responses, filtered = record.list("resps"), record.list("filtered_resps")
    if len(responses) != 1 or not isinstance(responses[0], list):
        found.choices += 1
        return {}
    texts = [Record({"resps": text}, record.where).text("resps") for text in responses[0] if isinstance(text, str)]
    if len(texts) < len(responses[0]):
        found.choices += 1
        return {}
    found.repeated += len(texts) > 1
    answer = filtered[0] if len(filtered) == 1 and isinstance(filtered[0], str) else None
    if answer is not None:
        answer = Record({"filtered_resps": answer}, record.where).text("filtered_resps")
    return {
        "completion": texts[0] if len(texts) == 1 else None,
        "extracted": None if answer == _NOTHING else answer,
        "extraction": f"lm_eval:{filtered_by}",
    }


def _gold(record: Record, found: _Reading) -> str | None:
    """Return the target as a text, as the harness writes it; of a worked solution the marked last line."""
    target = record.values.get("target")
    if isinstance(target, int | float) and not isinstance(target, bool):
        return str(target)
    text = record.text_or_none("target") or None
    marked = _LAST_LINE.search(text) if text else None
    found.marked += marked is not None
    return marked[1] if marked else text


def _prompt(record: Record, item: str, gold: str | None, found: _Reading) -> str | None:
    doc = record.part("doc")
    key = next((key for key in _QUESTIONS if isinstance(doc.values.get(key), str) and doc.values[key]), None)
    if key is None or gold is None:
        return None
    question = doc.text(key)
    prompt_id = f"lm_eval/{item}/{_digest(f'{question}{chr(0)}{gold}')}"
    found.prompts.add({"prompt_id": prompt_id, "split": "test", "question": question, "gold": gold}, record.where)
    return prompt_id


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16]


def _chosen_filter(found: _Reading) -> str:
    names = list(found.filters)
    if found.wanted_filter in names or (found.wanted_filter is None and len(names) == 1):
        return found.wanted_filter or names[0]
    absent = f", and none is {short(found.wanted_filter)}" if found.wanted_filter else ""
    raise _unclear(found, "filters", names, "filter", absent)


def _unclear(found: _Reading, what: str, names: list[str], key: str, absent: str = "") -> AuditError:
    return AuditError(
        f"{found.path}: holds {what} {few(names)}, each with scores of its own{absent}. Say which is meant, for both "
        f"arms, as --map {key}=NAME"
    )


def _mapped(found: _Reading, score: str, chosen: str, results: Path | None) -> Iterator[str]:
    yield "task and doc_id -> evals.item_id"
    yield f"{score} of filter {chosen} -> evals.score"
    yield "target -> gold" + (", its last line #### N as N" if found.marked else "")
    if found.choices < len(found.evals):
        yield f"resps -> completion, filtered_resps -> extracted ({_NOTHING} is none), extraction lm_eval:{chosen}"
    if found.prompts.rows:
        yield f"the first of {', '.join(_QUESTIONS)} in doc -> prompts.question"
    if results:
        yield f"{results.name} -> settings of the arm"


def _ignored(found: _Reading, score: str, chosen: str) -> Iterator[str]:
    others: Mapping[str, int] = {name: lines for name, lines in found.filters.items() if name != chosen}
    if others:
        yield f"lines of filters {few([f'{name} ({lines:,})' for name, lines in others.items()])}"
    metrics = [name for name in found.metrics if name != score]
    if metrics:
        yield f"metrics {few(metrics)}"
    if found.unknown:
        yield f"keys {few(sorted(found.unknown))}: this importer does not know them"


def _notes(found: _Reading, results: Path | None) -> Iterator[str]:
    if results is None:
        yield "no results_DATE.json of the same run stands beside the samples: model and settings are not known"
    if found.repeated:
        yield (
            f"{counted(found.repeated, 'document')} with several responses: the score is the filter's, over all of "
            "them, and no completion is imported"
        )
    if found.choices:
        yield f"{counted(found.choices, 'document')} with likelihoods of choices: there is no completion"
    if found.prompts.rows:
        yield "samples do not say of which split their documents are: they were evaluated, and are taken as test"
