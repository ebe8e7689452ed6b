"""Rollout summaries of tinker-cookbook: one line an episode, of a batch of training or of an evaluation."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from analysis.errors import AuditError
from audits.store.gathered import Rows, Scratch
from runner.importers.engine.record import Record
from runner.importers.engine.source_files import json_lines


def rollout_rows(step: int, path: Path, scratch: Scratch) -> Rows:
    """Return the rollouts of one iteration; an empty file is an iteration without any.

    Raises:
        AuditError: a line is no summary of this iteration, an episode has several turns or stands twice.
    """
    rows = scratch.rows("rollouts")
    for record in _summaries(step, path):
        version = record.whole_or_none("sampling_client_step")
        rows.append(
            {
                "step": step,
                "rollout_id": len(rows),
                "group_id": record.whole("group_idx"),
                "reward": record.number("total_reward"),
                "n_tokens": _turn(record).whole("ac_len"),
                "sampler_version": None if version is None else str(version),
            }
        )
    return rows


def eval_rows(step: int, path: Path, checkpoint: str, scratch: Scratch) -> tuple[Rows | None, str]:
    """Return the outcomes of an evaluation, or None and why it cannot be imported.

    A summary names its item only where the environment logs an `example_id`.
    """
    rows = scratch.rows("evals")
    samples: dict[str, int] = {}
    for record in _summaries(step, path):
        turn = _turn(record)
        item = turn.part("logs").text_or_none("example_id") if turn.values.get("logs") else None
        if not item:
            return None, "no item is named (`example_id`), so that nothing could be paired"
        score = record.number("total_reward")
        metrics = turn.part("metrics") if turn.values.get("metrics") else None
        if metrics is not None and metrics.values.get("correct") is not None:
            score = metrics.number("correct")
        if not 0.0 <= score <= 1.0:
            return None, f"a score is {score:g}, and an evaluation has scores from 0 to 1"
        sample = samples.get(item, 0)
        samples[item] = sample + 1
        rows.append(_outcome(checkpoint, item, sample, score, turn))
    return (rows, "") if rows else (None, "it holds no episode")


def _outcome(checkpoint: str, item: str, sample: int, score: float, turn: Record) -> dict[str, Any]:
    return {
        "checkpoint": checkpoint,
        "item_id": item,
        "sample": sample,
        "score": score,
        "n_tokens": turn.whole("ac_len"),
    }


def _summaries(step: int, path: Path) -> Iterator[Record]:
    if not path.stat().st_size:
        return
    seen: dict[tuple[int, int], str] = {}
    for record in json_lines(path):
        key = (record.whole("group_idx"), record.whole("traj_idx"))
        if seen.setdefault(key, record.where) != record.where:
            raise AuditError(f"{record.where}: group {key[0]}, trajectory {key[1]} stands twice, first in {seen[key]}")
        if record.whole("schema_version") != 1:
            raise record.fault("schema_version", "1")
        if record.whole("iteration") != step:
            raise record.fault("iteration", f"{step}, as the folder says,")
        yield record


def _turn(record: Record) -> Record:
    turns = list(record.parts("steps"))
    if len(turns) != 1:
        raise AuditError(
            f"{record.where}: an episode of {len(turns)} turns, and the run format has one. Import metrics.jsonl alone "
            "for the figures"
        )
    return turns[0]
