"""Several criteria in a sealed plan: all of them, or Holm's procedure on the p-values at their margins."""

import io
import json

import numpy as np
import pytest
from made_run import evals, made_plan, right, write_experiment, write_outcomes

from analysis.errors import AuditError
from analysis.paired.methods import load_method
from analysis.paired.sample import PairedCounts, sample_from_counts
from audits.engine.decide import decide
from audits.engine.outcomes import ItemScores, contrast_sample
from audits.store.reader import open_run
from reports.emitters.emit import emit_decision

METHOD = "paired_exact_unconditional"


def plan_with(limits, combine, **changes):
    plan = made_plan(decision_rule__combine=combine, decision_rule__method=METHOD, **changes)
    (first,) = plan["decision_rule"]["criteria"]
    plan["decision_rule"]["criteria"] = [first | {"id": name} | limit for name, limit in limits.items()]
    return plan


def run_with(tmp_path, combine, gains, limits=None, **changes):
    limits = limits or {"better": {"margin": 0.0}, "clearly": {"margin": 0.02}}
    plan = plan_with(limits, combine, **changes)
    return write_experiment(tmp_path, plan, scores={"grpo": right(0), "dppo": right(gains)})


def decided(path, **options):
    return decide(open_run(path), **options)


def exact(gains, alpha, margin=0.0):
    sample = sample_from_counts(PairedCounts(0, gains, 0, 20 - gains))
    return load_method(METHOD).interval(sample, alpha=alpha, margin=margin)


def test_all_uses_alpha_for_each_criterion(tmp_path):
    report = decided(run_with(tmp_path, "all", 10))
    for criterion, margin in zip(report.criteria, (0.0, 0.02), strict=True):
        expected = exact(10, 0.05, margin)
        assert (criterion.lower, criterion.upper) == (expected.lower, expected.upper)
        assert criterion.p_value == expected.p_value
        assert criterion.margin == margin
    assert report.verdict == "validated"


def test_holm_shows_bonferroni_s_intervals_and_p_values_at_the_margins(tmp_path):
    report = decided(run_with(tmp_path, "holm", 10))
    for criterion, margin in zip(report.criteria, (0.0, 0.02), strict=True):
        expected = exact(10, 0.025, margin)
        assert (criterion.lower, criterion.upper) == (expected.lower, expected.upper)
        assert criterion.p_value == pytest.approx(expected.p_value)
    assert report.criteria[0].p_value < report.criteria[1].p_value
    assert report.verdict == "validated"


def test_what_alpha_allows_its_share_need_not(tmp_path):
    """Six gains of twenty: above 0 at 5 %, not at 2.5 %."""
    gains = next(n for n in range(1, 20) if exact(n, 0.05).lower > 0.0)
    assert exact(gains, 0.025).lower <= 0.0
    limits = {"better": {"margin": 0.0}, "again": {"margin": 0.0}}
    assert decided(run_with(tmp_path / "all", "all", gains, limits)).verdict == "validated"
    shared = decided(run_with(tmp_path / "holm", "holm", gains, limits))
    assert shared.verdict == "inconclusive"
    assert [criterion.verdict for criterion in shared.criteria] == ["inconclusive"] * 2


@pytest.mark.parametrize("combine", ["all", "holm"])
def test_one_criterion_that_holds_is_not_the_whole_claim(tmp_path, combine):
    limits = {"better": {"margin": 0.0}, "by far": {"margin": 0.6}}
    report = decided(run_with(tmp_path, combine, 13, limits))
    assert [criterion.verdict for criterion in report.criteria] == ["validated", "inconclusive"]
    assert (report.verdict, report.exit_code) == ("inconclusive", 4)


@pytest.mark.parametrize("combine", ["all", "holm"])
def test_one_refuted_criterion_refutes_the_claim(tmp_path, combine):
    limits = {"better": {"margin": 0.0}, "too much": {"margin": 0.99, "floor": 0.95}}
    report = decided(run_with(tmp_path, combine, 12, limits))
    assert [criterion.verdict for criterion in report.criteria] == ["validated", "refuted"]
    assert (report.verdict, report.exit_code) == ("refuted", 1)


