"""The words of a verdict, decided from the numbers and never only from the word that came with them."""

import math

from audits.engine.audit import audit_ids
from audits.engine.decision import CriterionResult, DecisionReport
from reports.display import LABEL_LIMIT, Scale, command, count, decimals, number, signed, text

GUARANTEES = {
    "proven": "proven: its coverage holds for any number of items",
    "conjectured": "conjectured: no violation of its coverage is known, but there is no proof",
    "asymptotic": "asymptotic: its coverage holds only in the limit of many items",
}

_HEADS = {
    ("validated", True): "The planned claim may be made.",
    ("validated", False): "The rule is met, but this is not a registered decision.",
    ("refuted", True): "The planned claim is refuted.",
    ("refuted", False): "The rule refutes the claim, but this is not a registered decision.",
    ("tie", True): "The plan calls this difference a tie.",
    ("tie", False): "The rule calls this difference a tie, but this is not a registered decision.",
    ("inconclusive", True): "The claim is not decided.",
    ("inconclusive", False): "Nothing is decided, and this is not a registered decision.",
    ("void", True): "No claim may be made from this run; its numbers are shown and decide nothing.",
    ("void", False): "No claim may be made from this run; its numbers are shown and decide nothing.",
}


def head(report: DecisionReport) -> str:
    """Return what the verdict permits, in one sentence."""
    unknown = f"The verdict {text(report.verdict, LABEL_LIMIT)!r} is not one this report knows: nothing is decided."
    return _HEADS.get((report.verdict, report.registered), unknown)


def guarantee(word: str) -> str:
    """Return what kind of guarantee a method has."""
    return GUARANTEES.get(word, f"unknown guarantee {text(word, LABEL_LIMIT)!r}")


def level(alpha: float, criteria: int) -> str:
    """Return how the interval is named; with several criteria alpha is shared, so no level is claimed for one."""
    if not 0.0 < alpha < 1.0:
        return "interval (alpha is no usable number)"
    if criteria > 1:
        return f"interval (alpha {alpha:g} for {criteria} criteria)"
    return f"{100.0 * (1.0 - alpha):.6g} % interval"


def interval_sentence(report: DecisionReport, criterion: CriterionResult) -> str:
    """Return estimate, interval, method and where the interval lies, in one sentence."""
    scale = Scale.of(criterion.bounds)
    places = places_of(criterion)
    unit = scale.unit

    def shown(value: float) -> str:
        return signed(scale.apply(value), places)

    criteria = len(report.criteria)
    by = f"by {text(report.method, LABEL_LIMIT)} ({text(report.guarantee, LABEL_LIMIT)})"
    named = f"{text(criterion.id, LABEL_LIMIT)}: " if criteria > 1 else ""
    if not all(math.isfinite(value) for value in (criterion.estimate, criterion.lower, criterion.upper)):
        return (
            f"{named}there is no usable interval {by} (estimate {shown(criterion.estimate)}, "
            f"limits {shown(criterion.lower)} and {shown(criterion.upper)})."
        )
    return (
        f"{named}estimated difference{contrast(criterion)} {shown(criterion.estimate)} {unit}, "
        f"{level(report.alpha, criteria)} "
        f"[{shown(criterion.lower)}, {shown(criterion.upper)}] {unit} {by}; {position(criterion)}."
    )


def brief_interval(criterion: CriterionResult) -> str:
    """Return the criterion's name with estimate, interval and unit."""
    scale, places = Scale.of(criterion.bounds), places_of(criterion)
    low, high, middle = (
        signed(scale.apply(value), places) for value in (criterion.lower, criterion.upper, criterion.estimate)
    )
    return f"{text(criterion.id, 40)} {middle} [{low}, {high}] {scale.unit}"


def contrast(criterion: CriterionResult) -> str:
    """Return which difference the numbers are, in words that follow "difference"; empty where it is not named."""
    return f" ({text(criterion.contrast, 200)})" if criterion.contrast else ""


def compared(report: DecisionReport) -> str:
    """Return what was compared: treatment against baseline, or the differences of other weights, each once."""
    differences = list(dict.fromkeys(criterion.contrast for criterion in report.criteria if criterion.contrast))
    treatment, baseline = report.treatment, report.baseline
    if treatment and baseline and differences in ([], [f"{treatment} minus {baseline}"]):
        return f"{text(treatment, 200)} against {text(baseline, 200)}"
    return "; ".join(text(difference, 400) for difference in differences[:8]) or "not named"


