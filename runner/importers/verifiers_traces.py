"""Episodes of verifiers 0.4 and prime-rl: `traces.jsonl`, alone or below `rollouts/step_N/<kind>/<subset>/`.

Work of type train gives rollouts and, where the trainer's log-probabilities and the advantages were recorded, tokens;
work of type eval gives evaluations of `stepNNNNNN` (`--map final=step000200` says which of them is the final one),
and a run of its own the final evaluation. An item is its task's key, else its content hash, else its place; a further
episode of it is a further sample. A reward is the weighted sum that verifiers calls so. Every optimiser step sees a
batch once, so that all tokens are of update 0. Episodes of several agents, turns or branches are refused. The tool
rounds log-probabilities to 4 decimals: `run.json` says so (`logprob_decimals`), and the audits say what that costs.
Written for verifiers 0.4.0.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analysis.errors import AuditError
from audits.store.gathered import Prompts, Rows, Scratch
from audits.store.manifest import ArmRecord
from runner.importers.engine.checks import counted, few, short
from runner.importers.engine.episodes import Episode, Turn, decimals, read_episode
from runner.importers.engine.imported import Imported, ImportedArm, Options
from runner.importers.engine.record import Record
from runner.importers.engine.source_files import json_lines, peek, source_file

ITEM_COLUMN = False
MAPPED = True

_TRACES = "traces.jsonl"
_FOLDERS = (_TRACES, f"*/{_TRACES}", f"step_*/*/*/{_TRACES}", f"rollouts/step_*/*/*/{_TRACES}")
_EPISODE = {
    "id", "env", "task", "group", "run", "ok", "is_timeout", "errors", "traces", "num_input_tokens",
    "num_output_tokens", "num_total_tokens",
}  # fmt: skip
_SAMPLING = {"temperature": "temperature", "max_tokens": "max_tokens"}
# More digits than a double's 17 are never rounded; float32 has 9.
_MOST_ROUNDED = 7
_LISTED = 8


@dataclass
class _Found:
    """Everything that the episodes gave."""

    scratch: Scratch
    final: str | None
    prompts: Prompts
    evals: dict[str, Rows] = field(default_factory=dict)
    steps: dict[int, dict[str, Rows]] = field(default_factory=dict)
    groups: dict[tuple[int, str], int] = field(default_factory=dict)
    samples: dict[tuple[str, str], int] = field(default_factory=dict)
    seen: set[bytes] = field(default_factory=set)
    stated: dict[str, dict[Any, None]] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    decimals: int = 0
    without_reward: int = 0
    unrewarded: list[str] = field(default_factory=list)
    without_tokens: int = 0
    ungrouped: int = 0
    with_reasoning: int = 0

    def state(self, name: str, value: Any) -> None:
        """Note a value of what should be one throughout."""
        if isinstance(value, str | int | float):
            self.stated.setdefault(name, {})[value] = None


def sniff(path: Path) -> bool:
    """Return whether the path is a file of episodes, or a folder that holds some."""
    if path.is_dir():
        return bool(_files(path))
    first = (peek(path) or {}) if path.suffix == ".jsonl" else {}
    return {"id", "task", "traces", "ok"} <= set(first)


def read(source: Path, options: Options) -> Imported:
    """Return the rollouts, tokens and evaluations of all episodes.

    Args:
        source: a `traces.jsonl`, its folder, or the folder of `rollouts/`.
        options: of them, where rows are gathered, and which checkpoint is the final one.

    Raises:
        AuditError: an episode is broken, stands twice, or has several agents or turns; file, line and item are named.
    """
    if set(options.mapping) - {"final"}:
        raise AuditError("--map: only the final evaluation is a choice here, as in --map final=step000200")
    files = _files(source) if source.is_dir() else [source]
    if not files:
        raise AuditError(f"{source}: holds no {_TRACES}, beside it or below rollouts/step_N/<kind>/<subset>/")
    found = _Found(options.scratch, options.mapping.get("final"), options.scratch.prompts())
    for path in files:
        if source.is_dir() and path.is_file() and not path.stat().st_size:
            continue
        for record in json_lines(path):
            found.unknown |= {short(key) for key in record.beyond(_EPISODE)}
            _take(found, read_episode(record))
    if found.final is not None and "final" not in found.evals:
        raise AuditError(f"--map final={short(found.final)}: there is no such checkpoint ({few(sorted(found.evals))})")
    name = (source.resolve().name or "traces") if source.is_dir() else source.stem
    return Imported(
        importer="verifiers_traces",
        files=tuple(
            source_file(path, path.relative_to(source).as_posix() if source.is_dir() else None) for path in files
        ),
        arms=(
            ImportedArm(
                ArmRecord(arm=name, seed=0, role="other", name=name, settings=_settings(found)),
                evals=found.evals,
                steps=dict(sorted(found.steps.items())),
            ),
        ),
        prompts=found.prompts.rows if found.prompts.rows else None,
        details=_details(found),
        mapped=(
            "task key, hash or idx -> evals.item_id; a further episode of it -> sample",
            "rewards, weighted and added -> evals.score, rollouts.reward",
            "logprobs -> tokens.sampler_logprob, trainer_logprobs -> current_logprob, advantages -> advantage",
            "work.step -> step, or checkpoint of an evaluation; policy -> rollouts.sampler_version",
            "task.data.prompt and answer -> prompts, where both are texts",
        ),
        ignored=tuple(_ignored(found, files, source)),
        notes=tuple(_notes(found)),
    )


def _files(folder: Path) -> list[Path]:
    return sorted({path for pattern in _FOLDERS for path in folder.glob(pattern) if path.is_file()})


def _take(found: _Found, episode: Episode) -> None:
    digest = hashlib.blake2b(episode.id.encode(), digest_size=16).digest()
    if digest in found.seen:
        raise AuditError(
            f"{episode.where}: episode {short(episode.id)} stands twice. Where two subsets hold the same episodes, "
            "import one of them"
        )
    found.seen.add(digest)
    found.state("environments", episode.environment)
    found.state("verifiers", episode.version)
    for name, weight in episode.rewards.items():
        found.state("rewards", f"{name} x {weight:g}")
    prompt_id = _prompt(found, episode)
    if episode.turn is not None:
        found.with_reasoning += episode.turn.has_reasoning
        _note_sampling(found, episode, episode.turn)
    if episode.work == "eval":
        _take_outcome(found, episode, prompt_id)
    elif episode.reward is None or episode.turn is None or episode.turn.n_tokens is None:
        found.without_reward += 1
        if found.without_reward <= _LISTED:
            found.unrewarded.append(f"{episode.item} ({episode.error or 'nothing was sampled'})")
    else:
        _take_rollout(found, episode, episode.turn, prompt_id)


def _take_outcome(found: _Found, episode: Episode, prompt_id: str | None) -> None:
    checkpoint = "final" if episode.step is None else f"step{episode.step:06d}"
    checkpoint = "final" if checkpoint == found.final else checkpoint
    turn = episode.turn
    sample = found.samples.get((checkpoint, episode.item), 0)
    found.samples[checkpoint, episode.item] = sample + 1
    rows = found.evals.setdefault(checkpoint, found.scratch.rows("evals"))
    rows.append({
        "checkpoint": checkpoint, "item_id": episode.item, "sample": sample, "score": episode.reward,
        "gold": _text(episode.task.part("data"), "answer"), "completion": turn.completion if turn else None,
        "stop_reason": turn.stop_reason if turn else None, "n_tokens": turn.n_tokens if turn else None,
        "prompt_id": prompt_id, "error": episode.error,
    })  # fmt: skip


def _take_rollout(found: _Found, episode: Episode, turn: Turn, prompt_id: str | None) -> None:
    step = episode.step or 0
    tables = found.steps.setdefault(step, {"rollouts": found.scratch.rows("rollouts")})
    number = len(tables["rollouts"])
    found.ungrouped += episode.group is None
    # An episode without a group is one of its own.
    group = found.groups.setdefault((step, f"g{episode.group}" if episode.group else f"e{number}"), len(found.groups))
    tables["rollouts"].append({
        "step": step, "rollout_id": number, "group_id": group, "prompt_id": prompt_id, "reward": episode.reward,
        "n_tokens": turn.n_tokens, "stop_reason": turn.stop_reason, "sampler_version": episode.sampler_version,
        "completion": turn.completion, "gold": _text(episode.task.part("data"), "answer"),
    })  # fmt: skip
    per_token = turn.per_token
    if not (episode.trainable and turn.logprobs and {"trainer_logprobs", "advantages"} <= set(per_token)):
        found.without_tokens += 1
        return
    rows = tables.setdefault("tokens", found.scratch.rows("tokens"))
    entropies = per_token.get("entropies", (None,) * len(turn.token_ids))
    columns = (turn.token_ids, turn.logprobs, per_token["trainer_logprobs"], per_token["advantages"], entropies)
    for position, (token, sampled, current, advantage, entropy) in enumerate(zip(*columns, strict=True)):
        found.decimals = max(found.decimals, decimals(sampled), decimals(current))
        rows.append({
            "step": step, "update": 0, "rollout_id": number, "position": position, "token_id": token,
            "sampler_logprob": sampled, "current_logprob": current, "advantage": advantage, "entropy": entropy,
        })  # fmt: skip


def _prompt(found: _Found, episode: Episode) -> str | None:
    """Keep the task as a prompt where it has a question and an answer, and return its id."""
    data = episode.task.part("data")
    question, gold = _text(data, "prompt"), _text(data, "answer")
    if question is None or gold is None:
        return None
    split = "train" if episode.work == "train" else "test" if episode.step is None else "validation"
    prompt_id = f"{split}/{episode.item}"
    found.prompts.add({"prompt_id": prompt_id, "split": split, "question": question, "gold": gold}, episode.where)
    return prompt_id


def _text(data: Record, key: str) -> str | None:
    return data.text(key) if isinstance(data.values.get(key), str) else None


def _note_sampling(found: _Found, episode: Episode, turn: Turn) -> None:
    found.state("model", turn.model)
    block = "rollout" if episode.work == "train" else "evaluation"
    for key, name in _SAMPLING.items():
        found.state(f"{block}.{name}", turn.sampling.get(key))


def _settings(found: _Found) -> dict[str, Any]:
    names = ("model", *(f"{block}.{name}" for block in ("rollout", "evaluation") for name in _SAMPLING.values()))
    return {name: next(iter(found.stated[name])) for name in names if len(found.stated.get(name, ())) == 1}


def _details(found: _Found) -> dict[str, Any]:
    told = {name: list(found.stated[name]) for name in ("environments", "verifiers", "rewards") if name in found.stated}
    rounded = 0 < found.decimals <= _MOST_ROUNDED
    return told | ({"logprob_decimals": found.decimals} if rounded else {})


def _ignored(found: _Found, files: list[Path], source: Path) -> Iterator[str]:
    if found.without_reward:
        yield (
            f"{counted(found.without_reward, 'training episode')} without a reward, of which there is no rollout: "
            f"{few(found.unrewarded, found.without_reward)}"
        )
    if found.without_tokens:
        yield (
            f"tokens of {counted(found.without_tokens, 'rollout')}: without logprobs, trainer_logprobs or advantages, "
            "or not trainable"
        )
    if found.unknown:
        yield f"keys {few(sorted(found.unknown))} of episodes: not known to this importer"
    empty = [path.relative_to(source).as_posix() for path in files if source.is_dir() and not path.stat().st_size]
    if empty:
        yield f"{few(empty)}: empty"
    yield "metrics, tools, timing, agent and calls beside the model, its sampling and finish_reason: not read"


def _notes(found: _Found) -> Iterator[str]:
    if 0 < found.decimals <= _MOST_ROUNDED:
        yield (
            f"log-probabilities have {found.decimals} decimals: each is off by up to {0.5 * 10**-found.decimals:g} "
            "nats; `audit drift` says what that costs"
        )
    for name in ("model", "rollout.temperature", "rollout.max_tokens", "evaluation.temperature"):
        if len(found.stated.get(name, ())) > 1:
            yield f"several values of {name}: {few([str(value) for value in found.stated[name]])}"
    if len(found.stated.get("rewards", ())) > 1:
        yield f"the reward is the sum of {few(list(found.stated['rewards']))}"
    if found.ungrouped:
        yield f"{counted(found.ungrouped, 'rollout')} without a group: each is a group of its own"
    if found.with_reasoning:
        yield f"{counted(found.with_reasoning, 'completion')} without the reasoning_content that stood before the text"
    if found.evals and "final" not in found.evals:
        yield f"evaluations of {few(sorted(found.evals))}; --map final=… says which of them is the final one"
