"""What the section on the thresholds of masks and clips says."""

import math
from types import SimpleNamespace

import made_charts

from audits.engine.counterfactual import CURVE_THRESHOLDS, Rule, RuleShare
from reports.sections.mask_curve import build


def _section(*curves, drift=()):
    return build(SimpleNamespace(run="runs/full", mask_curves=curves, drift=drift))


def _flat(value, updates=(0, 1), arms=("dppo",), taken=1):
    return tuple(
        RuleShare(arm, Rule("binary_tv", at), update, value if update else 0.0, taken if update else 0, 100, 0, 2)
        for arm in arms for update in updates for at in CURVE_THRESHOLDS
    )  # fmt: skip


def test_the_plans_threshold_is_said_marked_and_found_in_the_table():
    section = _section(made_charts.mask_curve(), made_charts.mask_curve("ratio", (0.2,)))
    assert (
        "Mask by binary TV at the plan's delta 0.15: 0.25 % of dppo_binary_tv's, 0.25 % of grpo_clip's loss tokens "
        "masked in update 1. In update 0 not one is masked, even at 0.001." in section.takeaway
    )
    assert "Ratio clip at the plan's eps 0.2: 0.2 % of dppo_binary_tv's" in section.takeaway
    mask, clip = section.figures
    assert (mask.chart.marks, clip.chart.marks) == ((0.15,), (0.2,))
    assert {(point.series, point.variant) for point in mask.chart.points} == {
        (arm, update) for arm in made_charts.ARMS for update in ("0", "1")
    }
    (row,) = (row for row in section.tables[0].rows if row[0].startswith("0.15"))
    assert row == ("0.15 (plan)", "0.000", "0.250", "0.000", "0.250")
    assert section.tables[0].columns[2].name == "dppo_binary_tv, update 1 (of 100,000)"
    assert [command.text for command in section.commands] == ["audit sql runs/full 'SELECT\n    1'"] * 2


def test_a_first_update_that_loses_tokens_is_not_called_silent():
    section = _section(made_charts.mask_curve(shares=tuple(
        RuleShare("dppo", Rule("binary_tv", at), update, 0.1, 10, 100, 0, 2) for update in (0, 1) for at in (0.1, 0.15)
    )))  # fmt: skip
    assert "10 % of dppo's loss tokens masked in update 1." in section.takeaway
    assert "not one" not in section.takeaway


def test_without_a_plan_no_threshold_is_marked():
    section = _section(made_charts.mask_curve(planned=()))
    assert "of which no loss of a plan is known: at delta 0.001, 0.98 % of the loss tokens would be masked" in (
        section.takeaway
    )
    assert section.figures[0].chart.marks == ()
    assert "Vertical" not in section.figures[0].caption


def test_a_rule_that_takes_nothing_away_is_said_so():
    section = _section(made_charts.mask_curve(planned=(0.15,), shares=_flat(0.0, taken=0)))
    assert "0 % of dppo's loss tokens masked in update 1." in section.takeaway
    assert section.figures[0].takeaway == "Mask by binary TV: no token masked at any threshold."


def test_shares_without_a_number_are_not_drawn():
    section = _section(made_charts.mask_curve(shares=_flat(math.nan, updates=(1,))))
    assert "no arm has a number" in section.takeaway
    assert section.figures == ()
    assert section.tables[0].rows[0][1] == "no number"
    half = _section(made_charts.mask_curve(shares=(*_flat(math.nan), *_flat(0.1, arms=("grpo",)))))
    assert "no number of dppo's, 10 % of grpo's loss tokens masked in update 1." in half.takeaway
    assert all(math.isfinite(point.value) for point in half.figures[0].chart.points)


def test_many_arms_and_updates_are_cut_and_counted():
    arms = tuple(f"arm{number}" for number in range(9))
    section = _section(made_charts.mask_curve(shares=_flat(0.1, updates=range(9), arms=arms)))
    assert len(section.tables[0].columns) == 1 + 6 * 4
    assert "6 of 9 arms are shown." in section.notes
    assert "4 of 9 updates are shown, evenly chosen." in section.notes
    assert "in update 8." in section.takeaway


def test_without_curves_the_section_says_why():
    without_tokens, without_rule = _section(), _section(drift=("a row",))
    assert without_tokens.takeaway == "No share was measured over thresholds: the loss tokens were not logged."
    assert not without_tokens.commands
    assert "no loss of the plan masks" in without_rule.takeaway
    assert without_rule.commands
