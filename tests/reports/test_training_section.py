"""What the section on training says."""

import dataclasses
import math
from types import SimpleNamespace

import made_charts

from audits.engine.training import TrainingStep
from reports.sections.training import build


def _section(rows):
    return build(SimpleNamespace(run="runs/full", training=rows))


def _row(step, reward=0.5, arm="dppo", seed=0, **changes):
    row = TrainingStep(arm, seed, step, reward, 100.0, 0.0, 0.25, 0.5, 64, 6400)
    return dataclasses.replace(row, **changes)


def test_each_arm_is_said_from_its_first_to_its_last_step_and_drawn_in_five_small_charts():
    section = _section([_row(0, 0.25), _row(1, 0.9), _row(2, 0.5), _row(0, 0.25, "grpo"), _row(2, 0.75, "grpo")])
    assert "3 steps of training were logged." in section.takeaway
    assert "Mean reward of dppo: 0.25 at step 0, 0.5 at step 2." in section.takeaway
    assert section.figures[0].takeaway == "Mean reward, step 0 to 2: dppo 0.25 to 0.5, grpo 0.25 to 0.75."
    assert [figure.chart.y_title for figure in section.figures] == [
        "mean reward", "tokens", "nats a loss token", "share of completions", "share of groups"
    ]  # fmt: skip
    assert all(figure.small for figure in section.figures)
    assert [point.value for point in section.figures[0].chart.points] == [0.25, 0.9, 0.5, 0.25, 0.75]
    assert section.tables[0].rows[0] == ("dppo", "0", "0", "64", "0.25", "100", "0.5", "0", "0.25")


def test_surprisal_is_never_called_entropy():
    section = _section(made_charts.training())
    words = " ".join([section.takeaway, *section.notes, *(figure.takeaway for figure in section.figures)])
    assert "Sampled surprisal" in words
    assert "entropy" not in words.replace("estimates the entropy and is not the entropy", "")


def test_an_arm_that_ended_earlier_is_said_with_its_own_steps():
    section = _section([_row(0, 0.25), _row(4, 0.5), _row(0, 0.25, "grpo"), _row(2, 0.75, "grpo")])
    assert section.figures[0].takeaway == "Mean reward, step 0 to 4: dppo 0.25 to 0.5, grpo 0.25 to 0.75 (step 0 to 2)."


def test_seeds_are_averaged_in_words_and_drawn_one_by_one():
    section = _section([_row(0, 0.2), _row(1, 0.4), _row(0, 0.4, seed=1), _row(1, 0.8, seed=1)])
    assert "0.3 at step 0, 0.6 at step 1 (mean of 2 seeds)" in section.takeaway
    assert {point.detail for point in section.figures[0].chart.points} == {"seed 0", "seed 1"}
    assert section.figures[0].caption == "A line for each seed; the sentence has their mean."


def test_truncation_is_named_by_its_largest_share():
    assert "No completion was truncated." in _section([_row(0)]).takeaway
    section = _section([_row(0), _row(1, truncated_share=0.125), _row(2)])
    assert "The truncated share is 0.125 at most (dppo, step 1)." in section.takeaway


def test_steps_without_a_number_are_counted_and_not_drawn():
    section = _section([_row(0, math.nan), _row(1, 0.5), _row(2, 0.25)])
    assert "0.5 at step 1, 0.25 at step 2, 1 of 3 steps have no number" in section.takeaway
    assert len(section.figures[0].chart.points) == 2
    assert section.tables[0].rows[0][4] == "no number"
    assert "none of 2 steps has a number" in _section([_row(0, math.nan), _row(1, math.inf)]).takeaway


def test_what_was_not_logged_has_no_chart_and_is_said():
    section = _section(
        [_row(0, None, completion_tokens=None, truncated_share=None, one_reward_share=None, rollouts=None)]
    )
    assert "Mean reward of dppo: not logged." in section.takeaway
    assert "Whether completions were truncated was not logged." in section.takeaway
    assert [figure.chart.y_title for figure in section.figures] == ["nats a loss token"]
    assert section.tables[0].rows[0][3:5] == ("not logged", "not logged")
    nothing = _section([])
    assert "Neither rollouts nor loss tokens were logged" in nothing.takeaway
    assert nothing.figures == ()


def test_rewards_too_large_to_be_summed_are_averaged():
    section = _section([_row(0, 1.5e308), _row(0, 1.7e308, seed=1)])
    assert "1.6e+308 at step 0 (mean of 2 seeds)" in section.takeaway


def test_long_runs_are_thinned_alike_in_charts_and_table():
    section = _section(made_charts.training(steps=900, seeds=2))
    assert len(section.tables[0].rows) == len(section.figures[0].chart.points) <= 160
    assert any("of 900 steps, evenly chosen" in note for note in section.notes)
    assert "step 899" in section.takeaway


def test_many_seeds_are_cut_and_counted():
    section = _section(made_charts.training(steps=2, seeds=10))
    assert len(section.tables[0].rows) == len(section.figures[0].chart.points) == 12 * 2
    assert "12 of 20 combinations of arm and seed are shown." in section.notes
    assert "(mean of 10 seeds)" in section.takeaway
