"""TRL: the completions that GRPOTrainer logs (`log_completions=True`), and the figures of `trainer_state.json`.

SOURCE is an output directory, its folder `completions`, or one of their files; any Hugging Face trainer's state gives
its figures. The reward of several functions is their weighted sum, and no file names the weights: the plain sum is
taken where its mean is the `reward` that the trainer logged at each step, else `--map reward=NAME` (or `NAME+NAME`)
must say it. `--map gold=COLUMN` names a column of right answers among those that the data set or a reward function
added.

Consecutive rows of one prompt are a group. A batch that several updates share is logged at each of them, and is
imported once. A step at which the trainer evaluated holds the evaluation's completions too, and is left out. TRL
divides advantages by their group's standard deviation unless it is told not to. There are no token ids, token counts,
log-probabilities or stop reasons. Steps are the trainer's own: the first is 1, and each is an optimiser step. Written
for trl 1.16.0.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any

from analysis.errors import AuditError
from audits.store.gathered import Prompts, Rows
from audits.store.manifest import ArmRecord
from audits.store.parquet_rows import ParquetRows
from runner.importers.engine.checks import counted, few, short
from runner.importers.engine.figures import Figures
from runner.importers.engine.imported import Imported, ImportedArm, Options
from runner.importers.engine.record import Record
from runner.importers.engine.source_files import open_source, read_json, source_file
from runner.importers.engine.trl_rewards import ADVANTAGE, COMPLETION, PROMPT, STEP, reward, reward_columns
from runner.importers.engine.trl_sources import TrlFiles, is_trl, trl_files

ITEM_COLUMN = False
MAPPED = True

_FIELDS = ("reward", "gold")
_KNOWN = ("log_history", "global_step", "max_steps")
_RATE = "optimizer.learning_rate"


@dataclass
class _Reading:
    """How completions are read, and what was found on the way."""

    options: Options
    rewards: tuple[str, ...]
    prompts: Prompts
    evaluated: set[int]
    again: list[int] = field(default_factory=list)
    left_out: list[int] = field(default_factory=list)
    unscored: int = 0
    columns: set[str] = field(default_factory=set)

    @property
    def gold(self) -> str | None:
        return self.options.mapping.get("gold")


def sniff(path: Path) -> bool:
    """Return whether the path is an output directory, a file of completions or a trainer's state."""
    return is_trl(path)


def read(source: Path, options: Options) -> Imported:
    """Return what the completions and the state of one training say.

    Args:
        source: the output directory, the folder of completions, or a file.
        options: of them, where rows are gathered, and which columns are the reward and the right answer.

    Raises:
        AuditError: a file is broken, several reward functions have no stated weights, or a conversation has turns.
    """
    for key in options.mapping:
        if key not in _FIELDS:
            raise AuditError(f"--map {short(key)}: trl has {few(_FIELDS)} to choose")
    found = trl_files(source)
    state = read_json(found.state) if found.state is not None else None
    figures = _figures(state)
    rewards, why = reward_columns(found.completions, figures, options.mapping) if found.completions else ((), "")
    reading = _Reading(options, rewards, options.scratch.prompts(), _evaluated(state))
    steps = dict(_steps(found, reading))
    rates = set(figures.of("learning_rate").values())
    name = source.name if source.is_dir() else source.stem
    arm = ImportedArm(
        ArmRecord(arm=name, seed=0, role="other", name=name), steps=steps, scalars=figures.rows(options.scratch)
    )
    inside = source if source.is_dir() else source.parent
    return Imported(
        importer="trl",
        files=tuple(source_file(path, path.relative_to(inside).as_posix()) for path in found.read),
        arms=(arm,),
        prompts=reading.prompts.rows if reading.prompts.rows else None,
        executed={_RATE: rates.pop()} if len(rates) == 1 else {},
        mapped=tuple(_mapped(found, reading)),
        ignored=tuple(_ignored(found, state, figures, reading, inside)),
        notes=(*_notes(reading, state, why), *figures.notes()),
    )


def _figures(state: Record | None) -> Figures:
    figures = Figures()
    for entry in state.parts("log_history") if state is not None else ():
        figures.add(entry.whole("step"), entry, without=("step",))
    return figures


def _evaluated(state: Record | None) -> set[int]:
    """Return the steps whose completions an evaluation was added to."""
    if state is None:
        return set()
    return {entry.whole("step") for entry in state.parts("log_history")
            if any(key.startswith("eval_") for key in entry.values)}  # fmt: skip


def _steps(found: TrlFiles, reading: _Reading) -> Iterator[tuple[int, dict[str, Rows]]]:
    before = b""
    for step, path in found.completions.items():
        open_source(path).close()
        table = ParquetRows(path)
        wanted = [STEP, PROMPT, COMPLETION, ADVANTAGE, *reading.rewards, *([reading.gold] if reading.gold else [])]
        missing = [name for name in wanted if name not in table.columns]
        if missing or not table.rows:
            lacks = f"has no column {few(missing)}" if missing else "has no row"
            raise AuditError(f"{path}: {lacks}, so it is no file of completions of this training")
        reading.columns |= set(table.columns) - set(wanted)
        if step in reading.evaluated:
            reading.left_out.append(step)
            continue
        rows, content = _rollouts(path, step, table, wanted, reading)
        if content == before:
            reading.again.append(step)
            continue
        before = content
        yield step, {"rollouts": rows}


