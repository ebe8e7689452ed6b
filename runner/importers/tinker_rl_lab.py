"""Result files of arvindcr4/tinker-rl-lab: held-out evaluations, training runs, and the paired comparison of both.

Three kinds of JSON file, told apart by their keys. An evaluation (`schema_version` 2) is one arm whose seed is its
`config.seed`; one that failed gives rows with an error and no score, never zeros. A training run gives what was
planned (`steps`), what was executed (`steps_completed`, else the rows of `step_log`), and figures by step. The paired
comparison holds counts only, so that the evaluations it names must stand beside it; its majority of several seeds
counts an item as right where most of the seeds are (a vote on correctness, with the gold, not on the answers), and its
published counts must come out again. Questions are cut at 100 characters in these files: they are compared between
files, and no prompt is made of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.errors import AuditError
from audits.store.gathered import Rows, Scratch
from audits.store.manifest import ArmRecord
from runner.importers.engine.checks import few, short
from runner.importers.engine.imported import Imported, ImportedArm, Options, SourceFile
from runner.importers.engine.record import Record
from runner.importers.engine.source_files import peek, read_json, source_file

ITEM_COLUMN = False
MAPPED = False

_EVALUATION = {"evaluation_status", "config", "summary", "examples"}
_TRAINING = {"experiment", "steps", "reward_trace"}
_PAIRED = {"base_file", "seed_files", "majority_vote_5seeds"}
_EXAMPLE = {"idx", "question", "predicted", "ground_truth", "status", "error"}
_SCORES = {"correct": 1.0, "incorrect": 0.0, "error": None}
_CELLS = ("both_correct", "base_correct_grpo_wrong", "base_wrong_grpo_correct", "both_wrong")
_PATHS = {"model": "base_model", "rank": "lora_rank", "lr": "optimizer.learning_rate", "group": "rollout.group_size"}
_SUMMARIES = ("first5_avg", "last10_avg", "peak", "zero_loss_pct", "zero_reward_pct")
_USED_OF_RUN = {"experiment", "steps", "steps_completed", "reward_trace", "step_log", "seed", "task", *_PATHS}


def sniff(path: Path) -> bool:
    """Return whether a JSON file has the keys of one of the three kinds."""
    keys = set(peek(path) or {}) if path.suffix == ".json" else set()
    return any(kind <= keys for kind in (_EVALUATION, _TRAINING, _PAIRED))


def read(source: Path, options: Options) -> Imported:
    """Return what a result file says.

    Args:
        source: the JSON file.
        options: of them, where rows are gathered.

    Raises:
        AuditError: the file is of no known kind, or what it says of itself does not add up.
    """
    record = read_json(source)
    keys = set(record.values)
    if keys >= _EVALUATION:
        return _evaluation(record, source_file(source), source.stem, options.scratch)
    if keys >= _TRAINING:
        return _training(record, source_file(source), options.scratch)
    if keys >= _PAIRED:
        return _paired(record, source, options.scratch)
    raise AuditError(
        f"{source}: is no evaluation (keys {', '.join(sorted(_EVALUATION))}), no training run "
        f"({', '.join(sorted(_TRAINING))}) and no paired comparison ({', '.join(sorted(_PAIRED))}) of tinker-rl-lab"
    )


def _evaluation(record: Record, file: SourceFile, name: str, scratch: Scratch) -> Imported:
    version = record.whole("schema_version")
    if version != 2:
        raise AuditError(f"{record.where}: schema_version {version}; this importer knows 2")
    config, summary = record.part("config"), record.part("summary")
    size, status = config.whole("test_size"), record.text("evaluation_status")
    if config.whole("n_samples") != 1:
        raise AuditError(f"{config.where}: n_samples is not 1, and an example does not say which sample it is")
    examples = list(record.parts("examples"))
    rows = [_outcome(example) for example in examples]
    _check_summary(record, summary, rows, size)
    rows += _unlisted(record, summary, rows, size)
    settings = {
        "model": config.text_or_none("model_source") or config.text("model"),
        "evaluation.temperature": config.number("temperature"),
        "evaluation.max_tokens": config.whole("max_tokens"),
        "evaluation.samples_per_item": 1,
        "evaluation.seed": config.whole("seed"),
        "aggregation": "single",
    }
    arm = ArmRecord(arm=name, seed=config.whole("seed"), role="other", name=name, settings=settings)
    unknown = {key for example in examples for key in example.beyond(_EXAMPLE)}
    failed = f"{name}: the evaluation is recorded as {status!r}: {record.text_or_none('failure_reason') or 'no reason'}"
    return Imported(
        importer="tinker_rl_lab",
        files=(file,),
        arms=(
            ImportedArm(
                arm,
                evals={"final": _gathered(rows, scratch)} if rows else {},
                item_texts={_item(example): text for example in examples if (text := example.text_or_none("question"))},
            ),
        ),
        mapped=(
            "idx -> evals.item_id",
            "status -> evals.score, correct",
            "predicted -> evals.extracted",
            "ground_truth -> evals.gold",
            "error -> evals.error",
            "config -> settings of the arm",
        ),
        ignored=(
            "question: cut at 100 characters in the file; compared between files, not written as a prompt",
            *([f"keys {few(sorted(unknown))} of examples: this importer does not know them"] if unknown else []),
        ),
        notes=(failed,) if status != "completed" else (),
    )


def _gathered(found: Sequence[Mapping[str, Any]], scratch: Scratch) -> Rows:
    rows = scratch.rows("evals")
    for row in found:
        rows.append(row)
    return rows


def _outcome(example: Record) -> dict[str, Any]:
    status = example.text("status")
    if status not in _SCORES:
        raise example.fault("status", "correct, incorrect or error")
    failed = status == "error"
    return _row(
        _item(example),
        score=_SCORES[status],
        extracted=example.text_or_none("predicted"),
        gold=example.text_or_none("ground_truth") if failed else example.text("ground_truth"),
        error=example.text("error") if failed else None,
    )


def _row(
    item_id: str,
    *,
    score: float | None,
    extracted: str | None = None,
    gold: str | None = None,
    error: str | None = None,
) -> dict[str, Any]:
    return {
        "checkpoint": "final", "item_id": item_id, "sample": 0, "score": score,
        "correct": None if score is None else score == 1.0, "extracted": extracted, "gold": gold, "error": error,
    }  # fmt: skip


def _item(example: Record) -> str:
    return f"gsm8k-test-{example.whole('idx'):04d}"


def _check_summary(record: Record, summary: Record, rows: Sequence[Mapping[str, Any]], size: int) -> None:
    """Check the file's own counts against its examples; errors may be counted and not listed."""
    found = {name: sum(row["score"] == score for row in rows) for name, score in _SCORES.items()}
    said = {name: summary.whole(key) for name, key in zip(_SCORES, ("correct", "incorrect", "errors"), strict=True)}
    if found["correct"] != said["correct"] or found["incorrect"] != said["incorrect"] or found["error"] > said["error"]:
        told = ", ".join(f"{found[name]} {name} ({said[name]} by its summary)" for name in _SCORES)
        raise AuditError(f"{record.where}: the examples do not give the summary's counts: {told}. Cut off or edited?")
    if sum(said.values()) != size:
        raise AuditError(f"{summary.where}: counts {sum(said.values())} items, and config.test_size is {size}")