def against_sentences(report: DecisionReport) -> tuple[str, ...]:
    """Return which integrity audits fail of those that were asked beside the decision, and the command that tells."""
    return tuple(
        f"integrity audit {text(check.id, LABEL_LIMIT)} fails"
        f"{f': {text(check.reason, 200)}' if check.reason else ''}"
        f" ({command('audit', 'integrity', report.run, '--only', check.id)})"
        for check in report.against
    )


def audited_sentence(report: DecisionReport) -> str:
    """Return which integrity audits were asked beside the decision, and the command that asks all of them."""
    every = command("audit", "check", report.run)
    if report.integrity is None or not report.integrity.checks:
        why = "; ".join(text(reason) for reason in (report.integrity.reasons if report.integrity is not None else ()))
        return f"not audited here{f' ({why})' if why else ''}: {every}"
    if len(report.integrity.checks) == len(audit_ids()):
        return "every audit was asked here"
    asked = ", ".join(text(check.id, LABEL_LIMIT) for check in report.integrity.checks)
    return f"asked here: {asked}; all of them: {every}"


def position(criterion: CriterionResult) -> str:
    """Return where the interval lies beside margin, floor and band; the first that holds, as the rule reads it."""
    scale = Scale.of(criterion.bounds)
    places = places_of(criterion)
    lower, upper, margin = criterion.lower, criterion.upper, criterion.margin
    floor, band = criterion.floor, criterion.band
    margin_text = f"the margin {signed(scale.apply(margin), places)} {scale.unit}"
    floor_text = f"the floor {signed(scale.apply(floor), places)} {scale.unit}"
    if not all(math.isfinite(value) for value in (lower, upper, margin, floor)):
        return "its limits cannot be compared"
    if lower > margin:
        return f"all of it lies above {margin_text}"
    if upper < floor:
        return f"all of it lies below {floor_text}"
    if band is not None and -band <= lower and upper <= band:
        return f"all of it lies inside the tie band ±{number(scale.apply(band), places)} {scale.unit}"
    if upper <= margin:
        return f"none of it lies above {margin_text}, and not all of it lies below {floor_text}"
    if lower >= floor:
        return f"none of it lies below {floor_text}, and not all of it lies above {margin_text}"
    if margin == floor:
        return f"it has values on both sides of {margin_text}"
    return f"it reaches from below {floor_text} to above {margin_text}"


def places_of(criterion: CriterionResult) -> int:
    """Return the decimals that keep this criterion's numbers and limits apart."""
    scale = Scale.of(criterion.bounds)
    band = () if criterion.band is None else (criterion.band, -criterion.band)
    shown = (criterion.estimate, criterion.lower, criterion.upper, criterion.margin, criterion.floor, *band)
    return decimals(scale.apply(value) for value in shown)


def speaks_of(report: DecisionReport, decoding: str | None) -> str:
    """Return what the result is about and what it says nothing about."""
    one = report.n_items == 1
    items = "1 item" if one else f"{count(report.n_items)} items"
    if report.unit == "fixed_checkpoint_items":
        how = decoding or ("greedy decoding" if report.plan_sha256 else "the decoding that made these answers")
        return (
            f"This speaks of {'these outcomes' if report.votes else 'these checkpoints'} on {items} like "
            f"{'this one' if one else 'these'}, with {how}.{_voted(report)} It says nothing about the algorithm in "
            "general, other training seeds, other models, other tasks or another way of decoding."
        )
    if report.unit == "training_seeds":
        seeds = "an unknown number of seeds" if report.n_seeds is None else f"{count(report.n_seeds)} seeds"
        return (
            f"This speaks of training runs that differ in their seed only, from {seeds} an arm, scored on {items}; "
            "what the method assumes says whether it speaks of other items too. It says nothing about other models, "
            "other data or other settings of the algorithm."
        )
    return f"The unit of inference is {text(report.unit, LABEL_LIMIT)!r}; it says nothing beyond that unit."


def _voted(report: DecisionReport) -> str:
    """Return which scores are votes over several answers: they are no checkpoint's."""
    return "".join(
        f" {text(name, 200)} is a majority vote over {count(answers)} answers an item, not one checkpoint."
        for name, answers in list(report.votes.items())[:8]
    )


def decide_command(report: DecisionReport, method: str | None = None) -> str:
    """Return the command line that gives the decision again, with the options it was made with."""
    options = [word for pair in report.options for word in pair]
    return command("audit", "decide", report.run, "--method", method or report.asked or report.method, *options)
