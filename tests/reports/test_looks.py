"""Looks and deviations: who looked, what was waived, and whether what ran was what was planned."""

import made_sections
import pytest

from reports.parts import ReportInputs
from reports.sections.looks import build


def section(make, **changes):
    return build(ReportInputs(**make.page(**changes)))


@pytest.mark.parametrize(
    ("looks", "said"),
    [
        ([], "No look at the outcomes is recorded."),
        ([{"method": "x"}], "One look at the outcomes is recorded."),
        ([{"method": "x"}] * 1200, "1,200 looks at the outcomes are recorded."),
    ],
)
def test_looks_are_counted(make, looks, said):
    assert section(make, looks=looks).takeaway.startswith(said)


def test_the_last_looks_are_listed_by_their_number_and_in_one_order_of_columns(make):
    looks = [
        {"verdict": "tie", "registered": "True", "looked_at": f"t{number}", "mood": "calm"} for number in range(102)
    ]
    table = section(make, looks=looks).tables[0]
    assert table.caption == "Looks at the outcomes, oldest first (the last 100 of 102)"
    assert [column.name for column in table.columns] == [
        "Look", "Looked at (UTC)", "Verdict", "Registered", "mood", "Question", "Interval",
    ]  # fmt: skip
    assert table.rows[0] == ("3", "t2", "tie", "yes", "calm", "not recorded", "not recorded")
    assert table.rows[-1][:2] == ("102", "t101")


CRITERION = {
    "id": "primary", "weights": {"treat": 1.0, "base": -1.0}, "margin": 0.1, "floor": -0.1, "band": None,
    "bounds": [-1.0, 1.0], "estimate": 0.0432, "lower": -0.0316, "upper": 0.118,
}  # fmt: skip


@pytest.mark.parametrize(
    ("look", "asked", "shown"),
    [
        (
            {"unit": "fixed_checkpoint_items", "criteria": [CRITERION]},
            "treat +1, base −1; margin +10.00 pp, floor −10.00 pp, band none",
            "+4.32 [−3.16, +11.80] pp",
        ),
        (
            {"unit": "training_seeds", "criteria": [CRITERION | {"band": 0.02, "bounds": [0, 9], "estimate": None,
                                                                 "lower": None, "upper": None}]},
            "treat +1, base −1 over training seeds; margin +0.10 score units, floor −0.10 score units, "
            "band +0.02 score units",
            "no interval",
        ),
        ({"verdict": "tie"}, "not recorded", "not recorded"),
        ({"criteria": "x"}, "not recorded", "not recorded"),
        ({"criteria": [3]}, "not recorded", "not recorded"),
        ({"criteria": [{"weights": []}]}, "not recorded", "not recorded"),
        (
            {"unit": 3, "criteria": [{"weights": {"a": "x"}, "margin": True, "floor": 10**400, "band": [], "bounds": {},
                                      "estimate": "x", "lower": 1.0, "upper": None}]},
            "a not recorded, unit 3; margin not recorded, floor not recorded, band not recorded",
            "not recorded [+1.00, not recorded] score units",
        ),
    ],
)  # fmt: skip
def test_a_look_says_what_was_asked_and_what_was_shown(make, look, asked, shown):
    table = section(make, looks=[look]).tables[0]
    assert [column.name for column in table.columns][-2:] == ["Question", "Interval"]
    assert table.rows[0][-2:] == (asked, shown)


def test_each_of_several_criteria_is_named(make):
    table = section(make, looks=[{"unit": "x", "criteria": [CRITERION, CRITERION | {"id": "length"}]}]).tables[0]
    assert table.rows[0][-1] == "primary: +4.32 [−3.16, +11.80] pp; length: +4.32 [−3.16, +11.80] pp"


def test_a_waiver_stands_with_owner_reason_and_end(make):
    table = section(make).tables[1]
    assert table.rows[0] == (
        "waiver", "pilot", "restoration, inconclusive, is accepted", "the service hides it", "A. Reviewer",
        "2026-02-01", "policy.json",
    )  # fmt: skip
    assert table.rows[1][3:6] == ("none stated", "none stated", "no end")
    assert "Deviations recorded: waiver (1), interruption (1)." in section(make).takeaway


def test_a_run_without_deviations_says_so(make):
    built = section(make, deviations=(), settings=())
    assert "No waiver, interruption, service fault or superseded plan is recorded." in built.takeaway
    assert [table.caption for table in built.tables] == ["Looks at the outcomes, oldest first"]


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("pass", "Every planned setting that was logged is the one that was executed."),
        ("fail", "Planned against executed settings: fail."),
        ("inconclusive", "Planned against executed settings: inconclusive."),
        ("not_applicable", "There are no planned settings to compare with what was executed."),
    ],
)
def test_planned_and_executed_settings_are_compared_where_the_audit_did(make, status, said):
    found = make.check(
        id="executed_settings", status=status, value=2.0, rows_examined=94, reason="2 differ", notes=("51 planned",)
    )
    built = section(make, integrity=make.gate(found), settings=())
    assert said in built.takeaway
    table = built.tables[-1]
    assert ("Differences", "2") in table.rows
    assert ("Settings examined", "94") in table.rows
    assert ("Reason", "2 differ") in table.rows
    assert ("Note", "51 planned") in table.rows


@pytest.mark.parametrize("integrity", [None, "other audits"])
def test_settings_that_nobody_compared_are_not_called_equal(make, integrity):
    built = section(make, integrity=None if integrity is None else make.gate(make.check()))
    assert "Planned and executed settings were not compared." in built.takeaway


def test_more_deviations_than_fit_are_counted(make):
    many = tuple(made_sections.deviation(what=f"number {number}") for number in range(140))
    table = section(make, deviations=many).tables[1]
    assert len(table.rows) == 100
    assert "(100 of 140)" in table.caption


def test_each_setting_that_ran_otherwise_stands_beside_the_planned_one(make):
    table = section(make).tables[-1]
    assert table.caption == "Settings that ran otherwise than planned, or that nobody logged"
    assert table.rows == (
        ("rollout.group_size", "dppo", "0", "8", "4", "rollouts"),
        ("evaluation.grader", "all", "all", "boxed_number", "not logged", "nothing states it"),
    )


def test_more_settings_than_fit_are_counted(make):
    many = tuple(made_sections.SettingDifference(f"a.{n}", None, None, "1", "2", "updates") for n in range(90))
    table = section(make, settings=many).tables[-1]
    assert len(table.rows) == 60
    assert table.caption.endswith("(60 of 90)")
    assert table.folded
