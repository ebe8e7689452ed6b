import itertools

import numpy as np
import pytest

from analysis.errors import AuditError
from analysis.paired.interval import Interval, Method
from analysis.paired.methods import DecisionMethod, load_method
from analysis.paired.rule import Contrast, decide, overall
from analysis.paired.sample import PairedCounts, PairedSample, sample_from_counts
from analysis.paired.verdict import VERDICTS

METHOD = Method("a stub", "asymptotic", "none", "in tests", "bounded", "none")
SAMPLE = PairedSample(np.array([0.0, 1.0]), (-1.0, 1.0))


def _fixed(*intervals):
    """A method that returns these intervals in turn and remembers the levels it was asked for."""
    queue, levels = list(intervals), []

    def interval(sample, *, alpha, margin=0.0, seed=None):
        levels.append(alpha)
        return queue.pop(0)

    return DecisionMethod("stub", METHOD, interval), levels


def _contrasts(count, **limits):
    return [Contrast(f"criterion_{index}", SAMPLE, **limits) for index in range(count)]


def test_all_judges_each_criterion_at_alpha():
    method, levels = _fixed(Interval(0.2, 0.1, 0.3, None), Interval(0.2, 0.0, 0.3, None))
    result = decide(_contrasts(2), method=method, alpha=0.05)
    assert levels == [0.05, 0.05]
    assert [item.verdict for item in result.criteria] == ["validated", "inconclusive"]
    assert result.verdict == "inconclusive"


def test_holm_shares_alpha_and_needs_both_conditions():
    method, levels = _fixed(
        Interval(0.2, 0.1, 0.3, 0.01), Interval(0.2, 0.1, 0.3, 0.06), Interval(0.2, -0.01, 0.3, 0.001)
    )
    result = decide(_contrasts(3), method=method, alpha=0.06, combine="holm")
    assert levels == pytest.approx([0.02, 0.02, 0.02])
    assert {item.interval_alpha for item in result.criteria} == {0.02}
    assert [item.verdict for item in result.criteria] == ["validated", "validated", "inconclusive"]
    method, _ = _fixed(Interval(0.2, 0.1, 0.3, 0.01), Interval(0.2, 0.1, 0.3, 0.0601))
    result = decide(_contrasts(2), method=method, alpha=0.06, combine="holm")
    assert [item.verdict for item in result.criteria] == ["validated", "inconclusive"]
    assert result.reasons == ("criterion_1: the lower limit is above the margin, but Holm's test does not reject",)


def test_an_untrusted_interval_decides_nothing_and_opens_no_step():
    distrusted = Interval(0.2, 0.1, 0.3, 1e-9, trusted=False, reason="too few items differ")
    method, _ = _fixed(distrusted, Interval(0.2, 0.1, 0.3, 0.04))
    result = decide(_contrasts(2), method=method, alpha=0.05, combine="holm")
    assert [item.verdict for item in result.criteria] == ["inconclusive", "inconclusive"]
    assert result.reasons[0] == "criterion_0: too few items differ"
    method, _ = _fixed(Interval(-0.2, -0.3, -0.1, 1.0, trusted=False))
    assert decide(_contrasts(1), method=method, alpha=0.05).verdict == "inconclusive"


def test_overall_verdict_over_all_triples():
    for verdicts in itertools.product(VERDICTS, repeat=3):
        word = overall(verdicts)
        if set(verdicts) == {"validated"}:
            assert word == "validated"
        elif "refuted" in verdicts:
            assert word == "refuted"
        elif set(verdicts) == {"tie"}:
            assert word == "tie"
        else:
            assert word == "inconclusive"
    with pytest.raises(ValueError, match="no verdict"):
        overall([])


def test_limits_of_each_criterion_are_its_own():
    method, _ = _fixed(Interval(0.0, -0.01, 0.01, None), Interval(-0.2, -0.3, -0.1, None))
    contrasts = [Contrast("tie", SAMPLE, band=0.02), Contrast("above_floor", SAMPLE, margin=0.0, floor=-0.15)]
    result = decide(contrasts, method=method, alpha=0.05)
    assert [item.verdict for item in result.criteria] == ["tie", "inconclusive"]


@pytest.mark.parametrize(
    ("contrasts", "alpha", "message"),
    [
        ([], 0.05, "no criterion"),
        ([Contrast("x", SAMPLE), Contrast("x", SAMPLE)], 0.05, "share an id"),
        (_contrasts(1), 0.0, "between 0 and 1"),
        (_contrasts(1), 1.0, "between 0 and 1"),
        (_contrasts(1), float("nan"), "between 0 and 1"),
    ],
)
def test_a_rule_that_cannot_be_applied_is_refused(contrasts, alpha, message):
    method, _ = _fixed(Interval(0.2, 0.1, 0.3, None))
    with pytest.raises(AuditError, match=message):
        decide(contrasts, method=method, alpha=alpha)


def test_holm_without_p_values_is_refused():
    method, _ = _fixed(Interval(0.2, 0.1, 0.3, None))
    with pytest.raises(AuditError, match="has no p-value"):
        decide(_contrasts(1), method=method, alpha=0.05, combine="holm")


def test_default_rule_on_the_gsm8k_outcomes():
    method = load_method("paired_hoeffding")
    small = sample_from_counts(PairedCounts(306, 209, 152, 652))
    large = sample_from_counts(PairedCounts(222, 293, 64, 740))
    assert decide([Contrast("small", small)], method=method, alpha=0.05).verdict == "inconclusive"
    assert decide([Contrast("large", large)], method=method, alpha=0.05).verdict == "validated"
    assert decide([Contrast("large", large, margin=0.1)], method=method, alpha=0.05).verdict == "inconclusive"
