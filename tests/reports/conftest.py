"""Made-up results of every kind, as keyword arguments of `build_report`."""

import math
from types import SimpleNamespace
from typing import Any

import made_charts
import made_sections
import pytest

from analysis.paired.sample import PairedCounts
from audits.engine.check import Check, CheckReport, Limit, StepValue
from audits.engine.comparison import ArmChanges, Difference, Differences, ItemChange
from audits.engine.curve import CheckpointScore
from audits.engine.decision import CriterionResult, DecisionReport, Exploratory
from audits.engine.drift import DriftRow
from reports.emitters.html import render_html
from reports.model import build_comparison, build_report
from reports.parts import ComparisonInputs, ReportInputs

HOSTILE = [
    "</script><script>document.title='x'</script>",
    "<img src=x onerror=\"document.title='x'\">",
    "'\"><svg onload=alert(1)>",
    "{{7*7}}{% include 'x' %}${7*7}",
    "javascript:alert(1)",
    "]]><b>&amp;&#x202e;",
    "\x1b[31mred\x1b[0m\x00\x07 \u202egnp.exe\u2066 \u200f\ud800 \ufffe",
    "%0A::error::x\n::set-output name=a::b ##[add-mask]x",
    "url(#clip0) ]}) --> <!-- */",
]


def criterion(**changes: Any) -> CriterionResult:
    values: dict[str, Any] = {
        "id": "accuracy",
        "metric": "gsm8k_exact_match",
        "verdict": "validated",
        "estimate": 0.042,
        "lower": 0.011,
        "upper": 0.073,
        "margin": 0.01,
        "floor": -0.01,
        "band": 0.008,
        "p_value": 0.0031,
        "bounds": (-1.0, 1.0),
        "contrast": "dppo_binary_tv minus grpo_clip",
        "counts": PairedCounts(both=702, only_treatment=171, only_baseline=116, neither=330),
    }
    return CriterionResult(**{**values, **changes})


def decision(**changes: Any) -> DecisionReport:
    values: dict[str, Any] = {
        "run": "runs/full",
        "verdict": "validated",
        "registered": True,
        "method": "paired_hoeffding",
        "guarantee": "proven",
        "assumption": "items are independent",
        "alpha": 0.05,
        "n_items": 1319,
        "baseline": "grpo_clip",
        "treatment": "dppo_binary_tv",
        "unit": "fixed_checkpoint_items",
        "estimand": "mean difference of greedy accuracy, treatment minus baseline",
        "criteria": (criterion(),),
        "exploratory": (
            Exploratory("paired_bernstein", "proven", (criterion(lower=0.015, upper=0.069),)),
            Exploratory("paired_t", "asymptotic", (criterion(lower=0.0178, upper=0.0662, p_value=0.0008),)),
            Exploratory(
                "exact_permutation", "conjectured", (criterion(verdict="inconclusive", lower=-0.001, upper=0.085),)
            ),
        ),
        "plan_sha256": "3f" * 32,
    }
    return DecisionReport(**{**values, **changes})


def check(**changes: Any) -> Check:
    values: dict[str, Any] = {
        "id": "dppo_masked_token_fraction",
        "status": "pass",
        "value": 0.0213,
        "limit": Limit(min=0.001, max=0.2),
        "unit": "share of loss tokens",
        "definition": "dppo_binary_tv@sampler/loss_tokens",
        "arm": "treatment",
        "rows_examined": 41230,
        "numerator": 878.0,
        "denominator": 41230,
        "steps": tuple(StepValue("treatment", 0, s, 0.018 + 0.002 * math.sin(s), 170.0, 8246) for s in range(5)),
        "sql": "select arm,\n       avg(masked) as value\nfrom 'tokens'\nwhere arm = 'treatment'\ngroup by all",
        "measures": "share of loss tokens the divergence rule masks in the second update",
    }
    return Check(**{**values, **changes})


def gate(*checks: Check, **changes: Any) -> CheckReport:
    values: dict[str, Any] = {"run": "runs/pilot", "status": "pass", "checks": checks}
    return CheckReport(**{**values, **changes})


def integrity() -> CheckReport:
    finding = check(
        id="truncation", status="fail", value=3.0, limit=Limit(max=0.0), unit="offending rows", numerator=None,
        denominator=None, steps=(), rows_examined=2638, reason="3 offending rows: 3 cut at the cap and right",
        evidence="evidence/truncation.parquet", mend="raise evaluation.max_tokens", definition="truncation@log/evals",
        sql="SELECT * FROM evals WHERE stop_reason = 'length'", measures="no answer was cut off", arm=None,
        rows_command=("integrity", "--rows", "truncation"),
    )  # fmt: skip
    clean = check(
        id="pairing", value=0.0, limit=Limit(max=0.0), unit="offending rows", numerator=None, denominator=None,
        steps=(), rows_examined=2638, notes=("2 arms",), measures="every item has one score in each arm", arm=None,
    )  # fmt: skip
    return gate(finding, clean, status="fail")


