"""Builds imported runs whose evaluated items have prompts, so that questions can be compared."""

from made_run import evals, rollouts, write_outcomes

from analysis.prompt_hash import token_ids_sha256
from audits.store.writer import RunWriter


def prompts(questions, *, split="test", prefix=None, golds=None):
    """Prompt columns of one split: prompt i is `<prefix>-iii`."""
    n, prefix = len(questions), prefix or split
    token_ids = [[number, len(split)] for number in range(n)]
    return {
        "prompt_id": [f"{prefix}-{number:03d}" for number in range(n)],
        "split": [split] * n,
        "prompt_sha256": [token_ids_sha256(row) for row in token_ids],
        "question": list(questions),
        "rendered": list(questions),
        "token_ids": token_ids,
        "gold": list(golds or ["1"] * n),
        "template_sha256": ["0" * 64] * n,
    }


def together(*parts):
    """Several sets of columns as one."""
    return {name: [value for part in parts for value in part[name]] for name in parts[0]}


def answers(n, **extra):
    """Final evaluation of n test items, all right, item i asking prompt `test-iii`."""
    extra = {"prompt_id": [f"test-{number:03d}" for number in range(n)], "gold": "1"} | extra
    return evals([1.0] * n, **extra)


def write_asked(path, columns, *, n=None, arms=("baseline", "treatment"), sampled=None, outcomes=None):
    """Write a run that evaluates the test prompts, and whose rollouts name the prompts `sampled`.

    Args:
        path: run directory to make.
        columns: of the table of prompts; None writes none.
        n: evaluated items, default as many as there are test prompts.
        arms: which there are.
        sampled: prompt ids of the first step's rollouts of each arm; None logs no rollouts.
        outcomes: evaluation columns by arm; default `answers(n)` for each.
    """
    n = columns["split"].count("test") if n is None else n
    outcomes = outcomes or {arm: [answers(n)] for arm in arms}
    write_outcomes(path, outcomes)
    writer = RunWriter.reopen(path)
    if columns is not None:
        writer.write_prompts(columns)
    for arm in arms if sampled else ():
        step = rollouts(0, [1.0] * len(sampled)) | {"prompt_id": list(sampled)}
        writer.write_step(arm, 0, 0, {"rollouts": step})
    return path
