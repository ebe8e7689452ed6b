"""What a page is made of: text, tables, commands and figures, all decided before anything is drawn.

Every string in here is already safe to show (`reports.display`): no control characters, bounded length.
Escaping for HTML, XML or a shell is the emitter's business.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from audits.engine.check import CheckReport
from audits.engine.decision import DecisionReport

if TYPE_CHECKING:
    from analysis.power_answer import PowerAnswer
    from audits.engine.calibration import Calibration
    from audits.engine.comparison import ArmChanges, Differences
    from audits.engine.cost import Cost
    from audits.engine.critic import CriticReport
    from audits.engine.curve import CheckpointScore
    from audits.engine.deviations import Deviation, SettingDifference
    from audits.engine.disagreements import Disagreements
    from audits.engine.drift import DriftRow
    from audits.engine.mask_curve import MaskCurve
    from audits.engine.training import TrainingStep


@dataclass(frozen=True)
class ReportInputs:
    """The results a report is made from; sections read them, nothing else.

    Attributes:
        run: the run's directory as commands name it.
        title: the plan's title, or the run's name.
        decision: the result of the decision rule, None where it was not applied.
        undecided: why the rule could not be applied; None where it was, or where nothing was evaluated.
        gate: the activation gate's checks, None where the run has none.
        drift: drift rows of all arms, in any order.
        provenance: hashes, versions, command line and times, name to value, in the order to show.
        looks: the recorded looks at the outcomes, oldest first.
        plan_summary: what the plan fixes, name to value; `decoding` names how answers were decoded.
        curve: the points of the validation curve, sorted by arm, seed and step.
        preflights: one check a preflight and each comparison that did not pass; None where none belongs to the run.
        integrity: the integrity audits, None where none was run.
        gate_in_full: the gate's figures in the full run, which gate nothing; None for a pilot or without a gate.
        training: rollout steps of all arms, sorted by arm, seed and step.
        mask_curves: what each kind of rule takes away over thresholds.
        calibration: the first and the last minibatch update of every arm, sorted.
        power: what the rule could show with these items; without studies, its notes say why. None: not asked.
        disagreements: the items by who is right, None where two arms' answers cannot be set side by side.
        cost: time, tokens and budget; None where nobody looked.
        deviations: where run and pilot left the plan or were accepted in spite of it.
        settings: planned settings that ran otherwise, or of which nobody logged what ran.
        critic: how wrong advantages were against fresh rollouts; None where nobody looked.
        redacted: whether questions, answers and completions are left out.
        rounding: what it costs the drift's figures that log-probabilities were logged with few decimals.
    """

    run: str
    title: str
    decision: DecisionReport | None
    gate: CheckReport | None
    drift: "Sequence[DriftRow]"
    provenance: Mapping[str, str]
    looks: Sequence[Mapping[str, Any]]
    plan_summary: Mapping[str, str]
    curve: "Sequence[CheckpointScore]" = ()
    preflights: CheckReport | None = None
    integrity: CheckReport | None = None
    gate_in_full: CheckReport | None = None
    training: "Sequence[TrainingStep]" = ()
    mask_curves: "Sequence[MaskCurve]" = ()
    calibration: "Sequence[Calibration]" = ()
    power: "PowerAnswer | None" = None
    disagreements: "Disagreements | None" = None
    cost: "Cost | None" = None
    deviations: "Sequence[Deviation]" = ()
    settings: "Sequence[SettingDifference]" = ()
    critic: "CriticReport | None" = None
    redacted: bool = False
    undecided: str | None = None
    rounding: Sequence[str] = ()


@dataclass(frozen=True)
class ComparisonInputs:
    """What a page that compares two runs is made from.

    Attributes:
        first: the results of run A.
        second: the results of run B.
        plan_sha256: of the plans sealed in A and B, None where a run has none.
        planned: settings that the plans have otherwise.
        executed: settings that were executed otherwise.
        items: what became of the items of each arm that both runs evaluated.
    """

    first: ReportInputs
    second: ReportInputs
    plan_sha256: tuple[str | None, str | None]
    planned: "Differences"
    executed: "Differences"
    items: "tuple[ArmChanges, ...]"

    @property
    def named(self) -> tuple[tuple[str, ReportInputs], ...]:
        """The two runs with the letters they have on the page."""
        return (("A", self.first), ("B", self.second))


@dataclass(frozen=True)
class Fact:
    """A name and what stands beside it."""

    name: str
    value: str


@dataclass(frozen=True)
class Column:
    """A table's column; numeric ones are set right in tabular figures, a status (sign, space, word) has its colour."""

    name: str
    numeric: bool = False
    status: bool = False


