"""Token exports with the keys that prime-rl 559b447 documents, made here: its own writer was not run."""

import json
from pathlib import Path
from typing import Any

import numpy as np

PROMPT = 3


def sequence(
    number: int, *, step: int = 0, rank: int = 0, n_tokens: int = 6, advantage: float = 0.5, **changes: Any
) -> dict[str, Any]:
    """Return one record: a prompt of 3 tokens and `n_tokens` sampled ones, the third of which moved far up."""
    random = np.random.default_rng([number, step, rank])
    length = PROMPT + n_tokens
    inference = -random.exponential(0.8, length).astype(np.float32)
    trainer = (inference - random.exponential(0.01, length)).astype(np.float32)
    inference[PROMPT + 2], trainer[PROMPT + 2] = np.log(np.float32(0.3)), np.log(np.float32(0.6))
    inference[:PROMPT] = 0.0
    mask = np.arange(length) >= PROMPT
    log_ratio = trainer - inference
    delta = np.exp(trainer) - np.exp(inference)
    beyond = delta > 0.2 if advantage > 0 else delta < -0.2
    lists = {
        "token_ids": random.integers(0, 50_000, length), "position_ids": np.arange(length), "loss_mask": mask,
        "advantages": np.where(mask, np.float32(advantage), np.float32(0)), "inference_logprobs": inference,
        "trainer_logprobs": trainer, "entropy": random.exponential(1.0, length).astype(np.float32),
        "mismatch_kl": np.exp(log_ratio) - log_ratio - 1, "log_importance_ratio": log_ratio,
        "importance_ratio": np.exp(log_ratio), "prob_delta": delta, "is_masked": beyond & mask,
        "is_masked_high": beyond & mask & (advantage > 0), "is_masked_low": beyond & mask & (advantage < 0),
        "rl_weights": mask.astype(np.float32),
    }  # fmt: skip
    return {
        "schema_version": 1, "step": step, "rank": rank, "micro_step": number // 2, "micro_sequence_idx": number % 2,
        "export_sequence_idx": number, "env_name": "reverse-text",
        **{key: value.tolist() for key, value in lists.items()}, "ce_weights": None, "ref_kl_weights": None, **changes,
    }  # fmt: skip


def write_rank(folder: Path, records: list[dict[str, Any]], *, rank: int = 0, stable: bool = True) -> Path:
    """Write one rank's file of a step, and the marker beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"rank_{rank}.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    if stable:
        (folder / "STABLE").touch()
    return path


def write_exports(out: Path, *, steps: int = 2, ranks: int = 2, sequences: int = 3) -> Path:
    """Write the exports of a small run below its output directory."""
    for step in range(steps):
        for rank in range(ranks):
            records = [
                sequence(number, step=step, rank=rank, advantage=0.5 if number % 2 else -0.5)
                for number in range(sequences)
            ]
            write_rank(out / "token_exports" / f"step_{step}", records, rank=rank)
    return out