def drift_rows(steps: int = 24, seeds: int = 1) -> list[DriftRow]:
    rows = []
    for arm, scale in (("dppo_binary_tv", 1.0), ("grpo_clip", 1.35)):
        for seed in range(seeds):
            for step in range(steps):
                for update in (0, 1):
                    base = scale * (0.004 + 0.0004 * step + 0.001 * math.sin(step + seed)) * (1 + 1.6 * update)
                    masked = max(0.0, base - 0.006) if update else 0.0
                    rows.append(
                        DriftRow(
                            arm,
                            seed,
                            step,
                            update,
                            8246 + step,
                            masked,
                            masked / 2,
                            base / 5,
                            base,
                            base * 6,
                            0.3 + step / 90,
                        )
                    )
    return rows


PROVENANCE = {
    "plan sha256": "3f" * 32,
    "data sha256": "a1" * 32,
    "runaudit": "0.1.0",
    "git commit": "0123456789abcdef0123456789abcdef01234567 (clean)",
    "python": "3.11.7",
    "command": "audit run plans/demo.json --out runs/full",
    "sealed at": "2026-01-02T03:04:05Z",
    "started at": "2026-01-02T03:05:00Z",
    "finished at": "2026-01-02T05:41:12Z",
}
PLAN = {
    "hypothesis": "Masking by divergence beats ratio clipping at equal data and budget.",
    "base model": "tiny-addition-2m",
    "task": "addition, 2,000 training and 1,319 test items",
    "rollout": "32 groups of 8, temperature 1.0, 2 updates a batch, 24 batches",
    "treatment": "divergence_mask, binary TV, delta 0.15",
    "baseline": "ratio_clip, eps 0.2",
}
LOOKS = [{"at": "2026-01-02T05:50:00Z", "method": "paired_hoeffding", "verdict": "validated", "registered": "yes"}]


def curve_points() -> list[CheckpointScore]:
    rows = [("base", 0, 0.42), ("dppo_binary_tv", 10, 0.47), ("dppo_binary_tv", 20, 0.51), ("grpo_clip", 10, 0.46)]
    return [
        CheckpointScore(arm, 0, f"step{step:06d}", 200, 0, s, s - 0.07, s + 0.07, "clopper_pearson")
        for arm, step, s in rows
    ]


def page(**changes: Any) -> dict[str, Any]:
    values: dict[str, Any] = {
        "run": "runs/full",
        "title": "Divergence masks against ratio clips on two-digit addition",
        "decision": decision(),
        "gate": gate(
            check(),
            check(
                id="policy_drift_abs_p_q90", value=0.0118, limit=Limit(min=0.001), unit="probability", numerator=None
            ),
            check(
                id="executed_updates_per_batch",
                value=2.0,
                limit=Limit(min=2, max=2),
                unit="updates",
                steps=(),
                numerator=None,
                denominator=5,
                rows_examined=10,
            ),
        ),
        "drift": drift_rows(),
        "curve": curve_points(),
        "preflights": gate(
            check(id="correctness", value=37.0, limit=None, unit="comparisons that passed", steps=(), denominator=37),
            check(id="restoration", status="warn", value=11.0, limit=None, steps=(), denominator=12),
            check(
                id="restoration/optimizer/beta2/step_ratio",
                status="warn",
                value=None,
                limit=None,
                steps=(),
                reason="unverified: the service's noise hides it",
            ),
            status="warn",
            reasons=("The plan requires correctness, restoration.",),
        ),
        "integrity": integrity(),
        "provenance": PROVENANCE,
        "looks": LOOKS,
        "plan_summary": PLAN,
        **made_sections.sections(),
        **made_charts.sections(),
    }
    return {**values, **changes}


def _void() -> dict[str, Any]:
    failing = check(
        status="fail",
        value=0.0,
        numerator=0.0,
        reason="the rule cannot fire: one update a batch, and the anchor is the sampler; |Δp| is 0.0004",
        mend="set rollout.updates_per_batch to 2 or more and run a new pilot",
        evidence="evidence/dppo_masked_token_fraction.parquet",
        steps=tuple(StepValue("treatment", 0, s, 0.0, 0.0, 8246) for s in range(5)),
    )
    missing = check(
        id="grpo_clip_fraction", status="inconclusive", value=None, arm="baseline", numerator=None, denominator=None,
        rows_examined=0, steps=(), sql=None, reason="the baseline's pilot log has no column current_logprob",
    )  # fmt: skip
    others = (
        check(id="loss_forms", status="warn", value="ratio", limit=Limit(one_of=("ratio", "score")), steps=()),
        check(id="length_shift", status="waived", reason="waived until 2026-02-01 by A. Reviewer: known, harmless"),
        check(id="multi_turn", status="not_applicable", value=None, reason="the run is single-turn", steps=()),
    )
    return page(
        decision=decision(
            verdict="void",
            criteria=(criterion(verdict="validated"),),
            reasons=("the activation gate failed: dppo_masked_token_fraction", "grpo_clip_fraction is unresolved"),
        ),
        gate=gate(failing, missing, *others, check(id="policy_drift_abs_p_q90"), status="fail"),
    )


