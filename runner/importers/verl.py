"""verl: dumps of rollouts and validations, and the figures of its file or console logger.

A dump is `<step>.jsonl` in a folder that `trainer.rollout_data_dir` or `trainer.validation_data_dir` named; both have
the same form. A validation repeats each score as `reward`, and by this it is known; `--map evals=FOLDER` and
`--map rollouts=FOLDER` say otherwise (`.` is the source itself). SOURCE is such a file or folder, or one that holds
both folders and a log. Figures come from the file logger (lines of `step` and `data`), else from the console's lines
`step:1 - key:value`.

The dumps name no item, so an item is the digest of its input, and rows of one input are its samples in the file's
order. The last validation is the final checkpoint, the others are called by their steps. Scores of graders that give -1
are no shares: `--map score=acc` takes another key. There are no token counts, stop reasons, advantages or
log-probabilities. Steps are verl's own: the first batch is 1. Written for verl 0.9.1; older dumps lack `gts`.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from analysis.errors import AuditError
from audits.store.gathered import Prompts, Rows
from audits.store.manifest import ArmRecord
from runner.importers.engine.checks import few, short
from runner.importers.engine.figures import Figures
from runner.importers.engine.imported import Imported, ImportedArm, Options
from runner.importers.engine.record import Record
from runner.importers.engine.source_files import json_lines, source_file
from runner.importers.engine.verl_console import console_figures, looks_like_console
from runner.importers.engine.verl_sources import CONSOLES, VerlFiles, is_dump, is_figures, nearby_files, verl_files

ITEM_COLUMN = False
MAPPED = True

_KNOWN = {"input", "output", "score", "step", "gts", "acc", "pred", "reward", "uid", "request_id"}
# {dataset row}_{rollout}_{output}
_UID = re.compile(r"(.+)_([0-9]+)_([0-9]+)", re.DOTALL)


@dataclass
class _Reading:
    """What is gathered over all dumps."""

    options: Options
    prompts: Prompts
    unknown: set[str] = field(default_factory=set)
    repeated: int = 0


def sniff(path: Path) -> bool:
    """Return whether the path is a dump, a folder of dumps, or a log of figures."""
    if path.is_dir():
        try:
            return any(is_dump(file) for file in nearby_files(path))
        except AuditError:
            return False
    if path.suffix in CONSOLES:
        return looks_like_console(path)
    return is_dump(path) or is_figures(path)


def read(source: Path, options: Options) -> Imported:
    """Return what the dumps and the log of one training say.

    Args:
        source: a dump, a log, or a folder of them.
        options: of them, where rows are gathered, and which folder and which score are meant.

    Raises:
        AuditError: it is none of these, there are several dumps of a kind, or a row is broken; file and line are named.
    """
    found = verl_files(source, options.mapping)
    reading = _Reading(options, options.scratch.prompts())
    last = max(found.evals, default=None)
    names = {step: "final" if step == last else f"step{step:06d}" for step in sorted(found.evals)}
    evals = {name: _evals(found.evals[step], step, name, reading) for step, name in names.items()}
    steps = {step: {"rollouts": _rollouts(path, step, reading)} for step, path in sorted(found.rollouts.items())}
    figures = _figures(found)
    name = source.name if source.is_dir() else source.stem
    arm = ImportedArm(
        ArmRecord(arm=name, seed=0, role="other", name=name),
        evals=evals,
        steps=steps,
        scalars=figures.rows(options.scratch),
    )
    inside = source if source.is_dir() else source.parent
    return Imported(
        importer="verl",
        files=tuple(source_file(path, path.relative_to(inside).as_posix()) for path in found.read),
        arms=(arm,),
        prompts=reading.prompts.rows if reading.prompts.rows else None,
        mapped=tuple(_mapped(found, options.mapping)),
        ignored=tuple(_ignored(found, inside, reading, figures)),
        notes=(*_notes(found, inside, reading), *figures.notes()),
    )


def _evals(path: Path, step: int, checkpoint: str, reading: _Reading) -> Rows:
    rows = reading.options.scratch.rows("evals")
    key = reading.options.mapping.get("score", "score")
    samples: Counter[str] = Counter()
    for record in json_lines(path):
        _check(record, step, reading)
        item = _digest(record.text("input"))
        gold = _gold(record)
        rows.append(
            {
                "checkpoint": checkpoint,
                "item_id": item,
                "sample": samples[item],
                "score": _score(record, key),
                "correct": _correct(record),
                "extracted": _extracted(record),
                "gold": gold,
                "completion": record.text("output"),
                "prompt_id": _prompt(record, gold, "validation", reading),
            }
        )
        samples[item] += 1
    reading.repeated += sum(1 for number in samples.values() if number > 1)
    return rows


def _rollouts(path: Path, step: int, reading: _Reading) -> Rows:
    rows = reading.options.scratch.rows("rollouts")
    groups: dict[str, int] = {}
    for record in json_lines(path):
        _check(record, step, reading)
        gold = _gold(record)
        group = _uid(record) or record.text("input")
        rows.append(
            {
                "step": step,
                "rollout_id": len(rows),
                "group_id": groups.setdefault(group, len(groups)),
                "prompt_id": _prompt(record, gold, "train", reading),
                "reward": record.number("score"),
                "completion": record.text("output"),
                "extracted": _extracted(record),
                "gold": gold,
            }
        )
    return rows


def _check(record: Record, step: int, reading: _Reading) -> None:
    if record.values.get("step") is not None and record.whole("step") != step:
        raise record.fault("step", f"{step}, as the file's name says,")
    _uid(record)
    reading.unknown |= record.beyond(_KNOWN)


def _uid(record: Record) -> str | None:
    """Return the data row that an output belongs to, where the dump says it."""
    match = _UID.fullmatch(record.text("uid")) if record.values.get("uid") is not None else None
    if match is None:
        return None
    if int(match[3]):
        raise AuditError(
            f"{record.where}: a session of several outputs ({short(match[0])}), and the run format has one"
        )
    return match[1]


def _score(record: Record, key: str) -> float:
    value = record.values.get(key)
    score = float(value) if isinstance(value, bool) else record.number(key)
    if not 0.0 <= score <= 1.0:
        other = "; --map score=acc takes its other grade" if key == "score" and "acc" in record.values else ""
        raise AuditError(
            f'{record.where}: "{short(key)}" is {score:g}, and an evaluation has scores from 0 to 1{other}'
        )
    return score


def _correct(record: Record) -> bool | None:
    """Return what the grader calls right, where it says so with true and false or 1 and 0."""
    value = record.values.get("acc")
    return bool(value) if isinstance(value, bool | int | float) and value in (0, 1) else None


def _extracted(record: Record) -> str | None:
    return record.text("pred") if isinstance(record.values.get("pred"), str) else None


def _gold(record: Record) -> str | None:
    value = record.values.get("gts")
    if value is None or isinstance(value, str):
        return record.text_or_none("gts")
    text = json.dumps(value, ensure_ascii=False)
    return Record({"gts": text}, record.where).text("gts")


def _prompt(record: Record, gold: str | None, split: str, reading: _Reading) -> str | None:
    if gold is None:
        return None
    question = record.text("input")
    prompt_id = f"verl/{split}/{_digest(json.dumps([question, gold]))}"
    row = {"prompt_id": prompt_id, "split": split, "question": question, "gold": gold}
    reading.prompts.add(row, record.where)
    return prompt_id


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def _figures(found: VerlFiles) -> Figures:
    figures = Figures()
    if found.figures is not None:
        for record in json_lines(found.figures):
            figures.add(record.whole("step"), record.part("data"))
    if found.console is not None:
        for step, record in console_figures(found.console):
            figures.add(step, record)
    return figures


def _mapped(found: VerlFiles, mapping: Mapping[str, str]) -> Iterator[str]:
    if found.evals:
        score = short(mapping.get("score", "score"))
        yield f"validation: digest of input -> evals.item_id; {score} -> score; acc -> correct; output -> completion"
    if found.rollouts:
        yield "rollouts: score -> rollouts.reward; input or uid -> group_id; output -> completion; file's name -> step"
    if found.evals or found.rollouts:
        yield "pred -> extracted; gts -> gold; input -> prompts.question"
    if found.figures or found.console:
        yield "every number of the log -> scalars, under its own key"


def _ignored(found: VerlFiles, inside: Path, reading: _Reading, figures: Figures) -> Iterator[str]:
    if reading.unknown:
        yield f"keys {few(sorted(reading.unknown))} of the dumps: not known to this importer"
    yield from figures.ignored("the log")
    if found.others:
        yield f"files {few([path.relative_to(inside).as_posix() for path in found.others])}: not read"


def _notes(found: VerlFiles, inside: Path, reading: _Reading) -> Iterator[str]:
    if found.evals:
        yield f"{_place(found.evals, inside)} was taken for validations; the last, of step {max(found.evals)}, is final"
        yield "items have no id: the digest of the input is taken for one"
    if found.rollouts:
        yield f"{_place(found.rollouts, inside)} was taken for rollouts; steps are verl's own, from 1"
        absent = sorted(set(range(min(found.rollouts), max(found.rollouts))) - set(found.rollouts))
        if absent:
            yield f"no rollouts of steps {few([str(step) for step in absent])}"
    if reading.repeated:
        yield f"inputs that stand several times in a validation: {reading.repeated}; their rows are samples of one item"


def _place(dumps: Mapping[int, Path], inside: Path) -> str:
    paths: Sequence[Path] = list(dumps.values())
    single = paths[0] if len(paths) == 1 else paths[0].parent
    return single.relative_to(inside).as_posix() if single != inside else inside.name
