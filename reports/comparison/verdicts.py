"""Verdicts: what each run's rule says, side by side, and whether the two answer the same question."""

from collections.abc import Iterator

from audits.engine.decision import CriterionResult, DecisionReport
from reports.display import LABEL_LIMIT, VERDICT_SIGNS, Scale, count, signed, text
from reports.parts import Column, Command, ComparisonInputs, Figure, Forest, ForestRow, ReportInputs, Section, Table
from reports.sections.interval import drawable, lines_drawn
from reports.verdicts import decide_command, interval_sentence, places_of

ORDER = 10
SHOWN_CRITERIA = 8

Named = tuple[str, DecisionReport, CriterionResult]


def build(inputs: ComparisonInputs) -> Section:
    """Return the verdicts' section."""
    named = list(_criteria(inputs))
    return Section(
        id="verdicts",
        title="Verdicts",
        takeaway=f"{_plans(inputs)} {_verdicts(inputs)}",
        figures=tuple(_figures(named)),
        tables=(_facts(inputs), *_intervals(named)),
        commands=tuple(
            Command(f"verdicts-command-{name.lower()}", f"the decision of {name}", decide_command(run.decision))
            for name, run in inputs.named
            if run.decision is not None
        ),
        notes=(
            "Each verdict stands for its own run under its own rule. That one is validated and the other is not does "
            "not show that they differ: no test of that difference was planned, and none is made here.",
        ),
    )


def _plans(inputs: ComparisonInputs) -> str:
    first, second = inputs.plan_sha256
    if first is None and second is None:
        return "Neither run carries a sealed plan."
    if first is None or second is None:
        return f"Only run {'B' if first is None else 'A'} carries a sealed plan: the other one registered no rule."
    if first == second:
        return "Both runs carry the same sealed plan."
    different = len(inputs.planned.found)
    settings = "one setting" if different == 1 else f"{count(different)} settings"
    return f"The two runs have different plans ({settings} differ), so their verdicts answer different questions."


def _verdicts(inputs: ComparisonInputs) -> str:
    words = [_word(run.decision) for _, run in inputs.named]
    return f"A: {words[0]}. B: {words[1]}."


def _word(decision: DecisionReport | None) -> str:
    if decision is None:
        return "no decision"
    return text(decision.verdict, LABEL_LIMIT) + ("" if decision.registered else ", not registered")


def _facts(inputs: ComparisonInputs) -> Table:
    read = [_run_facts(run, sha) for (_, run), sha in zip(inputs.named, inputs.plan_sha256, strict=True)]
    rows = tuple((name, read[0][name], read[1][name]) for name in read[0])
    return Table("The two runs", (Column("Fact"), Column("A"), Column("B")), rows)


def _run_facts(run: ReportInputs, plan_sha256: str | None) -> dict[str, str]:
    decision = run.decision
    facts = {
        "Run": text(run.run),
        "Title": text(run.title, 200),
        "Plan sha256": f"{text(plan_sha256[:16])}…" if plan_sha256 else "no sealed plan",
        "Verdict": "no decision",
    }
    if decision is None:
        return facts | dict.fromkeys(("Registered", "Method", "Alpha", "Treatment", "Baseline", "Items"), "no decision")
    return facts | {
        "Verdict": f"{VERDICT_SIGNS.get(decision.verdict, '?')} {text(decision.verdict, LABEL_LIMIT)}",
        "Registered": "yes" if decision.registered else "no",
        "Method": f"{text(decision.method, LABEL_LIMIT)} ({text(decision.guarantee, LABEL_LIMIT)})",
        "Alpha": f"{decision.alpha:g}",
        "Treatment": text(decision.treatment, LABEL_LIMIT) or "not named",
        "Baseline": text(decision.baseline, LABEL_LIMIT) or "not named",
        "Items": count(decision.n_items),
    }


def _criteria(inputs: ComparisonInputs) -> Iterator[Named]:
    """Yield the criteria of both runs, those of one id beside each other."""
    found = [
        (name, run.decision, item)
        for name, run in inputs.named
        if run.decision is not None
        for item in run.decision.criteria[:SHOWN_CRITERIA]
    ]
    ids = list(dict.fromkeys(item.id for _, _, item in found))
    yield from sorted(found, key=lambda named: ids.index(named[2].id))


def _intervals(named: list[Named]) -> Iterator[Table]:
    if not named:
        return
    columns = (
        Column("Criterion"),
        Column("Run"),
        Column("Verdict"),
        Column("Estimate", numeric=True),
        Column("Lower", numeric=True),
        Column("Upper", numeric=True),
        Column("Margin", numeric=True),
        Column("Floor", numeric=True),
        Column("Unit"),
    )
    yield Table("Intervals, each by its run's own method", columns, tuple(_interval_row(*item) for item in named))


def _interval_row(name: str, _: DecisionReport, item: CriterionResult) -> tuple[str, ...]:
    scale, places = Scale.of(item.bounds), places_of(item)
    shown = (item.estimate, item.lower, item.upper, item.margin, item.floor)
    return (
        text(item.id, LABEL_LIMIT),
        name,
        f"{VERDICT_SIGNS.get(item.verdict, '?')} {text(item.verdict, LABEL_LIMIT)}",
        *(signed(scale.apply(value), places) for value in shown),
        scale.unit,
    )


def _figures(named: list[Named]) -> Iterator[Figure]:
    """Yield one chart for all intervals that are read against the same lines."""
    grouped: dict[tuple[object, ...], list[Named]] = {}
    for entry in named:
        item = entry[2]
        if drawable(item):
            grouped.setdefault((item.id, item.bounds, item.margin, item.floor, item.band), []).append(entry)
    for number, entries in enumerate(grouped.values()):
        item = entries[0][2]
        scale = Scale.of(item.bounds)
        sentences = " ".join(f"{name}: {interval_sentence(report, found)}" for name, report, found in entries)
        yield Figure(
            id=f"verdicts-{number}",
            label=f"Forest chart of {text(item.id, LABEL_LIMIT)}. {sentences}",
            takeaway=f"{text(item.id, LABEL_LIMIT)}: {'; '.join(_brief(*entry) for entry in entries)}",
            caption=f"{lines_drawn(item, scale)} {_marks(entries)}",
            chart=Forest(
                unit=scale.unit,
                rows=tuple(_forest_row(*entry) for entry in entries),
                margin=scale.apply(item.margin),
                floor=scale.apply(item.floor),
                band=None if item.band is None else scale.apply(item.band),
            ),
        )


def _marks(entries: list[Named]) -> str:
    registered = {report.registered for _, report, _ in entries}
    filled = ["Filled mark: a registered decision."] if True in registered else []
    return " ".join([*filled, *(["Open mark: not registered."] if False in registered else [])])


def _brief(name: str, _: DecisionReport, item: CriterionResult) -> str:
    scale, places = Scale.of(item.bounds), places_of(item)
    estimate, lower, upper = (signed(scale.apply(value), places) for value in (item.estimate, item.lower, item.upper))
    return f"{name} {estimate} [{lower}, {upper}] {scale.unit}"


def _forest_row(name: str, report: DecisionReport, item: CriterionResult) -> ForestRow:
    scale = Scale.of(item.bounds)
    return ForestRow(
        label=f"{name} · {text(report.method, 40)}",
        state=text(item.verdict, LABEL_LIMIT),
        estimate=scale.apply(item.estimate),
        lower=scale.apply(item.lower),
        upper=scale.apply(item.upper),
        registered=report.registered,
    )
