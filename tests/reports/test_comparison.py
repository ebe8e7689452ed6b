"""The page that compares two runs says what is true of both, and first whether they answer the same question."""

import json
import math

import pytest

from audits.engine.comparison import ArmChanges, Difference, Differences, ItemChange
from reports.emitters.emit import comparison_text
from reports.emitters.html import render_html
from reports.emitters.markdown import LIMIT
from reports.model import build_comparison
from reports.parts import ComparisonInputs, ReportInputs

SAME = Differences(40, ())


@pytest.fixture
def compare(make):
    def made(first=None, second=None, **changes):
        values = {
            "first": ReportInputs(**(first or make.page())),
            "second": ReportInputs(**(second or make.page(run="runs/other"))),
            "plan_sha256": ("3f" * 32, "3f" * 32),
            "planned": SAME,
            "executed": SAME,
            "items": (ArmChanges("grpo", 18, (), 0, 0, 0),),
        }
        return ComparisonInputs(**(values | changes))

    return made


def section(inputs, name):
    return next(item for item in build_comparison(inputs).sections if item.id == name)


@pytest.mark.parametrize(
    ("plans", "said"),
    [
        (("a", "a"), "Both runs carry the same sealed plan."),
        (("a", "b"), "The two runs have different plans (2 settings differ)"),
        ((None, None), "Neither run carries a sealed plan."),
        (("a", None), "Only run A carries a sealed plan"),
        ((None, "b"), "Only run B carries a sealed plan"),
    ],
)
def test_whether_the_plans_agree_is_said_first(compare, plans, said):
    differences = Differences(9, (Difference("a.b", "", "1", "2"), Difference("c", "", None, "x")))
    inputs = compare(plan_sha256=plans, planned=differences)
    assert build_comparison(inputs).sections[0].takeaway.startswith(said)


def test_verdicts_and_intervals_stand_side_by_side_in_one_chart(compare, make):
    other = make.page(run="runs/other", decision=make.decision(
        verdict="refuted", registered=False,
        criteria=(make.criterion(verdict="refuted", estimate=-0.05, lower=-0.08, upper=-0.02),)))  # fmt: skip
    verdicts = section(compare(second=other), "verdicts")
    assert verdicts.takeaway.endswith("A: validated. B: refuted, not registered.")
    (figure,) = verdicts.figures
    assert [(row.label[0], row.state, row.lower) for row in figure.chart.rows] == [
        ("A", "validated", pytest.approx(1.1)), ("B", "refuted", pytest.approx(-8.0))]  # fmt: skip
    facts = {row[0]: row[1:] for row in verdicts.tables[0].rows}
    assert facts["Verdict"] == ("✓ validated", "✕ refuted")
    assert facts["Run"] == ("runs/full", "runs/other")


def test_intervals_read_against_other_lines_are_drawn_apart(compare, make):
    other = make.page(decision=make.decision(criteria=(make.criterion(margin=0.02),)))
    assert len(section(compare(second=other), "verdicts").figures) == 2


def test_no_difference_between_two_verdicts_is_claimed(compare):
    assert any("no test of that difference" in note for note in section(compare(), "verdicts").notes)


def test_an_interval_without_numbers_is_told_and_not_drawn(compare, make):
    other = make.page(decision=make.decision(criteria=(make.criterion(estimate=math.nan, lower=-math.inf),)))
    verdicts = section(compare(second=other), "verdicts")
    assert [row.label[0] for figure in verdicts.figures for row in figure.chart.rows] == ["A"]
    assert verdicts.tables[1].rows[1][3] == "no number"


def test_checks_that_came_out_otherwise_come_first(compare, make):
    other = make.page(gate=make.gate(
        make.check(),
        make.check(id="late", status="fail"),
        make.check(id="policy_drift_abs_p_q90", status="fail"),
    ))  # fmt: skip
    checks = section(compare(second=other), "checks")
    rows = checks.tables[0].rows
    assert rows[0][:5] == ("policy_drift_abs_p_q90", "gate", "treatment", "✓ pass", "✕ fail")
    assert ("late", "gate", "treatment", "not there", "✕ fail") in [row[:5] for row in rows[:3]]
    assert "checks came out otherwise: policy_drift_abs_p_q90, executed_updates_per_batch, late." in checks.takeaway


def test_the_same_checks_are_said_to_be_alike(compare):
    assert "checks came out alike in both runs." in section(compare(), "checks").takeaway


def test_items_whose_score_changed_are_counted_and_listed(compare):
    changes = ArmChanges("grpo", 17, (ItemChange("i1", 0.0, 1.0), ItemChange("i2", 1.0, 0.0), ItemChange("i3", 0, 1)),
                         1, 2, 0)  # fmt: skip
    items = section(compare(items=(changes,)), "items")
    assert items.takeaway == "grpo: 3 of 20 items have another score in B, 2 a higher and 1 a lower one."
    assert items.tables[0].rows == (("grpo", "17", "2", "1", "1", "2", "0"),)
    assert items.tables[1].rows[0] == ("i1", "grpo", "0", "1")


