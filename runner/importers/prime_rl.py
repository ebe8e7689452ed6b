"""prime-rl token exports: every token of every sequence that the trainer saw, with both log-probabilities.

`token_exports/step_N/rank_R.jsonl` with a `STABLE` marker in the step's folder, written where `enable_token_export`
is set; the source is the output directory, `token_exports`, one step or one file. Tokens whose `loss_mask` is true
are loss tokens: `inference_logprobs` is the sampler's, `trainer_logprobs` the current policy's. prime-rl makes one
optimiser step a step, so that every token is of update 0, unless a record has an `update` of its own, as `audit
export` writes it. Ranks are merged in their order. A step without its marker may be half written: it is left out, and
refused where it is all that was named. The exports hold no reward, no text and no group, so that there is no table of
rollouts, and no optimiser settings, so that there is none of updates. What they state beside the log-probabilities
(`prob_delta`, `importance_ratio`, `is_masked`, …) is computed again and compared. A sequence of several turns is
refused. Read from the keys of prime-rl 559b447; the writer itself was not run.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analysis.errors import AuditError
from audits.store.gathered import Rows
from audits.store.manifest import ArmRecord
from runner.importers.engine.checks import counted, few
from runner.importers.engine.exported_figures import ExportedFigures
from runner.importers.engine.imported import Imported, ImportedArm, Options
from runner.importers.engine.record import Record
from runner.importers.engine.source_files import json_lines, peek, source_file
from runner.importers.engine.token_lists import aligned, flags, floats, wholes

ITEM_COLUMN = False
MAPPED = False

_MARKER = "STABLE"
_FOLDER = "token_exports"
_STEP = re.compile(r"step_([0-9]{1,9})")
_RANK = re.compile(r"rank_([0-9]{1,6})\.jsonl")
_OWN = {"token_ids", "loss_mask", "inference_logprobs", "trainer_logprobs"}
_USED = {
    *_OWN, "schema_version", "step", "rank", "micro_step", "micro_sequence_idx", "export_sequence_idx", "env_name",
    "position_ids", "advantages", "entropy", "update", "rollout_id", *ExportedFigures.NAMES,
}  # fmt: skip
_KNOWN = {*_USED, "is_masked_high", "is_masked_low", "rl_weights", "ce_weights", "ref_kl_weights"}
_MOST_UPDATES = 127


@dataclass
class _Seen:
    """What is told of all files together."""

    figures: ExportedFigures = field(default_factory=ExportedFigures)
    environments: dict[str, None] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    unread: set[str] = field(default_factory=set)
    without_loss: int = 0
    empty: list[str] = field(default_factory=list)


def sniff(path: Path) -> bool:
    """Return whether the path holds token exports, or is a file of them."""
    if path.is_dir():
        return next(_rank_files(path), None) is not None
    return path.suffix == ".jsonl" and set(peek(path) or {}) >= _OWN


def read(source: Path, options: Options) -> Imported:
    """Return the loss tokens of all steps that are whole.

    Args:
        source: the output directory, its `token_exports`, one `step_N` or one `rank_R.jsonl`.
        options: of them, where rows are gathered.

    Raises:
        AuditError: no step is whole, a record is broken or of several turns; file and line are named.
    """
    notes: list[str] = []
    if source.is_dir():
        files, unfinished = _whole_files(source)
    else:
        files, unfinished = [(None, source)], []
        if not (source.parent / _MARKER).exists():
            notes.append(f"{source.name}: no {_MARKER} beside it, so that its step may not be whole")
    seen = _Seen()
    steps: dict[int, Rows] = {}
    sequences: dict[int, int] = {}
    for step, path in files:
        for record in _records(path, seen, alone=not source.is_dir()):
            found = _step(record, step)
            rows = steps.setdefault(found, options.scratch.rows("tokens"))
            _append(rows, record, found, sequences, seen)
    if not any(steps.values()):
        raise AuditError(f"{source}: no sequence has a loss token (loss_mask is true nowhere)")
    name = _name(source)
    return Imported(
        importer="prime_rl",
        files=tuple(
            source_file(path, path.relative_to(source).as_posix() if source.is_dir() else None) for _, path in files
        ),
        arms=(
            ImportedArm(
                ArmRecord(arm=name, seed=0, role="other", name=name),
                steps={step: {"tokens": steps[step]} for step in sorted(steps) if steps[step]},
            ),
        ),
        details={"environments": list(seen.environments)} if seen.environments else {},
        mapped=(
            "tokens with loss_mask true -> tokens",
            "inference_logprobs -> sampler_logprob, trainer_logprobs -> current_logprob",
            "advantages -> advantage, entropy -> entropy",
            "one optimiser step a step -> update 0, unless a record names its update",
        ),
        ignored=tuple(_ignored(seen, unfinished)),
        notes=(*notes, *_notes(seen)),
    )


def _rank_files(folder: Path) -> Iterator[tuple[int, int, Path]]:
    """Yield step, rank and path of the files of an output directory, of its exports or of one step."""
    for inside in (folder / _FOLDER, folder):
        matched = _STEP.fullmatch(inside.name)
        for above in [inside] if matched else sorted(inside.glob("step_*")):
            step = _STEP.fullmatch(above.name)
            for path in sorted(above.glob("rank_*.jsonl")) if step else ():
                rank = _RANK.fullmatch(path.name)
                if step and rank:
                    yield int(step[1]), int(rank[1]), path


def _whole_files(source: Path) -> tuple[list[tuple[int | None, Path]], list[str]]:
    """Return the files of steps with their marker, sorted by step and rank, and the names of the other steps."""
    found = sorted(_rank_files(source))
    if not found:
        raise AuditError(f"{source}: holds no {_FOLDER}/step_N/rank_R.jsonl of prime-rl (enable_token_export)")
    places: dict[tuple[int, int], Path] = {}
    for step, rank, path in found:
        first = places.setdefault((step, rank), path)
        if first != path:
            raise AuditError(f"{path}: step {step} of rank {rank} stands in {first} too. Which one is meant?")
    unfinished = {path.parent.name: None for _, _, path in found if not (path.parent / _MARKER).exists()}
    whole: list[tuple[int | None, Path]] = [
        (step, path) for step, _, path in found if path.parent.name not in unfinished
    ]
    if not whole:
        raise AuditError(
            f"{source}: no step has its {_MARKER} marker ({few(list(unfinished))}): prime-rl had not finished writing. "
            f"Where you know that it had, put an empty file {_MARKER} beside the ranks"
        )
    return whole, list(unfinished)


def _records(path: Path, seen: _Seen, *, alone: bool) -> Iterator[Record]:
    if not alone and path.is_file() and not path.stat().st_size:
        # A rank without a sequence in this step.
        seen.empty.append(f"{path.parent.name}/{path.name}")
        return
    yield from json_lines(path)


def _step(record: Record, step: int | None) -> int:
    if record.whole("schema_version") != 1:
        raise record.fault("schema_version", "1")
    found = record.whole("step")
    if step is not None and found != step:
        raise record.fault("step", f"{step}, as the folder says,")
    return found


def _append(rows: Rows, record: Record, step: int, sequences: dict[int, int], seen: _Seen) -> None:
    """Add the loss tokens of one sequence."""
    mask = flags(record, "loss_mask")
    lists = {
        key: aligned(record, key, len(mask))
        for key in ("token_ids", "inference_logprobs", "trainer_logprobs", "advantages")
    }
    _look_around(record, seen)
    number = sequences.get(step, 0)
    sequences[step] = number + 1
    places = [place for place, is_loss in enumerate(mask) if is_loss]
    if not places:
        seen.without_loss += 1
        return
    _check_one_turn(record, mask, places)
    own = "rollout_id" in record.values
    update = record.whole("update", most=_MOST_UPDATES) if "update" in record.values else 0
    sampler = floats(record, "inference_logprobs", lists["inference_logprobs"], places)
    current = floats(record, "trainer_logprobs", lists["trainer_logprobs"], places)
    advantages = floats(record, "advantages", lists["advantages"], places)
    seen.figures.compare(record, places, len(mask), sampler, current, advantages)
    fixed = {"step": step, "update": update, "rollout_id": record.whole("rollout_id") if own else number}
    ids = wholes(record, "token_ids", lists["token_ids"], places)
    entropies = _entropies(record, places, len(mask))
    for position, (token, at_sampling, at_update, advantage) in enumerate(
        zip(ids, sampler, current, advantages, strict=True)
    ):
        rows.append({
            **fixed, "position": position, "token_id": token, "sampler_logprob": at_sampling,
            "current_logprob": at_update, "advantage": advantage, "entropy": entropies[position],
        })  # fmt: skip


def _entropies(record: Record, places: Sequence[int], length: int) -> Sequence[float | None]:
    if record.values.get("entropy") is None:
        return [None] * len(places)
    values = aligned(record, "entropy", length)
    return [None if values[place] is None else floats(record, "entropy", values, [place])[0] for place in places]


def _check_one_turn(record: Record, mask: Sequence[bool], places: Sequence[int]) -> None:
    positions: Sequence[Any] = range(len(mask))
    if record.values.get("position_ids") is not None:
        positions = aligned(record, "position_ids", len(mask))
    span = range(places[0], places[-1] + 1)
    if len(span) != len(places):
        raise AuditError(
            f"{record.where}: the loss tokens stand in several spans (a gap after token {_gap(places)}): a sequence of "
            "several turns, and the run format has one"
        )
    if wholes(record, "position_ids", positions, span) != list(
        range(int(positions[span[0]]), int(positions[span[0]]) + len(span))
    ):
        raise AuditError(f"{record.where}: position_ids start anew inside the loss tokens: several sequences in one")


def _gap(places: Sequence[int]) -> int:
    return next(place for place, after in itertools.pairwise(places) if after != place + 1)


def _look_around(record: Record, seen: _Seen) -> None:
    environment = record.text_or_none("env_name")
    if environment is not None:
        seen.environments[environment] = None
    seen.unknown |= record.beyond(_KNOWN)
    seen.unread |= {key for key in _KNOWN - _USED if record.values.get(key) is not None}


def _name(source: Path) -> str:
    """Return the name of the output directory; of a file that of the file, as nothing says where it was written."""
    if not source.is_dir():
        return source.stem
    folder = source.resolve()
    if _STEP.fullmatch(folder.name):
        folder = folder.parent
    if folder.name == _FOLDER:
        folder = folder.parent
    return folder.name or "prime-rl"


def _ignored(seen: _Seen, unfinished: Sequence[str]) -> Iterator[str]:
    if unfinished:
        yield f"{few(unfinished)}: no {_MARKER} marker, so that the step may not be whole"
    if seen.empty:
        yield f"{few(seen.empty)}: empty, a rank without a sequence"
    if seen.without_loss:
        yield f"{counted(seen.without_loss, 'sequence')} without a loss token"
    if seen.unread:
        yield f"keys {few(sorted(seen.unread))}: the run format has no column for them"
    if seen.unknown:
        yield f"keys {few(sorted(seen.unknown))}: not known to this importer"
    yield "token exports hold no reward and no optimiser settings: no table of rollouts and none of updates"


def _notes(seen: _Seen) -> Iterator[str]:
    yield from seen.figures.told()
