"""Writes the sample: the `Match` evaluation of OpenAI's `evals` on eight sums, with a model that is made up.

    OPENAI_API_KEY=unused python tests/data/openai_evals/write.py tests/data/openai_evals

Needs `evals` (3.0.1.post1). It was installed with `--no-deps` and what its imports ask for: all of its dependencies
are gigabytes.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

# The package makes a client of a service when it is imported, and never uses it here.
os.environ.setdefault("OPENAI_API_KEY", "unused")
os.environ["EVALS_SEQUENTIAL"] = "1"
os.environ["EVALS_SHOW_EVAL_PROGRESS"] = ""


def write(folder, name="sums.jsonl", wrong=(2, 5), failing=(6,)):
    """Write an event log as `oaieval` does, and return its path.

    Args:
        folder: where it is written.
        name: of the file.
        wrong: items that the model answers wrongly.
        failing: items on which it raises; what it raised is recorded.
    """
    import evals.record
    from evals.base import RunSpec
    from evals.elsuite.basic.match import Match

    class Answer:
        def __init__(self, text):
            self.text = text

        def get_completions(self):
            return [self.text]

    def model(prompt, **_):
        first, second = map(int, prompt[-1]["content"].removesuffix(" = ?").split(" + "))
        if first in failing:
            raise TimeoutError("no answer within 60 s")
        answer = Answer(f"{first + second + (first in wrong)}, I think.")
        # What the tool's own completion functions record.
        evals.record.record_sampling(
            prompt=prompt, sampled=answer.text, model="made-up", usage={"completion_tokens": 5}
        )
        return answer

    class Sums(Match):
        def eval_sample(self, sample, *_):
            try:
                return super().eval_sample(sample)
            except TimeoutError as error:
                evals.record.record_error("the model failed", error)
                return None

    spec = RunSpec(
        completion_fns=["made-up"], eval_name="sums.test.v1", base_eval="sums", split="test",
        run_config={"completion_fns": ["made-up"], "eval_spec": {"cls": "evals.elsuite.basic.match:Match"},
                    "seed": 20220722, "max_samples": None, "command": "write.py",
                    "initial_settings": {"visible": False}},
        created_by="",
    )  # fmt: skip
    path = Path(folder) / name
    with tempfile.TemporaryDirectory() as scratch:
        samples = Path(scratch) / "sums.jsonl"
        asked = [
            {"input": [{"role": "user", "content": f"{i} + {i + 1} = ?"}], "ideal": str(2 * i + 1)} for i in range(8)
        ]
        samples.write_text("".join(json.dumps(sample) + "\n" for sample in asked))
        recorder = evals.record.LocalRecorder(str(path), run_spec=spec)
        evaluation = Sums([model], str(samples), name="sums.test.v1", eval_registry_path=Path(scratch))
        result = evaluation.run(recorder)
        recorder.record_final_report(result)
        recorder.flush_events()
    return path


if __name__ == "__main__":
    sys.stdout.write(f"{write(sys.argv[1])}\n")
