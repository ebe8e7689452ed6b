"""tinker-cookbook log directories: figures by step, what was planned, and rollouts where summaries were exported.

A directory with `metrics.jsonl`, or that file alone. A resumed run writes steps again: the last row of a step is the
one that its weights went on from, and it is taken. What was planned is `config.json`, and the number of rollout batches
that `progress/done_frac` divides by; what was executed is the steps that were logged and `optim/lr`. `optim/entropy` is
the mean surprisal of sampled tokens, not an entropy; the key is kept as the tool writes it. A rollout summary has no
text, no prompt, no advantage and no stop reason, and none is made up; an evaluation's is imported where it names its
items. Spans become phases, and captured requests say which settings were sent. Episodes of several turns are refused:
the run format has one turn. Written for cookbook 0.5.8 and 0.6.1.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analysis.errors import AuditError
from audits.store.gathered import Rows, Scratch
from audits.store.manifest import ArmRecord
from runner.importers.engine.checks import counted, few, short
from runner.importers.engine.cookbook_capture import capture_files, read_capture
from runner.importers.engine.cookbook_spans import Spans, read_spans
from runner.importers.engine.cookbook_summaries import eval_rows, rollout_rows
from runner.importers.engine.imported import Imported, ImportedArm, Options, SourceFile
from runner.importers.engine.record import Record
from runner.importers.engine.source_files import json_lines, peek, read_json, source_file

ITEM_COLUMN = False
MAPPED = False

_METRICS, _CONFIG, _CHECKPOINTS = "metrics.jsonl", "config.json", "checkpoints.jsonl"
_SPANS = "timing_spans.jsonl"
_SUMMARIES, _EVALUATIONS = "train_rollout_summaries.jsonl", "eval_*_rollout_summaries.jsonl"
_LOGTREE = "_logtree.json"
_ITERATION = re.compile(r"iteration_([0-9]{6,9})")
_GROUPS = ("progress/", "optim/", "env/", "time/", "test/")
_BATCHES = "rollout.rollout_batches"
_RATE = "optimizer.learning_rate"
_UPDATES = "rollout.updates_per_batch"
_OPTIM_STEP = "time/optim_step_async"
_PATHS = {
    "model_name": "base_model", "lora_rank": "lora_rank", "learning_rate": _RATE, "num_substeps":
    "rollout.updates_per_batch", "temperature": "rollout.temperature", "max_tokens": "rollout.max_tokens",
    "renderer_name": "rollout.renderer",
}  # fmt: skip
_BUILDER_PATHS = {"batch_size": "rollout.groups_per_batch", "group_size": "rollout.group_size"}
_OWN = ("loss_fn", "loss_fn_config", "kl_penalty_coef", "remove_constant_reward_groups")


@dataclass
class _Figures:
    """The rows of `metrics.jsonl`: by step the last row, and what was not a figure of a step."""

    rows: dict[int, dict[str, float]] = field(default_factory=dict)
    repeated: set[int] = field(default_factory=set)
    stepless: int = 0
    no_numbers: set[str] = field(default_factory=set)


def sniff(path: Path) -> bool:
    """Return whether the path is a log directory, its metrics or its list of checkpoints."""
    if path.is_dir():
        return (path / _METRICS).is_file()
    first = (peek(path) or {}) if path.suffix == ".jsonl" else {}
    is_metrics = "step" in first and any(key.startswith(_GROUPS) for key in first)
    return is_metrics or _is_checkpoint(first)


def read(source: Path, options: Options) -> Imported:
    """Return what a log directory says.

    Args:
        source: the directory, or its `metrics.jsonl`.
        options: of them, where rows are gathered.

    Raises:
        AuditError: a file is broken, a figure has no step, or episodes have several turns; file and line are named.
    """
    metrics = source / _METRICS if source.is_dir() else source
    if not metrics.exists():
        raise AuditError(f"{source}: has no {_METRICS}, so it is no log directory of tinker-cookbook")
    figures = _figures(metrics)
    inside = source if source.is_dir() else None
    config = read_json(inside / _CONFIG) if inside and (inside / _CONFIG).is_file() else None
    summaries = list(_summary_files(inside)) if inside else []
    name = source.name if inside else source.stem
    steps: dict[int, dict[str, Rows]] = {}
    for step, path in summaries:
        rollouts = rollout_rows(step, path, options.scratch)
        steps |= {step: {"rollouts": rollouts}} if rollouts else {}
    spans = read_spans(inside / _SPANS) if inside and (inside / _SPANS).is_file() else Spans()
    for step, phases in spans.rows(options.scratch):
        steps.setdefault(step, {})["phases"] = phases
    evals, evaluations, left_out = _evals(inside, options.scratch) if inside else ({}, [], [])
    captured = capture_files(inside) if inside else []
    capture = read_capture(captured)
    arm = ImportedArm(
        ArmRecord(arm=name, seed=_seed(config), role="other", name=name, settings=_own_settings(config)),
        evals=evals,
        steps=dict(sorted(steps.items())),
        scalars=_scalars(figures.rows, options.scratch),
    )
    return Imported(
        importer="tinker_cookbook",
        files=tuple(_files(inside, metrics, config, [*(path for _, path in summaries), *evaluations, *captured])),
        arms=(arm,),
        planned=_planned(config, figures.rows),
        executed={**capture.executed(), **_executed(figures.rows)},
        details=_checkpoints(inside),
        mapped=tuple(_mapped(config, bool(summaries), spans, bool(captured), bool(evals))),
        ignored=(*_ignored(inside, config, figures, spans), *left_out),
        notes=(*_notes(figures), *capture.notes()),
    )


def _figures(path: Path) -> _Figures:
    found = _Figures()
    for record in json_lines(path):
        if _is_checkpoint(record.values):
            raise AuditError(
                f"{path}: lists checkpoints by name and path, and holds neither figures nor outcomes. Import the log "
                f"directory that has {_METRICS}"
            )
        if record.values.get("step") is None:
            found.stepless += 1
            continue
        step = record.whole("step")
        numbers = {key: float(value) for key, value in record.values.items() if key != "step" and _is_number(value)}
        found.no_numbers |= {key for key in record.values if key != "step" and key not in numbers}
        found.repeated |= {step} & set(found.rows)
        found.rows[step] = {record.name(key): value for key, value in numbers.items()}
    return found


def _is_number(value: object) -> bool:
    # An integer beyond a float's range has no value as one.
    return isinstance(value, int | float) and not isinstance(value, bool) and not (
        isinstance(value, int) and abs(value) >= 2**1023
    )  # fmt: skip


def _is_checkpoint(values: Mapping[str, Any]) -> bool:
    return "name" in values and ("state_path" in values or "sampler_path" in values)


def _scalars(rows: Mapping[int, Mapping[str, float]], scratch: Scratch) -> Rows | None:
    scalars = scratch.rows("scalars")
    for step in sorted(rows):
        for name, value in rows[step].items():
            scalars.append({"step": step, "name": name, "value": value})
    return scalars if scalars else None


def _planned(config: Record | None, rows: Mapping[int, Mapping[str, float]]) -> dict[str, Any]:
    planned = {}
    if config is not None:
        planned = {path: config.values[key] for key, path in _PATHS.items() if config.values.get(key) is not None}
        builder = config.values.get("dataset_builder")
        known = builder if isinstance(builder, dict) else {}
        planned |= {path: known[key] for key, path in _BUILDER_PATHS.items() if known.get(key) is not None}
        if "rollout.renderer" not in planned and known.get("renderer_name") is not None:
            planned["rollout.renderer"] = known["renderer_name"]
    batches = _planned_batches(config, rows)
    return planned | ({_BATCHES: batches} if batches else {})


def _planned_batches(config: Record | None, rows: Mapping[int, Mapping[str, float]]) -> int | None:
    """Return how many rollout batches the run was to have: its progress is the batches so far over all of them."""
    if rows:
        last = max(rows)
        done = rows[last].get("progress/done_frac", 0.0)
        if 0.0 < done <= 1.0:
            batches = (last + 1) / done
            if abs(batches - round(batches)) < 1e-6 * batches:
                return round(batches)
    return config.whole_or_none("max_steps") if config is not None else None


def _executed(rows: Mapping[int, Mapping[str, float]]) -> dict[str, Any]:
    rates = {row["optim/lr"] for row in rows.values() if "optim/lr" in row}
    updates = {_updates(row) for row in rows.values() if _updates(row) is not None}
    return {
        **({_BATCHES: len(rows)} if rows else {}),
        **({_RATE: rates.pop()} if len(rates) == 1 else {}),
        **({_UPDATES: updates.pop()} if len(updates) == 1 else {}),
    }


def _updates(row: Mapping[str, float]) -> int | None:
    """Return how many optimiser steps the trace of an iteration counts; a single one has no count."""
    if f"{_OPTIM_STEP}:count" in row:
        return round(row[f"{_OPTIM_STEP}:count"])
    return 1 if _OPTIM_STEP in row else None


def _own_settings(config: Record | None) -> dict[str, Any]:
    return {key: config.values[key] for key in _OWN if config is not None and config.values.get(key) is not None}


def _seed(config: Record | None) -> int:
    builder = config.values.get("dataset_builder") if config is not None else None
    seed = builder.get("seed") if isinstance(builder, dict) else None
    return seed if isinstance(seed, int) and not isinstance(seed, bool) and 0 <= seed < 2**31 else 0


def _summary_files(folder: Path) -> Iterator[tuple[int, Path]]:
    for path in sorted(folder.glob(f"iteration_*/{_SUMMARIES}")):
        match = _ITERATION.fullmatch(path.parent.name)
        if match is None:
            raise AuditError(f"{path}: stands in no folder iteration_NNNNNN, so that it has no step")
        yield int(match[1]), path


def _evals(folder: Path, scratch: Scratch) -> tuple[dict[str, Rows], list[Path], list[str]]:
    """Return the evaluations by checkpoint, their files, and those that were left out with the reason.

    One evaluation has the checkpoint's name to itself; where an iteration has several, none says which is meant.
    """
    found: dict[str, Rows] = {}
    read: list[Path] = []
    left: list[str] = []
    for folder_of_step in sorted(folder.glob("iteration_*")):
        match = _ITERATION.fullmatch(folder_of_step.name)
        paths = sorted(folder_of_step.glob(_EVALUATIONS)) if match else []
        for path in paths:
            name = path.relative_to(folder).as_posix()
            if len(paths) > 1:
                left.append(f"{name}: one of {len(paths)} evaluations of this iteration")
                continue
            step = int(folder_of_step.name.removeprefix("iteration_"))
            rows, why = eval_rows(step, path, f"step{step:06d}", scratch)
            if rows is None:
                left.append(f"{name}: {why}")
                continue
            found[f"step{step:06d}"] = rows
            read.append(path)
    return found, read, left


def _files(
    inside: Path | None, metrics: Path, config: Record | None, summaries: Sequence[Path]
) -> Iterator[SourceFile]:
    yield source_file(metrics)
    if inside is None:
        return
    named = [inside / _CONFIG] if config is not None else []
    named += [path for name in (_CHECKPOINTS, _SPANS) if (path := inside / name).is_file()]
    yield from (source_file(path, path.relative_to(inside).as_posix()) for path in [*named, *summaries])


def _checkpoints(inside: Path | None) -> dict[str, Any]:
    if inside is None or not (inside / _CHECKPOINTS).is_file():
        return {}
    return {"checkpoints": [record.text("name") for record in json_lines(inside / _CHECKPOINTS)]}


def _mapped(
    config: Record | None, has_rollouts: bool, spans: Spans, is_captured: bool, has_evals: bool
) -> Iterator[str]:
    yield "every number of metrics.jsonl -> scalars, under its own key"
    yield "steps logged -> executed rollout.rollout_batches; progress/done_frac -> planned"
    yield f"{_OPTIM_STEP}:count -> executed {_UPDATES}"
    if config is not None:
        yield f"config.json {', '.join([*_PATHS, *_BUILDER_PATHS])} -> planned; {', '.join(_OWN)} -> settings"
    if has_rollouts:
        yield "total_reward, group_idx, ac_len, sampling_client_step of train_rollout_summaries.jsonl -> rollouts"
    if has_evals:
        yield "example_id, correct or total_reward, ac_len of eval_*_rollout_summaries.jsonl -> evals"
    if spans.phases:
        yield "outermost spans of timing_spans.jsonl -> phases, without a start: they have no clock"
    if is_captured:
        yield "sampling_params and hyperparams of capture/*.jsonl -> executed"


def _ignored(inside: Path | None, config: Record | None, figures: _Figures, spans: Spans) -> Iterator[str]:
    if figures.stepless:
        yield f"{counted(figures.stepless, 'row')} of metrics.jsonl without a step: summaries"
    if figures.no_numbers:
        yield f"keys {few(sorted(figures.no_numbers))} of metrics.jsonl: no numbers"
    if config is not None:
        left = sorted(config.beyond({*_PATHS, *_OWN, "dataset_builder", "max_steps"}))
        if left:
            yield f"config.json {', '.join(short(key) for key in left)}: no setting of a plan"
    if spans.others:
        yield f"spans {few(sorted(spans.others))}: inside a phase, or none"
    if inside is not None:
        used = {_METRICS, _CONFIG, _CHECKPOINTS, _SPANS}
        others = {path.name for path in inside.iterdir() if path.is_file() and path.name not in used}
        inner = {path.name for path in inside.glob("iteration_*/*")}
        trees = {name for name in inner if name.endswith(_LOGTREE)}
        others |= {name for name in inner - trees if not name.endswith("_rollout_summaries.jsonl")}
        if trees:
            yield (
                f"files {few(sorted(trees))}: their conversations stand in the order in which the rollouts of a group "
                "ended, without its number"
            )
        if others:
            yield f"files {few(sorted(others))}: not read"


def _notes(figures: _Figures) -> Iterator[str]:
    if figures.repeated:
        steps = ", ".join(str(step) for step in sorted(figures.repeated)[:8])
        yield (
            f"{counted(len(figures.repeated), 'step')} logged more than once (a resumed run; {steps}"
            f"{', …' if len(figures.repeated) > 8 else ''}): the last row of each was taken"
        )
    if figures.rows and len(figures.rows) != max(figures.rows) + 1:
        yield f"steps up to {max(figures.rows)} were logged, and {max(figures.rows) + 1 - len(figures.rows)} are absent"