def test_items_beyond_the_cap_are_counted(compare):
    many = tuple(ItemChange(f"i{number:04d}", 0.0, 1.0) for number in range(1319))
    items = section(compare(items=(ArmChanges("grpo", 0, many, 0, 0, 0),)), "items")
    assert len(items.tables[1].rows) == 200
    assert "(200 of 1,319)" in items.tables[1].caption


def test_settings_and_records_that_differ_are_shown_with_both_values(compare, make):
    executed = Differences(30, (Difference("rollout.temperature", "grpo, seed 0", "1", None),))
    settings = section(compare(executed=executed), "settings")
    assert settings.takeaway == "All 40 settings were planned alike. 1 of 30 settings were executed otherwise."
    assert settings.tables[0].rows == (("rollout.temperature", "grpo, seed 0", "1", "not named"),)
    other = make.page(provenance={"python": "3.12.1", "command": "audit run plans/demo.json --out runs/full"})
    provenance = section(compare(second=other), "provenance")
    assert ("python", "3.11.7", "3.12.1") in provenance.tables[0].rows
    assert "command" not in [row[0] for row in provenance.tables[0].rows]


def test_nothing_known_of_either_run_is_said(compare, pages):
    empty = Differences(0, ())
    inputs = compare(pages["empty"], pages["empty"], planned=empty, executed=empty, items=(), plan_sha256=(None, None))
    said = {item.id: item.takeaway for item in build_comparison(inputs).sections}
    assert said["verdicts"] == "Neither run carries a sealed plan. A: no decision. B: no decision."
    assert "nothing here shows that either treatment was active" in said["checks"]
    assert "no item can be compared" in said["items"]
    assert said["settings"] == "No planned setting is known of either run. No executed setting is known of either run."
    assert "Nothing is recorded" in said["provenance"]


def test_hostile_runs_make_a_harmless_page_in_every_format(compare, pages):
    hostile = pages["hostile"]["run"]
    difference = Differences(1, (Difference(hostile, hostile, hostile, hostile),))
    items = (ArmChanges(hostile, 0, (ItemChange(hostile, 0.0, 1.0),), 0, 0, 0),)
    inputs = compare(pages["hostile"], pages["hostile"], planned=difference, executed=difference, items=items)
    page = render_html(build_comparison(inputs))
    assert page == render_html(build_comparison(inputs))
    body = page.split("<main")[1].split("</main>")[0]
    assert "<script" not in body
    assert "<img" not in body
    assert len(page.encode()) < 1_500_000
    text = comparison_text(inputs, "md")
    assert "<img" not in text.split("<details>")[0]
    assert len(text) < LIMIT
    found = json.loads(comparison_text(inputs, "json"))
    assert found["runs"]["A"]["decision"]["run"] == hostile


def test_the_markdown_names_both_runs_first_and_holds_the_intervals(compare):
    lines = comparison_text(compare(), "md").splitlines()
    assert lines[0].startswith("## Comparison of two runs: A: Divergence masks")
    assert sum(line.startswith("| accuracy | ") for line in lines) == 2


def test_a_run_that_planned_nothing_is_no_other_plan(compare):
    planned = Differences(2, (Difference("a", "", "1", None), Difference("b", "", "2", None)))
    settings = section(compare(planned=planned), "settings")
    assert settings.takeaway.startswith("Run B names no planned setting, so the 2 of the other are not compared.")
    assert not settings.tables
    one_more = Differences(3, planned.found)
    assert "2 of 3 settings were planned otherwise." in section(compare(planned=one_more), "settings").takeaway


def test_equal_titles_are_told_apart_by_the_runs(compare, make):
    title = "Divergence masks against ratio clips on two-digit addition"
    assert build_comparison(compare()).title == f"A: {title} (runs/full) and B: {title} (runs/other)"
    assert build_comparison(compare(second=make.page(title="Other"))).title == f"A: {title} and B: Other"


def test_marks_are_filled_of_registered_decisions_alone(compare, make):
    other = make.page(run="runs/other", decision=make.decision(registered=False))
    (figure,) = section(compare(second=other), "verdicts").figures
    assert figure.caption.endswith("Filled mark: a registered decision. Open mark: not registered.")
    (figure,) = section(compare(other, other), "verdicts").figures
    assert "Filled" not in figure.caption


def test_no_decision_is_offered_that_would_be_refused(compare, make):
    undecided = make.page(decision=None, undecided="no treatment")
    inputs = compare(second=undecided)
    assert len(section(inputs, "verdicts").commands) == 1
    assert [item.text for item in section(inputs, "checks").commands] == [
        "audit check runs/full", "audit integrity runs/full"]  # fmt: skip
