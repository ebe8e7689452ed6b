"""The objects that other programs read: keys and types as the contract fixes them.

A null number has its reason beside it, under the same key in `null_reasons`.
"""

import math
from collections.abc import Mapping
from typing import Any

from audits.engine.check import Check, CheckReport
from audits.engine.decision import CriterionResult, DecisionReport


def decision_object(report: DecisionReport) -> dict[str, Any]:
    """Return what `audit decide --format json` prints, for `reports.emitters.json.dumps`."""
    body = {
        "run": report.run,
        "verdict": report.verdict,
        "registered": report.registered,
        "method": report.method,
        "guarantee": report.guarantee,
        "assumption": report.assumption,
        "alpha": report.alpha,
        "n_items": report.n_items,
        "n_seeds": report.n_seeds,
        "baseline": report.baseline,
        "treatment": report.treatment,
        "unit": report.unit,
        "estimand": report.estimand,
        "plan_sha256": report.plan_sha256,
        "recorded_look": report.recorded_look,
        "criteria": [_criterion(criterion) for criterion in report.criteria],
        "exploratory": [
            {
                "method": other.method,
                "guarantee": other.guarantee,
                "verdict": other.verdict,
                "reason": other.reason,
                "criteria": [_criterion(criterion) for criterion in other.criteria],
            }
            for other in report.exploratory
        ],
        "reasons": list(report.reasons),
        **_integrity(report),
    }
    unasked = "; ".join(report.integrity.reasons if report.integrity is not None else ()) or "no audit was asked here"
    absent = {
        "n_seeds": "training seeds are not the unit of this rule",
        "plan_sha256": "no plan is sealed in this run",
        "against": unasked,
        "audited": unasked,
    }
    return with_reasons(body, absent)


def _integrity(report: DecisionReport) -> dict[str, Any]:
    """Return the integrity audits that were asked beside a decision, and those of them that fail."""
    if report.integrity is None or not report.integrity.checks:
        return {"against": None, "audited": None}
    return {
        "against": [{"id": check.id, "status": check.status, "reason": check.reason} for check in report.against],
        "audited": [check.id for check in report.integrity.checks],
    }


def checks_object(report: CheckReport) -> dict[str, Any]:
    """Return what `audit gate`, `drift`, `integrity` and `check` print with `--format json`."""
    return {
        "run": report.run,
        "status": report.status,
        "checks": [_check(check) for check in report.checks],
        "reasons": list(report.reasons),
    }


def whole_check_object(report: CheckReport, decision: DecisionReport | None) -> dict[str, Any]:
    """Return what `audit check --format json` prints: the checks, and the decision where the run has one."""
    body = {**checks_object(report), "decision": None if decision is None else decision_object(decision)}
    undecided = next((check.reason for check in report.checks if check.id == "verdict" and check.reason), None)
    return with_reasons(body, {"decision": undecided or "a pilot decides nothing"})


def _criterion(criterion: CriterionResult) -> dict[str, Any]:
    absent = {
        "band": "no tie band is set",
        "p_value": "the method gives no p-value",
        "counts": "the items' scores are not only right or wrong: other scores, or means over samples or seeds",
        "mcnemar_exact": "the items' scores are not only right or wrong: other scores, or means over samples or seeds",
        "mcnemar_mid_p": "the items' scores are not only right or wrong: other scores, or means over samples or seeds",
    }
    counts = criterion.counts
    return with_reasons(
        {
            "id": criterion.id,
            "metric": criterion.metric,
            "contrast": criterion.contrast,
            "verdict": criterion.verdict,
            "estimate": criterion.estimate,
            "lower": criterion.lower,
            "upper": criterion.upper,
            "margin": criterion.margin,
            "floor": criterion.floor,
            "band": criterion.band,
            "p_value": criterion.p_value,
            "mcnemar_exact": criterion.mcnemar_exact,
            "mcnemar_mid_p": criterion.mcnemar_mid_p,
            "bounds": list(criterion.bounds),
            "counts": None
            if counts is None
            else {
                "both": counts.both,
                "only_treatment": counts.only_treatment,
                "only_baseline": counts.only_baseline,
                "neither": counts.neither,
            },
        },
        absent,
    )


def _check(check: Check) -> dict[str, Any]:
    value = _finite(check.value)
    reason = check.reason or ("no value was measured and no reason was recorded" if value is None else None)
    absent = {
        "value": reason or "not measured",
        "limit": "no limit is set",
        "numerator": "the value is not a share of counted rows",
        "denominator": "the value is not over a number of rows",
    }
    limit = check.limit
    return with_reasons(
        {
            "id": check.id,
            "run": check.run,
            "status": check.status,
            "value": check.value,
            "unit": check.unit,
            "limit": None
            if limit is None
            else {
                "min": limit.min,
                "max": limit.max,
                "one_of": None if limit.one_of is None else list(limit.one_of),
            },
            "numerator": check.numerator,
            "denominator": check.denominator,
            "over": check.over,
            "rows_examined": check.rows_examined,
            "definition": check.definition,
            "arm": check.arm,
            "reason": reason,
            "evidence": check.evidence,
            "sql": check.sql,
            "measures": check.measures,
            "mend": check.mend,
            "notes": list(check.notes),
            "steps": [
                with_reasons(
                    {
                        "arm": step.arm,
                        "seed": step.seed,
                        "step": step.step,
                        "value": step.value,
                        "numerator": step.numerator,
                        "denominator": step.denominator,
                    },
                    {"numerator": absent["numerator"]},
                )
                for step in check.steps
            ],
        },
        absent,
    )


def with_reasons(body: dict[str, Any], absent: Mapping[str, str]) -> dict[str, Any]:
    """Return the object with numbers that JSON lacks as null, and why each null is one."""
    reasons: dict[str, str] = {}
    for key, value in body.items():
        if isinstance(value, float) and not math.isfinite(value):
            body[key] = None
            reasons[key] = "not a number" if math.isnan(value) else "infinite"
        elif value is None and key in absent:
            reasons[key] = absent[key]
    return {**body, "null_reasons": reasons}


def _finite(value: float | str | None) -> float | str | None:
    return None if isinstance(value, float) and not math.isfinite(value) else value