def _unlisted(record: Record, summary: Record, rows: Sequence[Mapping[str, Any]], size: int) -> list[dict[str, Any]]:
    """Return the items that the file counts as errors and does not list: all that are not listed are."""
    listed = {row["item_id"] for row in rows}
    reason = short(record.text_or_none("failure_reason") or "no reason is given")
    error = f"counted among {summary.whole('errors')} errors and not listed: {reason}"
    absent = [item for number in range(size) if (item := f"gsm8k-test-{number:04d}") not in listed]
    if len(rows) + len(absent) != size:
        beyond = sorted(listed - {f"gsm8k-test-{number:04d}" for number in range(size)})
        what = f"items beyond test_size {size}: {few(beyond)}" if beyond else "an item twice"
        raise AuditError(f"{record.where}: the examples hold {what}")
    return [_row(item, score=None, error=error) for item in absent]


def _training(record: Record, file: SourceFile, scratch: Scratch) -> Imported:
    name, planned = record.text("experiment"), record.whole("steps")
    log = list(record.parts("step_log")) if "step_log" in record.values else []
    done = record.whole_or_none("steps_completed")
    if done is None and log:
        done = len(log)
    rows = [*_logged(log), *_summaries(record, done)]
    trace = record.list("reward_trace")
    placed = len(trace) == done
    if placed:
        rows += [(step, "reward_trace", entry.number("reward")) for step, entry in enumerate(_entries(record, trace))]
    settings = {path: record.values[key] for key, path in _PATHS.items() if record.values.get(key) is not None}
    arm = ArmRecord(arm=name, seed=record.whole("seed"), role="other", name=name, settings=settings)
    scalars = scratch.rows("scalars")
    for step, figure, value in rows:
        scalars.append({"step": step, "name": figure, "value": value})
    unplaced = (
        f"reward_trace has {len(trace)} values for {'an unknown number of' if done is None else done} steps, so that "
        "none of them has a step; run.json keeps them"
    )
    unknown = sorted(record.beyond({*_USED_OF_RUN, *(_SUMMARIES if done else ())}))
    return Imported(
        importer="tinker_rl_lab",
        files=(file,),
        arms=(ImportedArm(arm, scalars=scalars if rows else None),),
        planned={"rollout.rollout_batches": planned},
        executed={} if done is None else {"rollout.rollout_batches": done},
        details={} if placed else {"reward_trace": trace},
        mapped=(
            "steps -> planned rollout.rollout_batches",
            "steps_completed, else the rows of step_log -> executed rollout.rollout_batches",
            "step_log, reward_trace -> scalars; steps are counted from 0 here, from 1 there",
            f"{', '.join(_SUMMARIES)} -> scalars of the last completed step",
        ),
        ignored=(
            *(() if placed else (unplaced,)),
            *([f"keys {', '.join(short(key) for key in unknown)}"] if unknown else []),
        ),
    )


