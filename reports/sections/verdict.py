"""The verdict: one word, one sentence with the numbers, the facts it rests on, and what it says nothing about."""

import re
from dataclasses import dataclass

from audits.engine.decision import DecisionReport
from reports.against import against, failures
from reports.display import LABEL_LIMIT, VERDICT_SIGNS, count, text
from reports.parts import Command, Fact, ReportInputs, Section
from reports.verdicts import decide_command, guarantee, head, interval_sentence, speaks_of

ORDER = 10
SHOWN_CRITERIA = 8
CLAIM_LIMIT = 320


@dataclass(frozen=True)
class VerdictSection(Section):
    """The banner.

    Attributes:
        state: the verdict's word where this report knows it, else `none`; it picks the colour only.
        word: the verdict as it is read.
        sign: stands beside the word.
        sentences: one for each criterion.
        claim: what the plan set out to show, empty where none is sealed.
        reasons: why the run is void or inconclusive.
        against: what the other checks of the run found against it; no verdict weighs it.
        facts: what was compared and under which rule.
        speaks: what the result is about and is not.
    """

    state: str = "none"
    word: str = "No decision"
    sign: str = "?"
    sentences: tuple[str, ...] = ()
    claim: str = ""
    reasons: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    speaks: str = ""


def build(inputs: ReportInputs) -> VerdictSection:
    """Return the banner."""
    report, claim = inputs.decision, claim_of(inputs.plan_summary.get("hypothesis", ""))
    if report is None:
        return VerdictSection(
            id="verdict",
            title="Verdict",
            takeaway="The decision rule was not applied to this run, so it supports no claim.",
            reasons=tuple(text(line.strip()) for line in (inputs.undecided or "").splitlines()),
            claim=claim,
            against=against(inputs),
            facts=(Fact("Run", text(inputs.run)),),
        )
    return VerdictSection(
        id="verdict",
        title="Verdict",
        takeaway=_takeaway(report, bool(failures(inputs))),
        commands=(Command("verdict-command", "this verdict", decide_command(report)),),
        state=report.verdict if report.verdict in VERDICT_SIGNS else "none",
        word=text(report.verdict, LABEL_LIMIT).capitalize() or "No decision",
        sign=VERDICT_SIGNS.get(report.verdict, "?"),
        sentences=_sentences(report),
        reasons=tuple(text(reason) for reason in report.reasons),
        claim=claim,
        against=against(inputs),
        facts=_facts(inputs.run, report),
        speaks=speaks_of(report, _decoding(inputs)),
    )


def _takeaway(report: DecisionReport, failed: bool) -> str:
    if report.verdict == "validated" and report.registered and failed:
        return "The planned rule is met, but what it was measured with is in question."
    return head(report)


def claim_of(hypothesis: str) -> str:
    """Return a plan's hypothesis on one line; a long one ends with the last sentence that there is room for."""
    whole = " ".join(hypothesis.split())
    if len(whole) <= CLAIM_LIMIT:
        return text(whole)
    ends = [found.end() for found in re.finditer(r"[.!?](?= )", whole[: CLAIM_LIMIT + 1])]
    return f"{text(whole[: ends[-1]])} …" if ends else text(whole, CLAIM_LIMIT)


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
        Fact("Items", f"{count(report.n_items)} paired {'item' if report.n_items == 1 else 'items'}"),
        *(() if report.n_seeds is None else (Fact("Seeds", f"{count(report.n_seeds)} training seeds an arm"),)),
        Fact("Method", f"{text(report.method, LABEL_LIMIT)} ({guarantee(report.guarantee)})"),
        Fact("Assumes", text(report.assumption) or "not named"),
        Fact("Alpha", f"{report.alpha:g}"),
        Fact("Registered", registered),
        Fact("Seal", seal),
    )