@dataclass(frozen=True)
class Table:
    """A table whose first column names the row. `folded` tables start closed on screen and are open in print."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    folded: bool = False


@dataclass(frozen=True)
class Command:
    """A command line that gives numbers of the page again; it may have several lines."""

    id: str
    gives: str
    text: str


@dataclass(frozen=True)
class ForestRow:
    """One interval of a forest chart, in the chart's unit."""

    label: str
    state: str
    estimate: float
    lower: float
    upper: float
    registered: bool


@dataclass(frozen=True)
class Forest:
    """Intervals one beneath the other, with the lines they are read against."""

    unit: str
    rows: tuple[ForestRow, ...]
    margin: float
    floor: float
    band: float | None


@dataclass(frozen=True)
class Point:
    """One value of one series at one step. `series` has the colour, `variant` the dash, `detail` parts lines."""

    series: str
    variant: str
    detail: str
    step: int
    value: float


@dataclass(frozen=True)
class Lines:
    """Values over steps, with horizontal limits."""

    y_title: str
    points: tuple[Point, ...]
    limits: tuple[float, ...] = ()
    series_title: str = "arm"
    variant_title: str = "update"


@dataclass(frozen=True)
class CurvePoint:
    """One value of one series at one place. `counted` stands beside it: what the value is over, or made of."""

    series: str
    variant: str
    at: float
    value: float
    counted: int


@dataclass(frozen=True)
class Curve:
    """Values over a quantity that is no step.

    Attributes:
        x_title: the quantity and its unit.
        y_title: the value and its unit.
        counted_title: what `counted` of the points counts.
        points: in the order in which each line goes through them.
        marks: vertical lines, for example a registered threshold.
        levels: horizontal lines.
        span: ends of the horizontal axis, None for those of the points.
        diagonal: draw the line on which both quantities agree; the vertical axis then has the same ends.
        log_x: the quantity is above 0 and drawn by its logarithm.
        root_y: the value is 0 or more and drawn by its square root, so that small ones are seen beside large ones.
    """

    x_title: str
    y_title: str
    counted_title: str
    points: tuple[CurvePoint, ...]
    marks: tuple[float, ...] = ()
    levels: tuple[float, ...] = ()
    span: tuple[float, float] | None = None
    diagonal: bool = False
    log_x: bool = False
    root_y: bool = False
    series_title: str = "arm"
    variant_title: str = "update"


@dataclass(frozen=True)
class Heat:
    """The same points as a map: a row for each series, a cell for each step."""

    value_title: str
    rows: tuple[str, ...]
    points: tuple[Point, ...]


@dataclass(frozen=True)
class StackPart:
    """One part of one bar."""

    row: str
    part: str
    value: float


@dataclass(frozen=True)
class Stack:
    """A bar for each row, made of parts one after the other; parts below 0 stand on the other side of 0."""

    x_title: str
    part_title: str
    points: tuple[StackPart, ...]


@dataclass(frozen=True)
class SpreadPoint:
    """A point with an interval of its value; `label` stands beside it."""

    series: str
    label: str
    at: float
    value: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Spread:
    """Points over a quantity, each with the interval of its value."""

    x_title: str
    y_title: str
    points: tuple[SpreadPoint, ...]
    series_title: str = "arm"


@dataclass(frozen=True)
class Figure:
    """A chart with the words it needs.

    Attributes:
        id: unique on the page, made of the section's id and a number, never of data.
        label: what a reader who does not see the chart is told.
        takeaway: the sentence above the chart.
        caption: how to read the chart.
        chart: what is drawn.
        small: drawn at one narrow size only, several beside each other.
    """

    id: str
    label: str
    takeaway: str
    caption: str
    chart: Forest | Lines | Curve | Heat | Stack | Spread
    small: bool = False


@dataclass(frozen=True)
class Section:
    """One section of the page; `id` is the name of its file and of its template.

    A section with more to show derives from this class, and its template reads the added fields.
    """

    id: str
    title: str
    takeaway: str
    figures: Sequence[Figure] = field(default=())
    tables: Sequence[Table] = field(default=())
    commands: Sequence[Command] = field(default=())
    notes: Sequence[str] = field(default=())
