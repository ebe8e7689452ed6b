"""Writes a benchmark's trajectories and result with tinker-cookbook's own functions: five sums, one of them failed.

`python tests/data/tinker_cookbook_eval/write.py`, where tinker-cookbook is installed.
"""

import asyncio
import sys
from pathlib import Path

LIMIT = 4
SUMS = {
    "What is 1+1?": ("2", "2"),
    "What is 2+3?": ("5", "6"),
    "What is 4+4?": ("8", "8"),
    "What is 9-3?": ("6", "9, 8"),
}


def write_eval(folder):
    """Write `<folder>/sums/trajectories.jsonl` and `result.json`, and the run's `metadata.json` beside."""
    from tinker_cookbook.eval.benchmarks import _runner
    from tinker_cookbook.eval.benchmarks._common import make_example_id
    from tinker_cookbook.eval.benchmarks._types import BenchmarkResult, StoredTrajectory
    from tinker_cookbook.stores.eval_store import EvalStore, RunMetadata
    from tinker_cookbook.stores.storage import LocalStorage

    from runner.service.models.build_tiny_addition import build_tokenizer

    tokenizer, storage = build_tokenizer(), LocalStorage(folder)
    for number, (question, (gold, answer)) in enumerate(SUMS.items()):
        made = _trajectory(tokenizer, question, gold, answer)
        example = make_example_id("sums", question)
        stored = _runner._trajectory_to_stored(number, made, "sums", tokenizer, 0.5, example)
        asyncio.run(_runner._save_trajectory(storage, "sums", stored))
    failed = StoredTrajectory(
        idx=4, benchmark="sums", turns=[], reward=0.0, error="timeout (10s)", example_id="sums_last"
    )
    asyncio.run(_runner._save_trajectory(storage, "sums", failed))
    result = BenchmarkResult(name="sums", score=0.4, num_examples=5, num_correct=2, num_errors=1, num_truncated=1)
    _runner._save_result(storage, result)
    config = {"temperature": 0.6, "max_tokens": LIMIT}
    metadata = RunMetadata("r", "base", "tinker://x/1", "000001", ["sums"], "2026-01-01T00:00:00", config)
    EvalStore(storage)._write_json(metadata.to_dict(), "metadata.json")


def _trajectory(tokenizer, question, gold, answer):
    from tinker import ModelInput
    from tinker_cookbook.completers import TokensWithLogprobs
    from tinker_cookbook.rl.types import Trajectory, Transition

    tokens = tokenizer.encode(answer, add_special_tokens=False)
    correct, is_cut = float(answer == gold), len(tokens) == LIMIT
    turn = Transition(
        ob=ModelInput.from_ints(tokenizer.encode(question, add_special_tokens=False)),
        ac=TokensWithLogprobs(tokens=tokens, maybe_logprobs=[-0.5] * len(tokens)),
        reward=correct,
        episode_done=True,
        metrics={"correct": correct} | ({"max_tokens_reached": 1.0} if is_cut else {}),
        logs={
            "example_id": "",
            "input": question,
            "expected": gold,
            "extracted": None if is_cut else answer,
            "output": answer,
        },
    )
    return Trajectory(transitions=[turn], final_ob=ModelInput.from_ints([]))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[3]))
    write_eval(Path(__file__).parent)
