"""The result of one check, and how statuses add up."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from audits.store.status import Status


@dataclass(frozen=True)
class Limit:
    """What the policy compares a measured value with; both ends are inclusive."""

    min: float | None = None
    max: float | None = None
    one_of: tuple[str, ...] | None = None

    def admits(self, value: float | str) -> bool:
        """Return whether the value is inside the limit. NaN is outside every limit."""
        if self.one_of is not None:
            return (value if isinstance(value, str) else f"{value:g}") in self.one_of
        number = float(value)
        return (
            (self.min is None or number >= self.min) and (self.max is None or number <= self.max) and number == number
        )

    def distance(self, value: float) -> float:
        """Return how far a number lies outside; 0 inside, and for `one_of`, which knows no distance."""
        below = self.min - value if self.min is not None else 0.0
        above = value - self.max if self.max is not None else 0.0
        return max(below, above, 0.0)

    def __str__(self) -> str:
        if self.one_of is not None:
            return "one of " + ", ".join(self.one_of)
        low = "" if self.min is None else f"{self.min:g}"
        high = "" if self.max is None else f"{self.max:g}"
        return f"[{low}, {high}]" if low and high else f">= {low}" if low else f"<= {high}"


@dataclass(frozen=True)
class StepValue:
    """A metric's value in one step: what the mean over steps rests on."""

    arm: str
    seed: int
    step: int
    value: float | str
    numerator: float | None
    denominator: int
    update: int | None = None


@dataclass(frozen=True)
class SeedValue:
    """A metric's value over the steps of one training seed."""

    seed: int
    value: float | str


@dataclass(frozen=True)
class Check:
    """One measured figure beside its limit. Measurement is apart from verdict: `value` stands whatever `status` says.

    Attributes:
        id: the metric's or audit's id, which is its file's name.
        status: see DESIGN words; `inconclusive` means that evidence is missing and is never a pass.
        value: the measured figure, or None with a `reason`.
        numerator: the counted rows, where the figure is a share.
        denominator: the rows (or groups) the figure is a share or quantile of.
        over: how steps are aggregated: `mean_of_steps` (the counts beside the value are of all steps together),
            `pooled` or `every_step`; None where the figure has no steps.
        rows_examined: rows read to get the figure; 0 is never a pass.
        definition: definition id with anchor and denominator, `dppo_binary_tv@sampler/loss_tokens`.
        notes: facts that stand beside the figure (for example the same quantile at the first update).
        steps: the profile over steps, empty where the figure has none.
        evidence: path of the rows behind a failure, relative to the run, or None.
        sql: a query for `audit sql RUN` that gives the value again.
        rows_command: words of a command that prints the offending rows, `("integrity", "--rows", id)`: shorter than
            its query; None where the query is what a reader types.
        mend: what to do about a status that is not `pass`.
        waiver: who waived it until when and why; None where it is not waived.
        run: the run that it was measured on, where that is another than the report's: the pilot of a full run.
    """

    id: str
    status: Status
    value: float | str | None
    limit: Limit | None
    unit: str
    definition: str
    arm: str | None
    rows_examined: int
    numerator: float | None = None
    denominator: int | None = None
    over: str | None = None
    reason: str | None = None
    notes: tuple[str, ...] = ()
    steps: tuple[StepValue, ...] = ()
    evidence: str | None = None
    sql: str | None = None
    measures: str = ""
    mend: str | None = None
    waiver: str | None = None
    rows_command: tuple[str, ...] | None = None
    run: str | None = None


@dataclass(frozen=True)
class CheckReport:
    """All checks of one command on one run, and the status they add up to."""

    run: str
    status: Status
    checks: tuple[Check, ...]
    reasons: tuple[str, ...] = field(default=())

    @property
    def exit_code(self) -> int:
        """0 passed, 1 a check failed, 4 a check is inconclusive."""
        return {"fail": 1, "inconclusive": 4}.get(self.status, 0)


_ORDER: tuple[Status, ...] = ("fail", "inconclusive", "warn", "waived", "pass", "not_applicable")


def combine(statuses: Iterable[Status]) -> Status:
    """Return the status of several checks together: the worst one; without any check, `inconclusive`."""
    found = set(statuses)
    for status in _ORDER:
        if status in found:
            return status
    return "inconclusive"