def test_ties_on_all_criteria_are_a_tie(tmp_path):
    limits = {"narrow": {"band": 0.5}, "wide": {"band": 0.9}}
    report = decided(run_with(tmp_path, "all", 0, limits))
    assert (report.verdict, [criterion.band for criterion in report.criteria]) == ("tie", [0.5, 0.9])


def test_holm_needs_p_values_that_can_be_trusted(tmp_path):
    plan = plan_with({"a": {}, "b": {}}, "holm") | {}
    plan["decision_rule"]["method"] = "paired_bootstrap"
    report = decided(write_experiment(tmp_path, plan, scores={"grpo": right(10), "dppo": right(19)}))
    assert report.verdict == "inconclusive"
    assert [reason.split(":")[0] for reason in report.reasons] == ["a", "b"]


def test_criteria_may_weigh_different_arms(tmp_path):
    """The treatment against the baseline, and against a third arm, each with its own contrast in words."""
    plan = plan_with({"baseline": {}, "ablation": {"weights": {"treatment": 1.0, "other": -1.0}}}, "holm")
    third = plan["arms"][0] | {"role": "other", "condition": "ablation", "name": "ablation_seed0"}
    plan["arms"].append(third)
    scores = {"grpo": right(0), "dppo": right(12), "ablation": right(11)}
    report = decided(write_experiment(tmp_path, plan, scores=scores))
    assert [criterion.contrast for criterion in report.criteria] == [
        "dppo_seed0 minus grpo_seed0",
        "dppo_seed0 minus ablation_seed0",
    ]
    assert [criterion.estimate for criterion in report.criteria] == pytest.approx([0.6, 0.05])
    assert [criterion.verdict for criterion in report.criteria] == ["validated", "inconclusive"]
    second = report.criteria[1].counts
    assert (second.both, second.only_treatment, second.only_baseline, second.neither) == (11, 1, 0, 8)


@pytest.mark.parametrize(
    ("plus", "minus", "has_table"),
    [
        ("treatment", "baseline", True),
        ("treatment", "other", True),
        ("other", "baseline", True),
        ("baseline", "treatment", False),
        ("baseline", "other", False),
        ("other", "treatment", False),
    ],
)
def test_no_contrast_has_a_table_that_would_name_the_arms_wrongly(plus, minus, has_table):
    scores = {"treatment": np.array([[1.0, 1.0]]), "baseline": np.array([[0.0, 1.0]]), "other": np.array([[0.0, 0.0]])}
    items = ItemScores(("a", "b"), scores, dict.fromkeys(scores, (0,)), {role: role for role in scores})
    sample = contrast_sample(items, {plus: 1.0, minus: -1.0}, (0.0, 1.0))
    assert (sample.counts is not None) == has_table
    assert sample.differences.tolist() == (scores[plus] - scores[minus])[0].tolist()


def test_a_broken_pairing_gives_no_criterion_a_number(tmp_path):
    arms = {"treatment": [evals(right(5, 19))], "baseline": [evals(right(2, 20))]}
    with pytest.raises(AuditError, match="pairing is broken"):
        decided(write_outcomes(tmp_path / "run", arms))


@pytest.mark.parametrize("combine", ["all", "holm"])
def test_the_json_has_one_entry_a_criterion_in_the_plan_s_order(tmp_path, combine):
    stream = io.StringIO()
    emit_decision(decided(run_with(tmp_path, combine, 10), method="paired_hoeffding"), "json", stream)
    printed = json.loads(stream.getvalue())
    assert [entry["id"] for entry in printed["criteria"]] == ["better", "clearly"]
    for entry in printed["criteria"]:
        assert {"id", "estimate", "lower", "upper", "margin", "band", "p_value", "counts"} <= set(entry)
        assert entry["counts"] == {"both": 0, "only_treatment": 10, "only_baseline": 0, "neither": 10}
        assert entry["band"] is None
        assert entry["null_reasons"]["band"]
    assert [entry["id"] for entry in printed["exploratory"][0]["criteria"]] == ["better", "clearly"]
    assert printed["verdict"] == "validated"
    assert printed["n_seeds"] is None
