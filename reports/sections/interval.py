"""The interval: the registered method first, exploratory methods beneath, beside margin, floor and tie band."""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from audits.engine.decision import CriterionResult, DecisionReport
from reports.display import LABEL_LIMIT, NO_NUMBER, VERDICT_SIGNS, Scale, count, number, signed, text
from reports.parts import Column, Command, Figure, Forest, ForestRow, ReportInputs, Section, Table
from reports.verdicts import decide_command, interval_sentence, places_of, position

ORDER = 20
SHOWN_CRITERIA = 12

_COLUMNS = (
    Column("Method"),
    Column("Role"),
    Column("Verdict"),
    Column("Estimate", numeric=True),
    Column("Lower", numeric=True),
    Column("Upper", numeric=True),
    Column("p-value", numeric=True),
    Column("Guarantee"),
)
_COUNT_COLUMNS = (
    Column("Criterion"),
    Column("Both right", numeric=True),
    Column("Only treatment", numeric=True),
    Column("Only baseline", numeric=True),
    Column("Neither", numeric=True),
    Column("Items", numeric=True),
)


@dataclass(frozen=True)
class _Reading:
    """One method's reading of one criterion."""

    method: str
    guarantee: str
    registered: bool
    main: bool
    void: bool
    result: CriterionResult

    @property
    def role(self) -> str:
        if not self.main:
            return "exploratory"
        role = "registered" if self.registered else "not registered"
        return f"{role}, decides nothing" if self.void else role


def build(inputs: ReportInputs) -> Section:
    """Return the interval section."""
    report = inputs.decision
    if report is None or not report.criteria:
        return Section(
            id="interval",
            title="Interval",
            takeaway="There is no interval to show: "
            + ("no decision was made." if report is None else "no criterion."),
        )
    shown = report.criteria[:SHOWN_CRITERIA]
    figures, tables = [], []
    for index, criterion in enumerate(shown):
        readings = list(_readings(report, criterion))
        if any(drawable(item.result) for item in readings):
            figures.append(_figure(f"interval-{index}", report, criterion, readings))
        tables.append(_table(criterion, readings))
    return Section(
        id="interval",
        title="Interval",
        takeaway=_takeaway(report),
        figures=tuple(figures),
        tables=(*tables, *(() if _counted_below(inputs, report) else _counts(report))),
        commands=_commands(report),
        notes=_notes(report),
    )


def _readings(report: DecisionReport, criterion: CriterionResult) -> Iterator[_Reading]:
    yield _Reading(report.method, report.guarantee, report.registered, True, report.verdict == "void", criterion)
    for other in report.exploratory:
        for result in other.criteria:
            if result.id == criterion.id:
                yield _Reading(other.method, other.guarantee, False, False, False, result)


def _takeaway(report: DecisionReport) -> str:
    total = len(report.criteria)
    if total == 1:
        sentence = f"The interval of {text(report.method, LABEL_LIMIT)}: {position(report.criteria[0])}."
    else:
        above = sum(criterion.lower > criterion.margin for criterion in report.criteria)
        sentence = f"{count(above)} of {count(total)} criteria have their whole interval above their margin."
    if not report.exploratory:
        return sentence
    agree = sum(_same(report, other.criteria) for other in report.exploratory)
    return (
        f"{sentence} {count(agree)} of {count(len(report.exploratory))} exploratory methods read every "
        "criterion the same way; none of them decides."
    )


def _same(report: DecisionReport, others: tuple[CriterionResult, ...]) -> bool:
    return {item.id: item.verdict for item in report.criteria} == {item.id: item.verdict for item in others}


def _figure(name: str, report: DecisionReport, criterion: CriterionResult, readings: list[_Reading]) -> Figure:
    scale = Scale.of(criterion.bounds)
    drawn = [item for item in readings if drawable(item.result)]
    rows = tuple(
        ForestRow(
            label=f"{text(item.method, 40)} · {item.role}",
            state=text(item.result.verdict, LABEL_LIMIT),
            estimate=scale.apply(item.result.estimate),
            lower=scale.apply(item.result.lower),
            upper=scale.apply(item.result.upper),
            registered=item.main and item.registered,
        )
        for item in drawn
    )
    missing = len(readings) - len(drawn)
    undrawn = (
        f" {count(missing)} of {count(len(readings))} intervals have no numbers and are not drawn." if missing else ""
    )
    sentence = interval_sentence(report, criterion)
    return Figure(
        id=name,
        label=f"Forest chart of {text(criterion.id, LABEL_LIMIT)}. {sentence}",
        takeaway=f"{text(criterion.id, LABEL_LIMIT)} ({text(criterion.metric, LABEL_LIMIT)})",
        caption=f"{lines_drawn(criterion, scale)} {_marks(drawn)}{undrawn}",
        chart=Forest(
            unit=scale.unit,
            rows=rows,
            margin=scale.apply(criterion.margin),
            floor=scale.apply(criterion.floor),
            band=None if criterion.band is None else scale.apply(criterion.band),
        ),
    )


