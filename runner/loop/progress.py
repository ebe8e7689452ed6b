"""What a person sees while an experiment runs, on stderr: a bar on a terminal, else one line a step."""

import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID


@dataclass(frozen=True)
class StepReport:
    """One finished step of one arm.

    Attributes:
        arm: the arm's name.
        step: 0-based.
        steps: of this arm in all.
        reward: mean reward of the batch.
        hidden_share: share of the last update's loss tokens that the clip or the mask hid.
        tokens_per_second: sampled tokens over the step's wall time.
        elapsed: seconds since the run began.
    """

    arm: str
    step: int
    steps: int
    reward: float
    hidden_share: float
    tokens_per_second: float
    elapsed: float

    def __str__(self) -> str:
        return (
            f"{self.arm} step {self.step + 1}/{self.steps}  reward {self.reward:.3f}  "
            f"masked or clipped {self.hidden_share:.4f}  {self.tokens_per_second:.0f} tokens/s  {self.elapsed:.0f} s"
        )


class Progress(Protocol):
    """Shows how far an experiment is."""

    def note(self, text: str) -> None:
        """Show a remark."""

    def step(self, report: StepReport) -> None:
        """Show a finished step."""

    def close(self) -> None:
        """Leave the terminal as it was."""


class LineProgress:
    """One line a step: for logs, pipes and CI."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def note(self, text: str) -> None:
        """Write a remark as a line."""
        self._stream.write(f"audit: {text}\n")
        self._stream.flush()

    def step(self, report: StepReport) -> None:
        """Write a finished step as a line."""
        self.note(str(report))

    def close(self) -> None:
        """Do nothing: nothing was drawn."""


class BarProgress:
    """A bar an arm, with the last step's figures beside it; the bars appear with the first step."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console

        self._console = Console(file=stream)
        self._bars: RichProgress | None = None
        self._tasks: dict[str, TaskID] = {}

    def note(self, text: str) -> None:
        """Write a remark above the bars."""
        self._console.print(text, markup=False, highlight=False)

    def step(self, report: StepReport) -> None:
        """Move the arm's bar."""
        bars = self._bars = self._bars or self._start()
        if report.arm not in self._tasks:
            self._tasks[report.arm] = bars.add_task(report.arm, total=report.steps, figures="")
        figures = f"reward {report.reward:.3f}  masked or clipped {report.hidden_share:.4f}"
        bars.update(self._tasks[report.arm], completed=report.step + 1, figures=figures)

    def close(self) -> None:
        """Stop drawing; a later step draws new bars."""
        if self._bars is not None:
            self._bars.stop()
        self._bars, self._tasks = None, {}

    def _start(self) -> "RichProgress":
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as RichProgress

        bars = RichProgress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[figures]}", markup=False),
            TimeElapsedColumn(),
            console=self._console,
            # Results go to stdout and must stay there, bars or not.
            redirect_stdout=False,
            redirect_stderr=False,
        )
        bars.start()
        return bars


def progress_for(stream: TextIO | None = None) -> Progress:
    """Return the progress that fits the stream (stderr by default)."""
    chosen = stream or sys.stderr
    return BarProgress(chosen) if chosen.isatty() else LineProgress(chosen)


class Elapsed:
    """Seconds since it was made."""

    def __init__(self) -> None:
        self._begun = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since then."""
        return time.monotonic() - self._begun
