"""Writes an evaluation with the savers of verifiers 0.1.14 itself: `python write.py FOLDER`."""

import sys
from pathlib import Path

SAMPLES = 2


def write(folder: Path) -> None:
    """Write `results.jsonl` and `metadata.json`: 4 examples, 2 rollouts each, one of which failed."""
    import verifiers as vf
    from verifiers.utils import save_utils

    outputs = [save_utils.state_to_output(_state(vf, *divmod(number, SAMPLES))) for number in range(4 * SAMPLES)]
    builder = save_utils.GenerateOutputsBuilder(
        env_id="made-env", env_args={}, model="made-model", client=None, num_examples=4, rollouts_per_example=SAMPLES,
        state_columns=None, sampling_args={"temperature": 0.7, "max_tokens": 64}, results_path=folder,
    )  # fmt: skip
    builder.start_time, builder.version_info = 0.0, None
    builder.add_outputs(outputs)
    save_utils.save_outputs(outputs, folder)
    save_utils.save_metadata(builder.build_metadata() | {"time": 1.0}, folder)


def _state(vf, example, sample):
    from verifiers.types import RolloutTiming

    right = example % 2 == 0
    timing = RolloutTiming(start_time=0.0)
    state = vf.State(
        example_id=example, prompt=[{"role": "user", "content": f"What is {example} plus 1?"}],
        completion=[{"role": "assistant", "content": f"Sample {sample} says {example + 1 if right else 0}"}],
        answer=str(example + 1), reward=float(right), metrics={"correct_answer": float(right), "length": 4.0},
        timing=timing, is_completed=True, is_truncated=example == 3, stop_condition="max_turns_reached",
        token_usage={"input_tokens": 9.0, "output_tokens": 5.0}, trajectory=[], tool_defs=[],
    )  # fmt: skip
    if (example, sample) == (1, 1):
        state["error"], state["reward"], state["completion"] = vf.Error("the provider answered 503"), 0.0, None
    return state


if __name__ == "__main__":
    write(Path(sys.argv[1]))
