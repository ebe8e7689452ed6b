"""What a person sees while it runs."""

import io

from runner.loop.progress import BarProgress, LineProgress, StepReport, progress_for

REPORT = StepReport("dppo_seed0", 4, 20, 0.5125, 0.0123, 812.0, 31.0)


def test_without_a_terminal_each_step_is_one_line():
    stream = io.StringIO()
    progress = progress_for(stream)
    assert isinstance(progress, LineProgress)
    progress.step(REPORT)
    progress.close()
    assert stream.getvalue() == (
        "audit: dppo_seed0 step 5/20  reward 0.512  masked or clipped 0.0123  812 tokens/s  31 s\n"
    )


def test_on_a_terminal_there_is_a_bar_with_the_same_figures():
    stream = io.StringIO()
    stream.isatty = lambda: True
    progress = progress_for(stream)
    assert isinstance(progress, BarProgress)
    progress.note("base model: [not markup]")
    progress.step(REPORT)
    progress.close()
    assert "0.0123" in stream.getvalue()
    assert "[not markup]" in stream.getvalue()
