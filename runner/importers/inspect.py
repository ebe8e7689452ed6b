"""Inspect's evaluation logs, `.eval` (deflated or Zstandard) and `.json`: one arm, one row a sample.

An item is known by its sample's id, an epoch is a sample of it. `scores` gives the score: C is 1, I and N are 0, P is
half, numbers and yes, no, true, false are read as Inspect reads them. Of several scorers one must be named, `--map
score=SCORER`, and of one with several values `--map score=SCORER.KEY`. Completion, stop reason and tokens are those of
the sample's last output, also where a solver took several turns: an evaluation's item is its outcome. A sample that
failed, that its scorer could not score, or that was to be evaluated and is not in the log (cancelled, cut off, still
running) is a row with an error and no score. The tokens are the output's own; the sample's sum would count a grading
model too. A folder is read where it holds one log; of several, each is an arm.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from analysis.errors import AuditError
from audits.store.manifest import ArmRecord
from runner.importers.engine.checks import counted, few, short
from runner.importers.engine.imported import Imported, ImportedArm, Options
from runner.importers.engine.inspect_logs.containers import is_log, logs_in, open_log
from runner.importers.engine.inspect_logs.samples import MOST_EPOCHS, Samples, append, item_of
from runner.importers.engine.inspect_logs.scores import ScoreChoice
from runner.importers.engine.inspect_logs.settings import settings_of
from runner.importers.engine.record import Record
from runner.importers.engine.source_files import source_file

ITEM_COLUMN = False
MAPPED = True

_FIELD = "score"
_VERSION = 2
_KNOWN = {
    "version", "status", "eval", "plan", "results", "stats", "error", "invalidated", "log_updates", "config_updates",
    "tags", "metadata", "samples", "reductions",
}  # fmt: skip
_MOST_SAMPLES = 10_000_000


def sniff(path: Path) -> bool:
    """Return whether the path is a log, or a folder that holds one."""
    return is_log(path) or (path.is_dir() and bool(logs_in(path)))


def read(source: Path, options: Options) -> Imported:
    """Return the samples of a log.

    Args:
        source: the log, or a folder with one.
        options: where rows are gathered, and which score is meant.

    Raises:
        AuditError: it is no log of version 2, a sample is broken, or the score that is meant is not clear; file and
            sample are named.
    """
    if unknown := set(options.mapping) - {_FIELD}:
        raise AuditError(f"--map {short(min(unknown))}: a log has one reading of it; `--map {_FIELD}=SCORER` is known")
    path = _one_log(source)
    found = Samples(
        ScoreChoice(options.mapping.get(_FIELD), str(path)), options.scratch.prompts(), options.scratch.rows("evals")
    )
    with open_log(path) as log:
        header, superseded = log.header, log.superseded
        evaluation = _evaluation(header)
        for sample in log.samples:
            append(sample, found)
    found.choice.check_found()
    _check_any_score(path, header, found)
    notes = [*_status(header), *_absent(evaluation, header, found)]
    grader = {"evaluation.grader": f"inspect:{found.choice.name}"} if found.choice.name else {}
    settings = {**settings_of(header), **grader}
    arm = ArmRecord(arm=path.stem, seed=0, role="other", name=path.stem, settings=settings)
    return Imported(
        importer="inspect",
        files=(source_file(path, path.relative_to(source).as_posix() if source.is_dir() else None),),
        arms=(ImportedArm(arm, evals={"final": found.evals}, item_texts=found.texts),),
        prompts=found.prompts.rows if found.prompts.rows else None,
        details=_details(evaluation),
        mapped=(
            "id -> evals.item_id, epoch -> sample",
            f"scores.{found.choice.name} -> evals.score, correct; its answer -> extracted",
            "target -> gold",
            "output -> completion, stop_reason, n_tokens",
            "input -> prompts.question",
            "eval, plan -> settings of the arm",
        ),
        ignored=tuple(_ignored(header, found)),
        notes=(*notes, *_notes(found, superseded)),
    )


def _one_log(source: Path) -> Path:
    if not source.is_dir():
        return source
    logs = logs_in(source)
    if len(logs) == 1:
        return logs[0]
    if not logs:
        raise AuditError(f"{source}: holds no log of Inspect (.eval or .json)")
    raise AuditError(
        f"{source}: holds {len(logs)} logs ({few([path.name for path in logs])}). Each is an arm: name them, as "
        f"--arm baseline={logs[0]}"
    )


def _evaluation(header: Record) -> Record:
    version = header.whole("version")
    if version != _VERSION:
        raise AuditError(f"{header.where}: a log of version {version}; this importer knows {_VERSION}")
    return header.part("eval")


def _check_any_score(path: Path, header: Record, found: Samples) -> None:
    if not found.seen:
        status = header.values.get("status", "never finished")
        raise AuditError(f"{path}: holds no sample (status {short(str(status))}), so there is nothing to import")
    if found.choice.name is None and found.told.get("have no score and no error") == len(found.seen):
        raise AuditError(
            f"{path}: none of its {counted(len(found.seen), 'sample')} has a score. `inspect score` adds them"
        )


def _status(header: Record) -> Iterator[str]:
    status = header.text("status") if "status" in header.values else "started"
    if status != "success":
        error = header.part("error").text("message") if header.values.get("error") else "no error is stated"
        yield f"the evaluation did not finish: its status is {short(status)!r} ({short(error)})"
    if header.values.get("invalidated"):
        yield "the log is marked as invalidated"
    if header.values.get("log_updates") or header.values.get("config_updates"):
        yield "the log was edited after it was written, or its settings were changed while it ran"


def _absent(evaluation: Record, header: Record, found: Samples) -> Iterator[str]:
    """Add a row of each sample that was to be evaluated and is not in the log, and tell how many."""
    dataset, config = evaluation.part("dataset"), evaluation.part("config")
    stated = dataset.list("sample_ids") if dataset.values.get("sample_ids") is not None else []
    epochs = config.whole_or_none("epochs", least=1) or 1
    if epochs > MOST_EPOCHS or len(stated) * epochs > _MOST_SAMPLES:
        raise config.fault("epochs", f"at most {MOST_EPOCHS} and with them {_MOST_SAMPLES:,} samples")
    items = [item_of(Record({"id": value}, f"{dataset.where}, sample_ids")) for value in stated]
    absent = [(item, epoch) for item in dict.fromkeys(items) for epoch in range(1, epochs + 1)
              if (item, epoch) not in found.seen]  # fmt: skip
    status = header.values.get("status", "started")
    for item, epoch in absent:
        found.evals.append(
            {"checkpoint": "final", "item_id": item, "sample": epoch - 1,
             "error": f"was to be evaluated and is not in the log, whose status is {short(str(status))}"}
        )  # fmt: skip
    if absent:
        yield (
            f"{len(absent):,} of {len(items) * epochs:,} samples that were to be evaluated are not in the log "
            f"({few([f'{item} epoch {epoch}' for item, epoch in absent[:9]], len(absent))}): they have no score"
        )


def _details(evaluation: Record) -> dict[str, Any]:
    """Return which code evaluated, as the log states it."""
    stated: Mapping[str, Any] = {
        "revision": evaluation.values.get("revision"),
        "packages": evaluation.values.get("packages"),
        "created": evaluation.values.get("created"),
    }
    return {name: value for name, value in stated.items() if value}


def _ignored(header: Record, found: Samples) -> Iterator[str]:
    if found.left_out:
        yield f"keys {few(sorted(found.left_out), len(found.left_out))} of samples: a run has no table for them"
    if found.unknown:
        yield f"keys {few(sorted(found.unknown))} of samples: this importer does not know them"
    if unknown := sorted(header.beyond(_KNOWN)):
        yield f"keys {few(unknown)} of the log: this importer does not know them"
    if found.choice.others:
        yield f"scorers {few(found.choice.others)}: {found.choice.name} is the score"


def _notes(found: Samples, superseded: int) -> Iterator[str]:
    total = len(found.seen)
    yield from (f"{number:,} of {counted(total, 'sample')} {what}" for what, number in found.told.items())
    if superseded:
        yield f"{counted(superseded, 'member')} of the archive stand again later: the last is read, as by Inspect"
    if found.prompts.rows:
        yield "a log does not say of which split its samples are: they were evaluated, and are taken as test"
