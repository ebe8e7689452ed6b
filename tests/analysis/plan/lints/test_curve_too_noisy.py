import pytest

from analysis.plan.lints.curve_too_noisy import widest_half_width

LINT = "curve_too_noisy"


def test_finds_a_curve_on_twenty_items_and_says_its_half_width(demo, found):
    (finding,) = found(demo, LINT, {"evaluation.curve": {"every_steps": 5, "items": 20}})
    assert finding.path == "evaluation.curve.items"
    assert "on 20 items" in finding.message
    assert "0.228" in finding.message
    assert "at least 104 items" in finding.mend


def test_finds_a_curve_on_a_small_validation_split(demo, found):
    changes = {"evaluation.curve": {"every_steps": 5}, "task.validation_items": 50}
    (finding,) = found(demo, LINT, changes)
    assert finding.path == "task.validation_items"


@pytest.mark.parametrize("curve", [None, {"every_steps": 5}, {"every_steps": 5, "items": 104}])
def test_silent_without_a_curve_and_with_items_enough(demo, found, curve):
    assert found(demo, LINT, {"evaluation.curve": curve}) == []


def test_the_half_width_of_one_half_is_the_exact_intervals():
    # 10 of 20: the exact 95 % interval is [0.272, 0.728].
    assert widest_half_width(20) == pytest.approx(0.228, abs=5e-4)
