"""Writes the samples: sums that a made-up model answers, evaluated and logged by lm-evaluation-harness.

    python tests/data/lm_eval/write.py tests/data/lm_eval

Needs `lm-eval` (0.4.13). `baseline` and `treatment` are two models on 24 sums with two filters, `other` holds a task of
ranked choices and one with a vote over three responses. What the harness notes of the machine is left out.
"""

import contextlib
import json
import os
import sys
import tempfile
from pathlib import Path

WRONG = {"baseline": {1, 4, 5, 9, 12, 13, 17, 20, 22}, "treatment": {4, 9, 11, 20}}
UNMARKED = {2, 9, 15}
"""Answers without the mark: they are right by one filter and wrong by the other."""

_REGEX = {"function": "regex", "regex_pattern": "#### (\\-?[0-9\\.\\,]+)"}
_FLEXIBLE = {"function": "regex", "group_select": -1, "regex_pattern": "(-?[$0-9.,]{2,})|(-?[0-9]+)"}
_FIRST, _VOTE = {"function": "take_first"}, {"function": "majority_vote"}
_MATCH = {
    "metric": "exact_match", "aggregation": "mean", "higher_is_better": True,
    "regexes_to_ignore": [",", "\\$", "(?s).*#### ", "\\.$"],
}  # fmt: skip
_DATA = {"dataset_path": "json", "dataset_kwargs": {"data_files": {"test": "sums.jsonl"}}, "test_split": "test"}
_GENERATED = {
    **_DATA, "output_type": "generate_until", "doc_to_text": "Question: {{question}}\nAnswer:",
    "doc_to_target": "{{answer}}", "metric_list": [_MATCH],
}  # fmt: skip
_GREEDY = {"until": ["Question:"], "do_sample": False, "temperature": 0.0, "max_gen_toks": 64}
TASKS = {
    "sums": {
        **_GENERATED, "generation_kwargs": _GREEDY,
        "filter_list": [
            {"name": "strict-match", "filter": [_REGEX, _FIRST]},
            {"name": "flexible-extract", "filter": [_FLEXIBLE, _FIRST]},
        ],
    },
    "voted_sums": {
        **_GENERATED, "repeats": 3, "generation_kwargs": {**_GREEDY, "do_sample": True, "temperature": 0.7},
        "filter_list": [{"name": "maj@3", "filter": [_REGEX, _VOTE, _FIRST]}],
    },
    "parity": {
        **_DATA, "output_type": "multiple_choice", "doc_to_text": "{{question}} Is it odd?",
        "doc_to_choice": ["no", "yes"], "doc_to_target": "odd",
        "metric_list": [{"metric": "acc"}, {"metric": "acc_norm"}],
    },
}  # fmt: skip


def write(folder):
    """Write the logs of three evaluations into a folder."""
    for name, wrong in WRONG.items():
        _evaluate(folder / name, ["sums"], wrong, 24)
    _evaluate(folder / "other", ["parity", "voted_sums"], {1}, 4)


def _evaluate(folder, tasks, wrong, size):
    import datasets
    from lm_eval import simple_evaluate
    from lm_eval.api.model import LM
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    def number(request):
        return int(request.args[0].split("What is ")[1].split()[0])

    class Sums(LM):
        def generate_until(self, requests, **_):
            return [self._answer(number(request)) for request in requests]

        def _answer(self, n):
            answer = 3 * n + (n in wrong)
            return f"I would say {answer}." if n in UNMARKED else f"{n} and {2 * n} make\n#### {answer}"

        def loglikelihood(self, requests, **_):
            return [(-1.0 if request.args[1].strip() == self._parity(number(request)) else -2.5, False)
                    for request in requests]  # fmt: skip

        def _parity(self, n):
            return "yes" if n % 2 and n not in wrong else "no"

        def loglikelihood_rolling(self, requests, **_):
            raise NotImplementedError

    folder = folder.absolute()
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as work, contextlib.chdir(work):
        datasets.config.HF_DATASETS_CACHE = Path(work) / "cache"
        Path("sums.jsonl").write_text("".join(json.dumps(_sum(n)) + "\n" for n in range(size)))
        for task in tasks:
            Path(f"{task}.yaml").write_text(json.dumps({"task": task, **TASKS[task], "metadata": {"version": 1.0}}))
        results = simple_evaluate(
            model=Sums(), tasks=tasks, task_manager=TaskManager(include_path=".", include_defaults=False),
            log_samples=True, bootstrap_iters=0,
        )  # fmt: skip
        samples = results.pop("samples")
        results["pretty_env_info"] = ""
        tracker = EvaluationTracker(output_path=str(folder / "results.json"))
        tracker.save_results_aggregated(results=results, samples=samples)
        for task in tasks:
            tracker.save_results_samples(task_name=task, samples=samples[task])


def _sum(n):
    return {"question": f"What is {n} + {2 * n}?", "answer": f"{n} and {2 * n} make\n#### {3 * n}", "odd": 3 * n % 2}


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    write(Path(sys.argv[1]))