def _inconclusive() -> dict[str, Any]:
    several = (
        criterion(verdict="inconclusive", estimate=0.006, lower=-0.021, upper=0.033),
        criterion(id="length", metric="mean_tokens", bounds=(-512.0, 512.0), verdict="tie", estimate=0.2, lower=-1.1,
                  upper=1.4, margin=0.0, floor=0.0, band=4.0, counts=None, p_value=None),
    )  # fmt: skip
    return page(
        decision=decision(
            verdict="inconclusive", registered=False, criteria=several, exploratory=(), reasons=("pilot",)
        ),
        drift=drift_rows(steps=300, seeds=3),
    )


def _empty() -> dict[str, Any]:
    return page(
        decision=None,
        gate=None,
        preflights=None,
        integrity=None,
        power=None,
        disagreements=None,
        cost=None,
        deviations=(),
        settings=(),
        drift=[],
        curve=[],
        provenance={},
        looks=[],
        plan_summary={},
        **made_charts.nothing(),
    )


def _not_numbers() -> dict[str, Any]:
    nan = math.nan
    return page(
        decision=decision(
            verdict="inconclusive",
            criteria=(criterion(band=None, estimate=nan, lower=-math.inf, upper=nan, p_value=nan),),
        ),
        gate=gate(
            check(value=nan, status="inconclusive", steps=tuple(StepValue("t", 0, s, nan, None, 5) for s in range(3))),
            status="inconclusive",
        ),
        drift=[DriftRow("a", 0, step, 0, 0, None, nan, nan, nan, nan, None) for step in range(3)],
        **made_sections.without_numbers(),
        **made_charts.without_numbers(),
        curve=[CheckpointScore("a", 0, f"step{step:06d}", 9, 2, nan, nan, nan, "none") for step in range(3)],
    )


def hostile(text: str) -> dict[str, Any]:
    """Every text field of every input holds the text."""
    item = criterion(id=text, metric=text, verdict=text)
    checks = tuple(
        check(id=text, status=status, unit=text, definition=text, arm=text, reason=text, notes=(text,), evidence=text,
              sql=text, measures=text, mend=text, limit=Limit(one_of=(text,)) if status == "fail" else Limit(max=1.0),
              value=text if status == "fail" else 0.5,
              steps=tuple(StepValue(text, 0, s, 0.1 * s, None, 9) for s in range(3)))
        for status in ("fail", "inconclusive")
    )  # fmt: skip
    return {
        "run": text,
        "title": text,
        "decision": decision(run=text, verdict=text, method=text, guarantee=text, baseline=text, treatment=text,
                             unit=text, estimand=text, criteria=(item,), reasons=(text,), plan_sha256=text,
                             exploratory=(Exploratory(text, text, (item,)),)),
        "gate": gate(*checks, run=text, status="fail", reasons=(text,)),
        "drift": [DriftRow(text, 0, s, u, 9, 0.1, 0.1, 0.1, 0.2, 0.3, 0.5) for s in range(3) for u in range(2)],
        "preflights": gate(*checks, run=text, status="fail", reasons=(text,)),
        "integrity": gate(*checks, run=text, status="fail", reasons=(text,)),
        "curve": [CheckpointScore(text, 0, f"step{s:06d}", 9, 0, 0.5, 0.2, 0.8, text) for s in range(3)],
        "provenance": {text: text},
        "looks": [{text: text}],
        "plan_summary": {text: text, "decoding": text},
        **made_sections.hostile(text),
        **made_charts.hostile(text),
    }  # fmt: skip


@pytest.fixture(scope="session")
def make() -> SimpleNamespace:
    """The makers of made-up results."""
    return SimpleNamespace(
        criterion=criterion,
        decision=decision,
        check=check,
        gate=gate,
        drift_rows=drift_rows,
        page=page,
        hostile=hostile,
    )


@pytest.fixture(scope="session")
def pages() -> dict[str, dict[str, Any]]:
    """Arguments of `build_report` by the kind of run they are."""
    return {
        "validated": page(),
        "void": _void(),
        "inconclusive": _inconclusive(),
        "empty": _empty(),
        "not_numbers": _not_numbers(),
        "hostile": hostile("\n".join(HOSTILE)),
        "long": hostile("<b>" + "w" * 1_000_000),
    }


@pytest.fixture(scope="session")
def rendered(pages) -> dict[str, str]:
    """The page of each kind."""
    return {kind: render_html(build_report(ReportInputs(**page))) for kind, page in pages.items()}


@pytest.fixture(scope="session")
def compared() -> str:
    """The page that compares two runs which differ in everything that it shows."""
    other = page(run="runs/other", decision=decision(verdict="refuted", criteria=(criterion(verdict="refuted"),)))
    changed = tuple(ItemChange(f"item-{number}", 0.0, 1.0) for number in range(5))
    differences = Differences(9, (Difference("optimizer.learning_rate", "", "0.001", "0.0005"),))
    inputs = ComparisonInputs(
        first=ReportInputs(**page()),
        second=ReportInputs(**other),
        plan_sha256=("3f" * 32, "4f" * 32),
        planned=differences,
        executed=differences,
        items=(ArmChanges("grpo", 18, changed, 1, 2, 3),),
    )
    return render_html(build_comparison(inputs))
