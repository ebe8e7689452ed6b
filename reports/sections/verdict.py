"""The verdict: one word, one sentence with the numbers, the facts it rests on, and what it says nothing about."""

from dataclasses import dataclass

from audits.engine.decision import DecisionReport
from reports.display import LABEL_LIMIT, VERDICT_SIGNS, command, count, text
from reports.parts import Command, Fact, ReportInputs, Section
from reports.verdicts import decide_command, guarantee, head, interval_sentence, speaks_of

ORDER = 10
SHOWN_CRITERIA = 8


@dataclass(frozen=True)
class VerdictSection(Section):
    """The banner.

    Attributes:
        state: the verdict's word where this report knows it, else `none`; it picks the colour only.
        word: the verdict as it is read.
        sign: stands beside the word.
        sentences: one for each criterion.
        reasons: why the run is void or inconclusive.
        facts: what was compared and under which rule.
        speaks: what the result is about and is not.
    """

    state: str = "none"
    word: str = "No decision"
    sign: str = "?"
    sentences: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    speaks: str = ""


def build(inputs: ReportInputs) -> VerdictSection:
    """Return the banner."""
    report = inputs.decision
    if report is None:
        return VerdictSection(
            id="verdict",
            title="Verdict",
            takeaway="The decision rule was not applied to this run, so it supports no claim.",
            commands=(Command("verdict-command", "the decision", command("audit", "decide", inputs.run)),),
            facts=(Fact("Run", text(inputs.run)),),
        )
    return VerdictSection(
        id="verdict",
        title="Verdict",
        takeaway=head(report),
        commands=(Command("verdict-command", "this verdict", decide_command(report)),),
        state=report.verdict if report.verdict in VERDICT_SIGNS else "none",
        word=text(report.verdict, LABEL_LIMIT).capitalize() or "No decision",
        sign=VERDICT_SIGNS.get(report.verdict, "?"),
        sentences=_sentences(report),
        reasons=tuple(text(reason) for reason in report.reasons),
        facts=_facts(inputs.run, report),
        speaks=speaks_of(report, _decoding(inputs)),
    )


def _decoding(inputs: ReportInputs) -> str | None:
    named = inputs.plan_summary.get("decoding")
    return None if named is None else text(named, LABEL_LIMIT)


def _sentences(report: DecisionReport) -> tuple[str, ...]:
    total = len(report.criteria)
    if not total:
        return ("There is no criterion with an interval.",)
    shown = [interval_sentence(report, item) for item in report.criteria[:SHOWN_CRITERIA]]
    if total > SHOWN_CRITERIA:
        shown.append(f"{count(total - SHOWN_CRITERIA)} more criteria stand under Interval.")
    return tuple(sentence[:1].upper() + sentence[1:] if total == 1 else sentence for sentence in shown)


def _facts(run: str, report: DecisionReport) -> tuple[Fact, ...]:
    registered = (
        "yes: this rule stood in the sealed plan"
        if report.registered
        else "no: it was not the rule of a sealed plan on a full run"
    )
    seal = f"plan sha256 {text(report.plan_sha256, 80)}" if report.plan_sha256 else "no sealed plan"
    return (
        Fact("Run", text(run)),
        Fact("Treatment", text(report.treatment) or "not named"),
        Fact("Baseline", text(report.baseline) or "not named"),
        Fact("Difference", text(report.estimand) or "not named"),
        Fact("Items", f"{count(report.n_items)} paired items"),
        *(() if report.n_seeds is None else (Fact("Seeds", f"{count(report.n_seeds)} training seeds an arm"),)),
        Fact("Method", f"{text(report.method, LABEL_LIMIT)} ({guarantee(report.guarantee)})"),
        Fact("Assumes", text(report.assumption) or "not named"),
        Fact("Alpha", f"{report.alpha:g}"),
        Fact("Registered", registered),
        Fact("Seal", seal),
    )