def _logged(log: Sequence[Record]) -> Iterator[tuple[int, str, float]]:
    for step, entry in enumerate(log):
        if entry.whole("step") != step + 1:
            raise entry.fault("step", f"{step + 1} (the rows are counted from 1)")
        yield from ((step, entry.name(key), entry.number(key)) for key in entry.values if key != "step")


def _summaries(record: Record, done: int | None) -> Iterator[tuple[int, str, float]]:
    if done:
        yield from ((done - 1, key, record.number(key)) for key in _SUMMARIES if record.values.get(key) is not None)


def _entries(record: Record, trace: Sequence[Any]) -> Iterator[Record]:
    yield from (Record({"reward": value}, f"{record.where}, reward_trace[{n}]") for n, value in enumerate(trace))


def _paired(record: Record, source: Path, scratch: Scratch) -> Imported:
    base = _named_file(source, record.text("base_file"), scratch)
    seeds = [_named_file(source, str(path), scratch) for path in record.list("seed_files")]
    (baseline,) = base.arms
    singles = [arm for imported in seeds for arm in imported.arms]
    majority = _majority(baseline, singles, scratch)
    per_seed = list(record.parts("per_seed"))
    stated = {entry.text("label"): entry.part("contingency") for entry in per_seed}
    for arm in singles:
        if arm.record.name not in stated:
            raise AuditError(f"{record.where}: per_seed has no {arm.record.name}, which seed_files names")
        _check_counts(stated[arm.record.name], baseline, arm)
    vote = record.part("majority_vote_5seeds")
    _check_counts(vote.part("contingency"), baseline, majority)
    label = vote.text("label")
    named = [
        _as(baseline, "baseline", "baseline"),
        _as(majority, "treatment", "treatment", label),
        *(_as(arm, "single_seeds", "other") for arm in singles),
    ]
    return Imported(
        importer="tinker_rl_lab",
        files=(source_file(source), *base.files, *(file for imported in seeds for file in imported.files)),
        arms=tuple(named),
        mapped=(f"{label} -> treatment, right where most of {len(singles)} seeds are", *base.mapped),
        ignored=("intervals, p-values and t statistics: `audit decide` computes its own", *base.ignored),
        notes=("the published counts of every seed and of the majority come out of the evaluations beside the file",),
    )


def _named_file(source: Path, path: str, scratch: Scratch) -> Imported:
    beside = source.parent / Path(path).name
    if not beside.is_file():
        raise AuditError(
            f"{source}: holds counts only, no item. {short(Path(path).name)}, which it names, must stand beside it"
        )
    record = read_json(beside)
    if not set(record.values) >= _EVALUATION:
        raise AuditError(f"{beside}: is no evaluation, and {source.name} names it as one")
    return _evaluation(record, source_file(beside), beside.stem, scratch)


def _majority(baseline: ImportedArm, singles: Sequence[ImportedArm], scratch: Scratch) -> ImportedArm:
    """Return the arm that counts an item as right where more than half of the seeds are."""
    tallies = [_scores(arm) for arm in singles]
    rows = scratch.rows("evals")
    for outcome in baseline.evals["final"].records():
        right = sum(scores.get(outcome["item_id"]) == 1.0 for scores in tallies)
        rows.append(_row(outcome["item_id"], score=float(2 * right > len(singles)), gold=outcome["gold"]))
    settings = {**singles[0].record.settings, "aggregation": f"majority_of_{len(singles)}"} if singles else {}
    for own in ("model", "evaluation.seed"):
        settings.pop(own, None)
    record = ArmRecord(arm="majority", seed=0, role="other", name="majority", settings=settings)
    return ImportedArm(record, evals={"final": rows})


def _check_counts(stated: Record, baseline: ImportedArm, arm: ImportedArm) -> None:
    base, other = _scores(baseline), _scores(arm)
    pairs = [(base[item] == 1.0, other.get(item) == 1.0) for item in base]
    cells = zip(_CELLS, ((True, True), (True, False), (False, True), (False, False)), strict=True)
    differing = [f"{name} {pairs.count(cell)}, stated {stated.whole(name)}"
                 for name, cell in cells if pairs.count(cell) != stated.whole(name)]  # fmt: skip
    if differing:
        raise AuditError(f"{stated.where}: the evaluations of {arm.record.name} give {'; '.join(differing)}")


def _scores(arm: ImportedArm) -> dict[str, float | None]:
    rows = arm.evals["final"]
    return dict(zip(rows.column("item_id"), rows.column("score"), strict=True))


def _as(arm: ImportedArm, folder: str, role: str, name: str | None = None) -> ImportedArm:
    changes = {"arm": folder, "role": role, "name": name or arm.record.name}
    return ImportedArm(arm.record.model_copy(update=changes), arm.evals, item_texts=arm.item_texts)
