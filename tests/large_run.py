"""A run as large as a published comparison: two arms, many steps of 64 rollouts, answers to every item of a test."""

from pathlib import Path

from made_run import change_json, evals, made_plan, rollouts, tokens, write_experiment

from audits.store.reader import open_run
from audits.store.writer import RunWriter


def write_large_run(folder: Path, items: int = 1319, steps: int = 50) -> Path:
    """Write an experiment with its pilot; each answer has a few hundred characters.

    Args:
        folder: an existing folder.
        items: test items, each answered by both arms.
        steps: logged steps of each arm.
    """

    def step_tokens(arm, seed, step):
        rows = [(update, -0.5, -0.5 - 0.02 * update - 0.001 * (n % 7), 1.0 if n % 2 else -1.0)
                for update in (0, 1) for n in range(512)]  # fmt: skip
        rows += [(1, -0.5, -0.2, 1.0)] * 24
        return tokens(rows, step)

    plan = made_plan(
        task__test_items=items, rollout__rollout_batches=steps, activation_gate__pilot_steps=5,
        title=f"Two arms on {items:,} items",
    )  # fmt: skip
    full = write_experiment(
        folder, plan, scores=None, tokens_of=step_tokens,
        rollouts_of=lambda arm, seed, step: rollouts(step, [float((n + step) % 3 == 0) for n in range(64)]),
        status="running",
    )  # fmt: skip
    run = open_run(full)
    writer = RunWriter.reopen(full)
    for number, record in enumerate(run.manifest.arms):
        scores = [float((item * 7 + number * (item % 5)) % 3 > 0) for item in range(items)]
        texts = [
            f"Item {item}: " + "she has 12 apples and gives 3 away, " * 9 + f"#### {item}" for item in range(items)
        ]
        extra = {"completion": texts, "extracted": [str(item) for item in range(items)],
                 "gold": [str(item) for item in range(items)], "stop_reason": "stop", "n_tokens": 120}  # fmt: skip
        writer.write_evals(record.arm, record.seed, "final", evals(scores, **extra))
    change_json(full / "run.json", status="complete")
    return full
