"""What a person sees while it runs."""

import io
import threading
from dataclasses import replace

from runner.loop.progress import LineProgress, StepReport, TableProgress, progress_for

REPORT = StepReport(
    arm="dppo_seed0", step=4, steps=20, reward=0.5125, masked_share=0.0123, surprisal=0.456, mean_tokens=3.5,
    truncated_share=0.25, seconds=1.5, tokens_per_second=812.0, seconds_left=3725.0, budget_used=0.314,
)  # fmt: skip


def test_without_a_terminal_each_step_is_one_line():
    stream = io.StringIO()
    progress = progress_for(stream)
    assert isinstance(progress, LineProgress)
    progress.step(REPORT)
    progress.step(replace(REPORT, seconds_left=65.4, budget_used=None))
    progress.close()
    first, second = stream.getvalue().splitlines()
    assert first == (
        "audit: dppo_seed0 step 5/20  reward 0.512  masked or clipped 0.0123  surprisal 0.46  812 tokens/s  "
        "1:02:05 left  budget 31%"
    )
    assert second.endswith("  1:05 left")


def test_on_a_terminal_each_arm_has_a_row_with_the_same_figures():
    stream = io.StringIO()
    stream.isatty = lambda: True
    progress = progress_for(stream)
    assert isinstance(progress, TableProgress)
    progress.note("base model: [not markup]")
    arms = [f"arm{number}" for number in range(4)]
    threads = [threading.Thread(target=progress.step, args=(replace(REPORT, arm=arm),)) for arm in arms]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    progress.close()
    assert "0.0123" in stream.getvalue()
    assert "[not markup]" in stream.getvalue()
    assert all(arm in stream.getvalue() for arm in arms)
