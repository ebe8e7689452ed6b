"""Writes dumps, figures and a console log with verl's own functions; the package suffices, torch and ray do not run.

`pip install --no-deps verl orjson`, then `python tests/data/verl/write.py`.
"""

import ast
import contextlib
import importlib.util
import json
import numbers
import os
import pprint
import sys
from pathlib import Path

import numpy as np

TRAINER, TRAINER_V1 = "trainer/ppo/ray_trainer.py", "trainer/ppo/v1/trainer_base.py"
QUESTIONS = {"What is 17 + 25?": "42", "What is 9 * 6?": "54", "What is 100 - 1?": "99"}


def write_log(folder):
    """Write two rollout dumps, three validation dumps (the last of verl's newer trainer), figures and a console log."""
    _write_rollouts(folder / "rollout")
    _write_validation(folder / "validation")
    figures = [
        (0, {"val-core/arithmetic/acc/mean@1": np.float64(1 / 3)}),
        (1, {"training/global_step": 1, "actor/pg_clipfrac": np.float64(0.0), "critic/score/mean": 0.5}),
        (2, {"training/global_step": 2, "actor/pg_clipfrac": np.float64(1e-06), "critic/score/mean": -0.25}),
    ]
    os.environ["VERL_FILE_LOGGER_PATH"] = str(folder / "figures.jsonl")
    import orjson

    logger = _taken("utils/tracking.py", "FileLogger", os=os, orjson=orjson)("arithmetic", "grpo")
    for step, data in figures:
        logger.log(data, step)
    logger.finish()
    as_text = _taken("utils/logger/aggregate_logger.py", "concat_dict_to_str", numbers=numbers, pprint=pprint)
    lines = [f"\x1b[36m(TaskRunner pid=7)\x1b[0m {as_text(data, step)}" for step, data in figures]
    (folder / "console.txt").write_text("Training from scratch\n" + "\n".join(lines) + "\n")


def _write_rollouts(folder):
    write = _taken(TRAINER, "_write_generations", os=os, json=json)
    for step, outputs in ((1, ["42", "41", "54", "55"]), (2, ["42", "42", "", "54"])):
        inputs = [question for question in list(QUESTIONS)[:2] for _ in range(2)]
        golds = [QUESTIONS[question] for question in inputs]
        scores = [1.0 if gold == output else -1.0 for gold, output in zip(golds, outputs, strict=True)]
        extra = {"acc": [score > 0 for score in scores], "request_id": [f"r{step}-{n}" for n in range(4)]}
        write(inputs, outputs, golds, scores, extra, folder, step)


def _write_validation(folder):
    inputs, golds = list(QUESTIONS), list(QUESTIONS.values())
    for step, outputs in ((0, ["1", "54", "2"]), (1, ["42", "54", "3"]), (2, ["42", "54", "99"])):
        right = [gold == output for gold, output in zip(golds, outputs, strict=True)]
        scores = [float(value) for value in right]
        extra = {"reward": scores, "acc": right, "pred": outputs}
        if step == 2:
            write = _taken(TRAINER_V1, "_write_generations", os=os, json=json, np=np)
            write(inputs, outputs, golds, scores, extra | {"uid": [f"{n}{n}-ab_0_0" for n in range(3)]}, folder, step)
        else:
            _taken(TRAINER, "_write_generations", os=os, json=json)(inputs, outputs, golds, scores, extra, folder, step)


def _taken(path, name, **needed):
    """Return a function or class of verl by its name, without the imports of its module."""
    source = Path(importlib.util.find_spec("verl").submodule_search_locations[0], path).read_text()
    found = next(node for node in ast.walk(ast.parse(source)) if getattr(node, "name", None) == name)
    found.decorator_list = []
    exec(compile(ast.Module([found], []), path, "exec"), needed)
    return needed[name]


if __name__ == "__main__":
    with contextlib.redirect_stdout(sys.stderr):
        write_log(Path(__file__).parent)
