"""The cost section: the budget beside what was predicted and used, and where time and tokens went."""

import made_sections
import pytest

from reports.parts import ReportInputs
from reports.sections.cost import build


def section(make, **changes):
    return build(ReportInputs(**make.page(cost=made_sections.cost(**changes))))


def test_the_sentence_sets_the_use_beside_the_budget(make):
    assert section(make).takeaway == (
        "This run was at work for 30.0 minutes, with its pilot 40.0 of the 120 budgeted (33.3 %, within the budget). "
        "Counted: 240,000 tokens sampled in training, 480,000 loss tokens trained on, "
        "90,000 tokens of answers in evaluations."
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"wall_seconds": 7000.0}, "126.7 of the 120 budgeted (105.6 %, over the budget)."),
        ({"pilot_wall_seconds": None}, "for 30.0 minutes of the 120 budgeted (25.0 %, within the budget)."),
        ({"budget": None}, "This run was at work for 30.0 minutes; the plan has no budget."),
        ({"wall_seconds": None}, "The wall time of this run was not recorded; the plan allows 120 minutes."),
        ({"phases": ()}, "No token was counted."),
    ],
)
def test_the_sentence_is_true_of_what_is_known(make, changes, said):
    assert said in section(make, **changes).takeaway


def test_tokens_that_nobody_counted_are_not_none(make):
    phases = tuple(row for row in made_sections.cost().phases if row.phase != "eval")
    said = section(make, phases=phases).takeaway
    assert said.endswith("480,000 loss tokens trained on. Not counted: tokens of answers in evaluations.")


def test_budget_prediction_and_use_stand_in_one_table(make):
    budget, _ = section(make).tables
    assert budget.rows == (
        ("Wall time (minutes)", "120", "30.0", "10.0", "28.5", "interval 28.5 [25, 33], Cox"),
        ("GPU-hours (on 1 GPU)", "2", "0.500", "0.167", "none", "no feasibility preflight predicted it"),
    )


def test_what_was_not_recorded_is_not_zero(make):
    budget, phases = section(make, gpus=None, pilot_wall_seconds=None).tables
    assert budget.rows[1][:4] == ("GPU-hours (GPUs not recorded)", "2", "not recorded", "not recorded")
    assert budget.rows[0][3] == "not recorded"
    assert [row[4:] for row in phases.rows] == [
        ("0.50", "none", "none"),
        ("120.00", "240,000", "2,000"),
        ("not recorded", "480,000", "no number"),
        ("60.00", "90,000", "1,500"),
    ]


def test_a_run_of_which_nothing_is_known_says_so(make):
    built = section(make, phases=(), wall_seconds=None, budget=None, predicted=(), logged=())
    assert built.takeaway.endswith("nothing is known of the cost.")
    assert not built.tables


def test_a_table_that_was_never_logged_is_in_no_command(make):
    assert "phase_costs" in section(make).commands[0].text
    (only,) = section(make, logged=("evals",)).commands
    assert "FROM evals" in only.text
    assert "phase_costs" not in only.text
