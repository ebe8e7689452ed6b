"""Event logs of OpenAI's `evals`: a line with `spec`, one line an event, and one with `final_report`.

`match` events are outcomes: `correct` is the score, `expected` the gold answer, `picked` what was extracted. The text
is what the event itself calls `sampled`, else that of the one `sampling` event of the sample before it. Evaluations
that record `metrics` instead need to be told which figure is the score: `--map score=KEY`. An `error` event is an
outcome without a score; the tool's own accuracy leaves such samples out, and this importer does not. Events carry a
running number, so that a log with events missing is refused. Written for evals 3.0.1.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analysis.errors import AuditError
from analysis.nearest import hint
from audits.store.gathered import Prompts, Rows, Scratch
from audits.store.manifest import ArmRecord
from runner.importers.engine.checks import counted, few, short
from runner.importers.engine.imported import Imported, ImportedArm, Options
from runner.importers.engine.record import Record
from runner.importers.engine.source_files import json_lines, peek, source_file

ITEM_COLUMN = False
MAPPED = True

_EVENT = {"run_id", "event_id", "sample_id", "type", "data", "created_by", "created_at"}
_SPLITS = ("train", "validation", "test")
# Samples whose outcome has not come yet; a log writes a sample's events near one another.
_MOST_WAITING = 10_000


def sniff(path: Path) -> bool:
    """Return whether the first line is the specification of an evaluation."""
    spec = (peek(path) or {}).get("spec") if path.suffix == ".jsonl" else None
    return isinstance(spec, dict) and {"completion_fns", "eval_name", "run_id"} <= set(spec)


def read(source: Path, options: Options) -> Imported:
    """Return the outcomes of an event log.

    Args:
        source: the JSON-lines file.
        options: of them, which figure of `metrics` events is the score, where they are the outcomes.

    Raises:
        AuditError: a line is none of the log's, events are missing or of two runs, or no event is an outcome; the line
            is named.
    """
    for name in options.mapping:
        if name != "score":
            raise AuditError(f"--map {short(name)}: of this source only the score is a choice{hint(name, ('score',))}")
    lines = json_lines(source)
    spec = _spec(next(lines))
    log = _Log(spec, options.mapping.get("score"), options.scratch)
    for record in lines:
        log.take(record)
    log.check(source)
    name = source.stem
    arm = ArmRecord(arm=name, seed=0, role="other", name=name, settings=_settings(spec))
    return Imported(
        importer="openai_evals",
        files=(source_file(source),),
        arms=(ImportedArm(arm, evals={"final": log.evals}),),
        prompts=log.prompts.rows if log.prompts.rows else None,
        details={"final_report": log.report} if log.report is not None else {},
        mapped=tuple(_mapped(log)),
        ignored=tuple(_ignored(log)),
        notes=tuple(_notes(log)),
    )


@dataclass
class _Sampled:
    """What was sampled of one sample so far."""

    text: str | None
    prompt: Any
    events: int = 1


@dataclass
class _Log:
    """What the lines of a log said so far."""

    spec: Record
    metric: str | None
    scratch: Scratch
    report: Any = None
    counts: dict[str, int] = field(default_factory=dict)
    figures: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    several_golds: int = 0
    no_text: int = 0
    last: int = -1

    def __post_init__(self) -> None:
        self.evals: Rows = self.scratch.rows("evals")
        self.prompts: Prompts = self.scratch.prompts()
        self._waiting: dict[str, _Sampled] = {}
        self._run = self.spec.text("run_id")
        split = self.spec.values.get("split")
        self.split: str | None = split if split in _SPLITS else None

    def take(self, record: Record) -> None:
        """Take one line."""
        if "final_report" in record.values:
            self._same_run(record)
            self.report = record.values["final_report"]
            return
        if not set(record.values) >= {"event_id", "sample_id", "type", "data"}:
            raise AuditError(f"{record.where}: is neither an event nor a final report")
        self._same_run(record)
        number = record.whole("event_id")
        if number != self.last + 1:
            raise AuditError(
                f"{record.where}: event {number} follows event {self.last}: events are missing or stand twice"
                if self.last >= 0
                else f"{record.where}: the first event is {number}, not 0: events are missing"
            )
        self.last = number
        kind, sample = record.text("type"), record.text("sample_id")
        self.counts[kind] = self.counts.get(kind, 0) + 1
        self.unknown |= record.beyond(_EVENT)
        if kind == "sampling":
            self._wait(sample, record.part("data"))
        elif kind == "match" and self.metric is None:
            self._outcome(sample, self._matched(record.part("data")), record)
        elif kind == "metrics":
            self._measured(sample, record)
        elif kind == "error":
            data = record.part("data")
            self._outcome(sample, {"error": f"{data.text('type')}: {data.text('message')}"}, record)

    def check(self, source: Path) -> None:
        """Check that there were outcomes.

        Raises:
            AuditError: there were none, or those there are need a choice.
        """
        if self.metric is not None and not self.figures:
            raise AuditError(f"{source}: no event has figures, so that --map score={short(self.metric)} finds none")
        if set(self.counts) & ({"match"} if self.metric is None else {"metrics"}):
            return
        if self.figures:
            raise AuditError(
                f"{source}: no event is a match, and the metrics events hold {few(sorted(self.figures))}: name the one "
                "that is the score from 0 to 1, as in --map score=KEY"
            )
        if not self.counts.get("error"):
            raise AuditError(f"{source}: no event is a match, a metric or an error: nothing was evaluated")

    def _same_run(self, record: Record) -> None:
        if record.text("run_id") != self._run:
            other = short(record.text("run_id"))
            raise AuditError(f"{record.where}: of run {other}, and the log is of {short(self._run)}")

    def _wait(self, sample: str, data: Record) -> None:
        text = data.values.get("sampled")
        if isinstance(text, list) and len(text) == 1:
            text = text[0]
        before = self._waiting.pop(sample, None)
        sampled = _Sampled(text if isinstance(text, str) else None, data.values.get("prompt"))
        if before is not None:
            sampled = _Sampled(None, None, before.events + 1)
        self._waiting[sample] = sampled
        if len(self._waiting) > _MOST_WAITING:
            del self._waiting[next(iter(self._waiting))]

    def _matched(self, data: Record) -> dict[str, Any]:
        correct, expected, picked = data.flag("correct"), data.values.get("expected"), data.values.get("picked")
        self.several_golds += isinstance(expected, list)
        found = {"completion": data.values.get("sampled"), "gold": expected, "extracted": picked}
        # A list of what would be accepted is no one answer.
        texts = {name: data.text(key) for name, key in _TEXTS.items() if isinstance(found[name], str)}
        numbers = {name: str(value) for name, value in found.items() if _is_number(value)}
        how = {"extraction": f"openai_evals:{_kind(self.spec)}"} if picked is not None else {}
        return {"score": float(correct), "correct": correct, **texts, **numbers, **how}

    def _measured(self, sample: str, record: Record) -> None:
        data = record.part("data")
        self.figures |= {data.name(key) for key, value in data.values.items() if _is_number(value)
                         or isinstance(value, bool)}  # fmt: skip
        if self.metric is None:
            return
        value = data.values.get(self.metric)
        score = float(value) if isinstance(value, bool) else data.number(self.metric)
        self._outcome(sample, {"score": score}, record)

    def _outcome(self, sample: str, outcome: dict[str, Any], record: Record) -> None:
        sampled = self._waiting.pop(sample, None)
        row = {"checkpoint": "final", "item_id": sample, "sample": 0, **outcome}
        if sampled is not None and sampled.text is not None:
            row.setdefault("completion", Record({"sampled": sampled.text}, record.where).text("sampled"))
        self.no_text += "completion" not in row and "error" not in row
        question = _question(sampled.prompt) if sampled is not None else None
        if question is not None and "gold" in row and self.split is not None:
            question = Record({"prompt": question}, record.where).text("prompt")
            prompt = {"prompt_id": sample, "split": self.split, "question": question, "gold": row["gold"]}
            self.prompts.add(prompt, record.where)
            row["prompt_id"] = sample
        self.evals.append(row)


_TEXTS = {"completion": "sampled", "gold": "expected", "extracted": "picked"}


def _spec(first: Record) -> Record:
    if "spec" not in first.values:
        raise AuditError(
            f'{first.where}: there is no "spec": this is no event log of OpenAI evals, or its beginning is lost'
        )
    return first.part("spec")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _kind(spec: Record) -> str:
    """Return the class of the evaluation, else its name."""
    config = spec.values.get("run_config")
    stated = config.get("eval_spec") if isinstance(config, dict) else None
    known = stated.get("cls") if isinstance(stated, dict) else None
    return short(known.rpartition(":")[2]) if isinstance(known, str) else short(spec.text("eval_name"))


def _question(prompt: Any) -> str | None:
    """Return the text of a prompt, where it is a text or has exactly one message of a user that is one."""
    if isinstance(prompt, str):
        return prompt
    messages = prompt if isinstance(prompt, list) else []
    asked = [
        message.get("content") for message in messages if isinstance(message, dict) and message.get("role") == "user"
    ]
    return asked[0] if len(asked) == 1 and isinstance(asked[0], str) else None


def _settings(spec: Record) -> dict[str, Any]:
    functions = [str(name) for name in spec.list("completion_fns")]
    config = spec.values.get("run_config")
    seed = config.get("seed") if isinstance(config, dict) else None
    return {
        "model": ", ".join(functions),
        "evaluation.name": spec.text("eval_name"),
        **({"evaluation.seed": seed} if isinstance(seed, int) else {}),
    }


def _mapped(log: _Log) -> Iterator[str]:
    yield "sample_id -> evals.item_id"
    if log.metric is not None:
        yield f"metrics.{short(log.metric)} -> evals.score"
    else:
        yield "match.correct -> evals.score, correct"
        yield "match.expected -> evals.gold"
        yield "match.picked -> evals.extracted"
    yield "match.sampled, else the one sampling event -> evals.completion"
    yield "error -> evals.error"
    yield "sampling.prompt -> prompts.question"
    yield "spec.completion_fns, eval_name, run_config.seed -> settings of the arm"


def _ignored(log: _Log) -> Iterator[str]:
    taken = {"sampling", "error", "match" if log.metric is None else "metrics"}
    others = [f"{short(kind)} ({number})" for kind, number in log.counts.items() if kind not in taken]
    if others:
        yield f"events {few(others)}"
    if log.unknown:
        yield f"keys {few(sorted(log.unknown))} of events: not known to this importer"
    if log.several_golds:
        yield f"expected of {counted(log.several_golds, 'outcome')}: several answers are accepted, and a gold is one"
    if log.split is None:
        yield "prompts: the split that the log states is none of train, validation and test"


def _notes(log: _Log) -> Iterator[str]:
    if log.report is None:
        yield "the log has no final report: the evaluation did not finish, or was not asked to say so"
    if log.no_text:
        yield f"{counted(log.no_text, 'outcome')} without one text: the sample has no sampling event, or several"
    failed, accuracy = log.counts.get("error", 0), _accuracy(log.report)
    if failed:
        stated = f", and its accuracy {accuracy} leaves these out" if accuracy is not None else ""
        yield f"{counted(failed, 'sample')} failed with an error: no score{stated}"


def _accuracy(report: Any) -> float | None:
    known = report.get("accuracy") if isinstance(report, Mapping) else None
    return known if _is_number(known) else None