def drawable(result: CriterionResult) -> bool:
    """Return whether estimate and both limits are numbers."""
    return all(math.isfinite(value) for value in (result.estimate, result.lower, result.upper))


def _marks(drawn: list[_Reading]) -> str:
    filled = [
        f"{'Filled' if item.registered else 'Open'} mark: {text(item.method, LABEL_LIMIT)}, {item.role}."
        for item in drawn
        if item.main
    ]
    others = ["Open mark: exploratory."] if any(not item.main for item in drawn) else []
    return " ".join([*filled, *others])


def lines_drawn(criterion: CriterionResult, scale: Scale) -> str:
    """Return what the lines and the shade mean that an interval is read against."""
    places = places_of(criterion)
    zero_is_margin = criterion.margin == 0 == criterion.floor
    parts = ["Solid line: no difference" + (", which is margin and floor here." if zero_is_margin else ".")]
    if not zero_is_margin:
        margin = signed(scale.apply(criterion.margin), places)
        floor = signed(scale.apply(criterion.floor), places)
        parts.append(f"Dashed: margin {margin} {scale.unit}. Dotted: floor {floor} {scale.unit}.")
    if criterion.band is not None:
        parts.append(f"Shaded: tie band ±{number(scale.apply(criterion.band), places)} {scale.unit}.")
    return " ".join(parts)


def _table(criterion: CriterionResult, readings: list[_Reading]) -> Table:
    scale = Scale.of(criterion.bounds)
    places = max(places_of(item.result) for item in readings)
    rows = []
    for item in readings:
        result = item.result
        sign = VERDICT_SIGNS.get(result.verdict, "?")
        rows.append(
            (
                text(item.method, LABEL_LIMIT),
                item.role,
                f"{sign} {text(result.verdict, LABEL_LIMIT)}",
                signed(scale.apply(result.estimate), places),
                signed(scale.apply(result.lower), places),
                signed(scale.apply(result.upper), places),
                "the method has none" if result.p_value is None else _p_value(result.p_value),
                text(item.guarantee, LABEL_LIMIT),
            )
        )
    return Table(
        caption=f"Intervals for {text(criterion.id, LABEL_LIMIT)}, in {scale.unit}", columns=_COLUMNS, rows=tuple(rows)
    )


def _p_value(value: float) -> str:
    if not math.isfinite(value):
        return NO_NUMBER
    return "< 0.0001" if 0.0 <= value < 0.0001 else number(value, 4)


def _counted_below(inputs: ReportInputs, report: DecisionReport) -> bool:
    """Return whether the section of disagreements has these very counts, with the items behind them."""
    if inputs.disagreements is None or len(report.criteria) > 1 or report.criteria[0].counts is None:
        return False
    return dict(inputs.disagreements.counts) == asdict(report.criteria[0].counts)


def _counts(report: DecisionReport) -> tuple[Table, ...]:
    rows = tuple(
        (
            text(item.id, LABEL_LIMIT),
            *(count(n) for n in (item.counts.both, item.counts.only_treatment, item.counts.only_baseline)),
            count(item.counts.neither),
            count(item.counts.both + item.counts.only_treatment + item.counts.only_baseline + item.counts.neither),
        )
        for item in report.criteria
        if item.counts is not None
    )
    if not rows:
        return ()
    return (Table(caption="Items by who answered right", columns=_COUNT_COLUMNS, rows=rows),)


def _commands(report: DecisionReport) -> tuple[Command, ...]:
    methods = dict.fromkeys([report.method, *(other.method for other in report.exploratory)])
    return tuple(
        Command(
            f"interval-command-{index}", f"the intervals of {text(method, LABEL_LIMIT)}", decide_command(report, method)
        )
        for index, method in enumerate(methods)
    )


def _notes(report: DecisionReport) -> tuple[str, ...]:
    notes = []
    if not all(drawable(criterion) for criterion in report.criteria):
        notes.append("An interval without numbers is not drawn.")
    if len(report.criteria) > SHOWN_CRITERIA:
        notes.append(f"{SHOWN_CRITERIA} of {count(len(report.criteria))} criteria are shown; the command gives all.")
    if any(Scale.of(criterion.bounds).unit == "pp" for criterion in report.criteria):
        notes.append("1 pp (percentage point) is 0.01 in the command's output.")
    if all(criterion.counts is None for criterion in report.criteria):
        notes.append("Scores are not only right or wrong, so there are no counts of who answered right.")
    return tuple(notes)
