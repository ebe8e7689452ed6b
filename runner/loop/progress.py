"""What a person sees while an experiment runs, on stderr: a table on a terminal, else one line a step."""

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table as RichTable

_WIDE = 100
_BAR_WIDTH = 16


@dataclass(frozen=True)
class StepReport:
    """One finished step of one arm.

    Attributes:
        arm: the arm's name.
        step: 0-based.
        steps: of this arm in all.
        reward: mean reward of the batch.
        masked_share: share of the last update's loss tokens whose gradient the mask or the clip took away.
        surprisal: mean of -log mu over the sampled tokens, nats; the service tells no full-vocabulary entropy.
        mean_tokens: sampled tokens a completion.
        truncated_share: share of completions that did not end by themselves.
        seconds: wall time of the step.
        tokens_per_second: sampled tokens over it.
        seconds_left: until this arm's last step, at its mean pace since this process took it up.
        budget_used: share of the plan's budget, None where it has none.
    """

    arm: str
    step: int
    steps: int
    reward: float
    masked_share: float
    surprisal: float
    mean_tokens: float
    truncated_share: float
    seconds: float
    tokens_per_second: float
    seconds_left: float
    budget_used: float | None

    @property
    def cells(self) -> tuple[str, ...]:
        """Step, reward, masked or clipped share, surprisal, tokens a second, time left and budget used, as text."""
        return (
            f"{self.step + 1}/{self.steps}",
            f"{self.reward:.3f}",
            f"{self.masked_share:.4f}",
            f"{self.surprisal:.2f}",
            f"{self.tokens_per_second:.0f}",
            _minutes(self.seconds_left),
            "-" if self.budget_used is None else f"{self.budget_used:.0%}",
        )

    def __str__(self) -> str:
        step, reward, masked, surprisal, speed, left, budget = self.cells
        return (
            f"{self.arm} step {step}  reward {reward}  masked or clipped {masked}  surprisal {surprisal}  "
            f"{speed} tokens/s  {left} left" + ("" if self.budget_used is None else f"  budget {budget}")
        )


def _minutes(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"


class Progress(Protocol):
    """Shows how far an experiment is."""

    def note(self, text: str) -> None:
        """Show a remark."""

    def step(self, report: StepReport) -> None:
        """Show a finished step."""

    def close(self) -> None:
        """Leave the terminal as it was."""


class LineProgress:
    """One line a step: for logs, pipes and CI; safe from several threads."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def note(self, text: str) -> None:
        """Write a remark as a line."""
        with self._lock:
            self._stream.write(f"audit: {text}\n")
            self._stream.flush()

    def step(self, report: StepReport) -> None:
        """Write a finished step as a line."""
        self.note(str(report))

    def close(self) -> None:
        """Do nothing: nothing was drawn."""


class TableProgress:
    """A row an arm, with a bar where there is room, on a terminal; the table appears with the first step.

    Safe from several threads: arms that run at the same time each have their own row.
    """

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console

        self._console = Console(file=stream)
        self._lock = threading.Lock()
        self._live: Live | None = None
        self._rows: dict[str, StepReport] = {}

    def note(self, text: str) -> None:
        """Write a remark above the table."""
        self._console.print(text, markup=False, highlight=False)

    def step(self, report: StepReport) -> None:
        """Renew the arm's row."""
        from rich.live import Live

        with self._lock:
            self._rows[report.arm] = report
            table = self._table()
            if self._live is None:
                # Results go to stdout and must stay there, table or not.
                self._live = Live(table, console=self._console, redirect_stdout=False, redirect_stderr=False)
                self._live.start()
            self._live.update(table)

    def close(self) -> None:
        """Stop drawing and leave the last figures; a later step begins a new table."""
        with self._lock:
            if self._live is not None:
                self._live.stop()
            self._live, self._rows = None, {}

    def _table(self) -> "RichTable":
        from rich.progress_bar import ProgressBar
        from rich.table import Table as RichTable
        from rich.text import Text

        wide = self._console.width >= _WIDE
        table = RichTable(box=None, pad_edge=False, header_style="dim")
        table.add_column("arm", no_wrap=True, overflow="ellipsis")
        if wide:
            table.add_column("", width=_BAR_WIDTH)
        for name in ("step", "reward", "masked", "surprisal", "tokens/s", "left", "budget"):
            table.add_column(name, justify="right", no_wrap=True)
        for report in self._rows.values():
            bar = [ProgressBar(report.steps, report.step + 1, width=_BAR_WIDTH)] if wide else []
            table.add_row(Text(report.arm), *bar, *report.cells)
        return table


def progress_for(stream: TextIO | None = None) -> Progress:
    """Return the progress that fits the stream (stderr by default)."""
    chosen = stream or sys.stderr
    return TableProgress(chosen) if chosen.isatty() else LineProgress(chosen)


class Elapsed:
    """Seconds at work: since it was made, and before.

    Args:
        before: seconds of earlier attempts.
        clock: seconds, never backwards.
    """

    def __init__(self, before: float = 0.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun = clock() - before

    @property
    def seconds(self) -> float:
        """Seconds so far."""
        return self._clock() - self._begun
