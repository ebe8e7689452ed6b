"""Tokens as prime-rl's token exports: `<arm>_seed<seed>/token_exports/step_N/rank_0.jsonl`, with the `STABLE` marker.

Every record is one sequence of one update: prompt tokens where the run holds them (loss_mask false), then the loss
tokens. Numbers have all their digits, so that `audit import prime-rl` gives the same tokens bit for bit; a record has
two keys that prime-rl does not write, `update` and `rollout_id`, without which they could not come back. Log-ratio,
ratio, prob_delta and mismatch_kl are computed from the log-probabilities. Not carried: surprisal and value of a token,
and whatever is no token (rewards, texts, optimiser steps, evaluations). `is_masked` belongs to a rule and is not
written. A sequence with a gap in its loss tokens is refused: the format has a list without gaps.
"""

import json
import math
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import IO, Any

from analysis.errors import AuditError
from analysis.printable import printable
from audits.store.durable import whole_file
from audits.store.layout import partition_folder
from audits.store.reader import Run
from runner.exporters.engine.rows import held, rows

TABLE = "tokens"
IS_FOLDER = True

_LOST = ("surprisal", "value")


def write(run: Run, out: Path) -> list[str]:
    """Write the tokens of all arms, seeds and steps.

    Args:
        run: the run.
        out: the directory.

    Raises:
        AuditError: the loss tokens of a sequence have a gap.
    """
    steps = written = 0
    with rows(run, "tokens") as found:
        for (arm, seed, step), of_step in groupby(found, lambda row: (row["arm"], row["seed"], row["step"])):
            folder = out / _name(arm, seed) / "token_exports" / f"step_{step}"
            folder.mkdir(parents=True)
            with whole_file(folder / "rank_0.jsonl") as temporary, temporary.open("w", encoding="utf-8") as stream:
                written += _write_step(stream, of_step)
            (folder / "STABLE").touch()
            steps += 1
    lost = held(run, "held_token_columns", _LOST)
    return [
        f"{out}: {written:,} loss tokens of {steps:,} steps",
        *([f"left out: {', '.join(lost)} of tokens: the format has no list for them"] if lost else []),
        "left out: everything but tokens; `audit export --to csv` writes the outcomes",
    ]


def _name(arm: str, seed: int) -> str:
    escaped = partition_folder(TABLE, arm, seed).parts[1].removeprefix("arm=")
    return f"{escaped}_seed{seed}"


def _write_step(stream: IO[str], found: Iterator[dict[str, Any]]) -> int:
    written = 0
    sequences = groupby(found, lambda row: (row["update"], row["rollout_id"]))
    for number, ((update, rollout), of_sequence) in enumerate(sequences):
        tokens = list(of_sequence)
        _check_no_gap(tokens)
        record = _record(number, update, rollout, tokens)
        stream.write(json.dumps(record) + "\n")
        written += len(tokens)
    return written


def _check_no_gap(tokens: list[dict[str, Any]]) -> None:
    if [row["position"] for row in tokens] != list(range(len(tokens))):
        first = tokens[0]
        raise AuditError(
            f"arm {printable(first['arm'], limit=60)}, seed {first['seed']}, step {first['step']}, rollout "
            f"{first['rollout_id']}, update {first['update']}: its loss tokens are not at 0, 1, 2, …, and the "
            "lists of prime-rl have no gaps"
        )


def _record(number: int, update: int, rollout: int, tokens: list[dict[str, Any]]) -> dict[str, Any]:
    prompt = list(tokens[0]["prompt_ids"] or ())
    sampler, current = ([row[name] for row in tokens] for name in ("sampler_logprob", "current_logprob"))
    figures = [_figures(*pair) for pair in zip(sampler, current, strict=True)]
    lists: dict[str, list[Any]] = {
        "advantages": [row["advantage"] for row in tokens],
        "inference_logprobs": sampler,
        "trainer_logprobs": current,
        **{name: [figure[place] for figure in figures] for place, name in enumerate(_FIGURES)},
    }
    if any(row["entropy"] is not None for row in tokens):
        lists["entropy"] = [row["entropy"] for row in tokens]
    return {
        "schema_version": 1, "step": tokens[0]["step"], "rank": 0, "micro_step": update, "micro_sequence_idx": number,
        "export_sequence_idx": number, "env_name": None, "update": update, "rollout_id": rollout,
        "token_ids": prompt + [row["token_id"] for row in tokens],
        "position_ids": list(range(len(prompt) + len(tokens))),
        "loss_mask": [False] * len(prompt) + [True] * len(tokens),
        **{name: [0.0] * len(prompt) + values for name, values in lists.items()},
    }  # fmt: skip


_FIGURES = ("log_importance_ratio", "importance_ratio", "prob_delta", "mismatch_kl")


def _figures(sampler: float, current: float) -> tuple[float, float, float, float]:
    log_ratio = current - sampler
    try:
        ratio, delta = math.exp(log_ratio), math.exp(current) - math.exp(sampler)
    except OverflowError:
        ratio, delta = math.inf, math.inf
    return log_ratio, ratio, delta, ratio - 1 - log_ratio
