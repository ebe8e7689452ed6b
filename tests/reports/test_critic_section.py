"""What the section on critics says and draws."""

from dataclasses import replace
from types import SimpleNamespace

import made_charts
import pytest

from analysis.plan.advantages import Advantage
from audits.engine.critic import CriticReport, Measured
from reports.charts import spec
from reports.critic_words import reaches
from reports.parts import Spread, Stack
from reports.sections.critic import SHOWN_ARMS, SHOWN_ROWS, build


def _section(report):
    return build(SimpleNamespace(run="runs/full", critic=report))


def test_a_run_without_a_critic_has_one_sentence():
    for report in (None, CriticReport("r", (), "table state_values was never logged")):
        section = _section(report)
        assert section.takeaway == "No arm has a critic, and no advantage was held against fresh rollouts."
        assert (*section.figures, *section.tables, *section.commands) == ()


def test_critics_that_were_not_measured_are_said_to_be_so():
    assert _section(made_charts.critic(missing="no such table")).takeaway == "Nothing was measured: no such table."


def test_each_bar_is_the_three_parts_of_the_mean_squared_error():
    report = made_charts.critic()
    stack = next(figure.chart for figure in _section(report).figures if isinstance(figure.chart, Stack))
    assert [point.part for point in stack.points[:3]] == ["offset²", "scale", "residual"]
    for arm in report.arms:
        parts = [point.value for point in stack.points if point.row == arm.arm]
        assert sum(parts) == pytest.approx(arm.measured.advantages.mean_squared)


def test_the_crossover_is_drawn_with_measured_sizes_and_says_which_part_of_the_error_it_shows():
    section = _section(made_charts.critic())
    figure = section.figures[-1]
    assert isinstance(figure.chart, Spread)
    assert [point.label for point in figure.chart.points] == ["1 parameter", "10 parameters"]
    assert "root of the residual of the MSE" in figure.caption
    assert "root of the residual of the MSE" in section.takeaway
    assert [point.at for point in figure.chart.points] == sorted(point.at for point in figure.chart.points)


def test_the_crossover_of_two_seeds_is_refused_on_the_page():
    section = _section(made_charts.critic(seeds=2))
    assert "No crossover is drawn: seeds a critic: ppo_0 2, ppo_1 2" in section.takeaway
    assert not any(isinstance(figure.chart, Spread) for figure in section.figures)


def test_the_crossover_of_unfinished_cells_names_them_on_the_page():
    report = made_charts.critic()
    first, second, *rest = report.arms
    unfinished = replace(second, seeds=(replace(second.seeds[0], accuracy=None), *second.seeds[1:]))
    section = _section(replace(report, arms=(first, unfinished, *rest)))
    assert "finished 5 of 6: missing ppo_0 seed 0." in section.takeaway


def test_every_arm_is_said_to_keep_what_its_normalisation_leaves():
    notes = _section(made_charts.critic()).notes
    assert "ppo_0: its normalisation (z_score) removes offset and scale: the residual reaches the update." in notes
    assert any(note.startswith("grpo_clip: rewards minus their group's mean") for note in notes)


def test_a_discount_below_1_is_not_said_to_follow_the_formula_of_gamma_1():
    arm = made_charts.critic_arm("ppo", 1, 0.1)
    settings = {**arm.settings.model_dump(), "discount": 0.9, "decay": 0.9}
    said = reaches(replace(arm, settings=Advantage(**settings)))
    assert "Gamma is 0.9 and lambda 0.9" in said
    assert "c·" not in said


def test_an_arm_without_a_plan_is_not_given_a_normalisation():
    said = reaches(replace(made_charts.critic_arm("ppo", None, 0.1), planned=False))
    assert said == "ppo: no plan says how its advantages are normalised, so all of the error is counted."


def test_a_large_study_is_cut_and_counted():
    section = _section(made_charts.critic(arms=12, seeds=9))
    assert f"{SHOWN_ARMS} of 12 arms are shown." in section.notes
    assert f"{SHOWN_ROWS} of {SHOWN_ARMS * 9} training seeds are shown." in section.notes
    assert all(len(table.rows) <= max(SHOWN_ROWS, 20 * SHOWN_ARMS) for table in section.tables)


def test_an_arm_without_figures_stands_in_no_chart():
    broken = made_charts.critic_arm(
        "broken", 5, 0.1, measured=Measured(None, None, None, 0, "too few"), advantage_bins=(), value_bins=()
    )
    report = made_charts.critic()
    section = _section(replace(report, arms=(*report.arms, broken)))
    for figure in section.figures:
        assert "broken" not in str(spec(figure.chart))
