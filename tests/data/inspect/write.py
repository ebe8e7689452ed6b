"""Writes the samples: sums that a made-up model answers, evaluated and logged by Inspect.

    python tests/data/inspect/write.py tests/data/inspect

Needs `inspect_ai` (0.3.285). `baseline.eval` and `treatment.eval` are two models on 24 sums, `sums.json` four of them
in the JSON format, `several.eval` four sums in two epochs with two scorers, an error, and a sample without a score.
Inspect notes the commit of the working directory, and paths in a traceback.
"""

import sys
import tempfile
from pathlib import Path

WRONG = {"baseline": {1, 4, 5, 9, 12, 13, 17, 20, 22}, "treatment": {4, 9, 11, 20}}


def write(folder):
    """Write all logs into a folder."""
    from inspect_ai.dataset import Sample

    sums = [Sample(id=f"sum-{n:02d}", input=f"What is {n} + {2 * n}?", target=str(3 * n)) for n in range(24)]
    for name, wrong in WRONG.items():
        _evaluate(folder / f"{name}.eval", sums, wrong)
    _evaluate(folder / "sums.json", sums[:4], WRONG["baseline"])
    several = [sample.model_copy(update={"target": [sample.target, "a sum"]}) for sample in sums[:4]]
    _evaluate(folder / "several.eval", several, {1}, fails={2}, unscored={3}, epochs=2)


def _evaluate(path, samples, wrong, *, fails=(), unscored=(), epochs=1):
    from inspect_ai import Task, eval
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import Score, accuracy, match, mean, scorer
    from inspect_ai.solver import solver

    def answer(messages, *_):
        number = int(messages[-1].text.split()[2])
        said = ModelOutput.from_content("sums", f"The answer is {3 * number + (number in wrong)}")
        said.usage = ModelUsage(input_tokens=9, output_tokens=4 + number, total_tokens=13 + number)
        return said

    @solver
    def answers():
        async def solve(state, generate):
            if int(state.input_text.split()[2]) in fails:
                raise RuntimeError("the model did not answer")
            return await generate(state)

        return solve

    @scorer(metrics={"brief": [mean()], "polite": [mean()]})
    def form():
        async def score(state, _):
            number = int(state.input_text.split()[2])
            return Score(value=float("nan") if number in unscored else {"brief": 0.75, "polite": number % 2})

        return score

    with tempfile.TemporaryDirectory() as logs:
        (log,) = eval(
            Task(
                name="sums",
                dataset=samples,
                solver=answers(),
                scorer=[match(numeric=True), *([form()] if epochs > 1 else [])],
                metrics=None if epochs > 1 else [accuracy()],
            ),
            model=get_model("mockllm/model", custom_outputs=answer, memoize=False),
            temperature=0.0,
            max_tokens=64,
            seed=7,
            epochs=epochs,
            fail_on_error=False,
            log_dir=logs,
            log_format=path.suffix[1:],
            display="none",
            max_samples=1,
        )
        assert log.status == "success", log.error
        path.write_bytes(Path(log.location).read_bytes())


if __name__ == "__main__":
    write(Path(sys.argv[1]))