def _rollouts(path: Path, step: int, table: ParquetRows, wanted: list[str], reading: _Reading) -> tuple[Rows, bytes]:
    """Return the rollouts of one file, and a digest of what it holds beside its step."""
    rows = reading.options.scratch.rows("rollouts")
    digest = blake2b(digest_size=16)
    group, before = -1, None
    for number, row in enumerate(table.records(wanted), start=1):
        where = f"{path}, row {number}"
        if row[STEP] != step:
            raise AuditError(f"{where}: step is {row[STEP]!r:.40}, and {step}, as the file's name says, is needed")
        question = _question(row[PROMPT], where)
        completion = _completion(row[COMPLETION], where)
        group += question != before
        before = question
        scored = reward(row, reading.rewards, where)
        digest.update(repr((question, completion, scored, row[ADVANTAGE])).encode())
        if scored is None:
            reading.unscored += 1
            continue
        gold = _gold(row, reading.gold, where)
        rows.append(
            {
                "step": step,
                "rollout_id": number - 1,
                "group_id": group,
                "prompt_id": _prompt(question, gold, where, reading),
                "reward": scored,
                "advantage": _advantage(row[ADVANTAGE], where),
                "completion": completion,
                "gold": gold,
            }
        )
    return rows, digest.digest()


def _question(value: object, where: str) -> str:
    """Return a prompt as text; of a conversation the one message that it has, else all of them as JSON."""
    if isinstance(value, str):
        return _text(value, where)
    messages = _messages(value, where)
    if len(messages) == 1:
        return _text(messages[0]["content"], where)
    return _text(json.dumps([{key: message[key] for key in ("role", "content")} for message in messages]), where)


def _completion(value: object, where: str) -> str:
    if isinstance(value, str):
        return _text(value, where)
    messages = _messages(value, where)
    if len(messages) != 1:
        raise AuditError(f"{where}: a completion of {len(messages)} messages, and the run format has one turn")
    return _text(messages[0]["content"], where)


def _messages(value: object, where: str) -> list[Mapping[str, Any]]:
    good = isinstance(value, list) and value and all(
        isinstance(message, dict) and isinstance(message.get("content"), str) and "role" in message for message in value
    )  # fmt: skip
    if not good:
        raise AuditError(f"{where}: a text or messages with text are needed, found {type(value).__name__}")
    return value  # type: ignore[return-value]


def _text(value: str, where: str) -> str:
    return Record({"text": value}, where).text("text")


def _advantage(value: object, where: str) -> float:
    if not isinstance(value, float) or not math.isfinite(value):
        raise AuditError(f"{where}: advantage is {value!r:.40}, and a finite number is needed")
    return value


def _gold(row: Mapping[str, Any], column: str | None, where: str) -> str | None:
    value = row[column] if column is not None else None
    return None if value is None else _text(value if isinstance(value, str) else json.dumps(value, default=str), where)


def _prompt(question: str, gold: str | None, where: str, reading: _Reading) -> str | None:
    if gold is None:
        return None
    digest = sha256(json.dumps([question, gold]).encode()).hexdigest()[:16]
    prompt_id = f"trl/train/{digest}"
    reading.prompts.add({"prompt_id": prompt_id, "split": "train", "question": question, "gold": gold}, where)
    return prompt_id


def _mapped(found: TrlFiles, reading: _Reading) -> Iterator[str]:
    if found.completions:
        yield f"{' + '.join(short(name) for name in reading.rewards)} -> rollouts.reward; advantage, completion, step"
        yield "consecutive rows of one prompt -> rollouts.group_id"
        if reading.gold:
            yield f"{short(reading.gold)} -> gold; prompt -> prompts.question"
    if found.state:
        yield "every number of log_history -> scalars, under its own key"


def _ignored(found: TrlFiles, state: Record | None, figures: Figures, reading: _Reading, inside: Path) -> Iterator[str]:
    if reading.columns:
        yield f"columns {few(sorted(reading.columns))} of the completions: not known to this importer"
    if reading.left_out:
        steps = few([str(step) for step in reading.left_out])
        yield f"completions of steps {steps}: the trainer evaluated there, and those of the evaluation stand among them"
    if reading.unscored:
        yield f"{counted(reading.unscored, 'completion')} that no reward function scored"
    if state is not None and state.beyond(_KNOWN):
        yield f"keys {few(sorted(state.name(key) for key in state.beyond(_KNOWN)))} of the state: no figures of a step"
    yield from figures.ignored("log_history")
    if found.others:
        yield f"files {few([path.relative_to(inside).as_posix() for path in found.others])}: not read"


def _notes(reading: _Reading, state: Record | None, why: str) -> Iterator[str]:
    if reading.rewards:
        yield f"the reward is {' + '.join(short(name) for name in reading.rewards)}, {why}"
    if reading.again:
        steps = few([str(step) for step in reading.again])
        yield f"completions of steps {steps} repeat those before: several updates share a batch, which is imported once"
    if state is not None and state.values.get("max_steps") is not None and state.values.get("global_step") is not None:
        done, planned = state.whole("global_step"), state.whole("max_steps", least=-1)
        if 0 < planned != done:
            yield f"the trainer stopped after {done} of {planned} steps"
