"""What the section on calibration says."""

from types import SimpleNamespace

import made_charts

from audits.engine.calibration import Calibration, CalibrationBin
from reports.sections.calibration import build


def _section(*found):
    return build(SimpleNamespace(run="runs/full", calibration=found))


def _bin(lower, p_sampler, p_current, tokens=100):
    return CalibrationBin(lower, lower + 0.05, tokens, p_sampler, p_current)


def test_the_largest_gap_is_named_with_its_bin_and_count():
    section = _section(
        Calibration("dppo", 0, (_bin(0.5, 0.52, 0.52), _bin(0.95, 0.99, 0.9900001, 1234)), 0),
        Calibration("dppo", 1, (_bin(0.5, 0.52, 0.48, 7), _bin(0.95, 0.99, 0.98)), 0),
        Calibration("grpo", 1, (_bin(0.5, 0.52, 0.55), _bin(0.95, 0.99, 0.99)), 0),
    )
    assert section.takeaway == (
        "Update 0: the largest gap is 1e−07 (dppo, p_sampler 0.95 to 1.00: mean p_current 0.99000010 against "
        "0.99000000, 1,234 loss tokens). Update 1: the largest gap is −0.04 (dppo, p_sampler 0.50 to 0.55: mean "
        "p_current 0.480 against 0.520, 7 loss tokens)."
    )


def test_each_update_is_drawn_with_the_diagonal_and_all_together_as_gaps():
    section = _section(*made_charts.calibration())
    first, last, gaps = section.figures
    assert first.chart.diagonal
    assert last.chart.diagonal
    assert not gaps.chart.diagonal
    assert {point.variant for point in first.chart.points} == {"0"}
    assert {point.variant for point in last.chart.points} == {"1"}
    assert {point.value for point in gaps.chart.points if point.variant == "0"} == {0.0}
    assert len(gaps.chart.points) == 80
    assert len(section.tables[0].rows) == 80
    assert section.tables[0].rows[-1] == ("grpo_clip", "1", "0.95 to 1.00", "119", "0.975", "0.994", "0.019")


def test_the_gap_over_all_bins_is_weighted_by_their_tokens():
    (figure, _) = _section(Calibration("dppo", 1, (_bin(0.5, 0.5, 0.6, 30), _bin(0.95, 0.96, 0.96, 70)), 0)).figures
    assert figure.takeaway == "Update 1: mean absolute gap of the bins, by their tokens: dppo 0.03."


def test_no_gap_is_said_so():
    section = _section(Calibration("dppo", 0, made_charts.bins(0.0), 0))
    assert section.takeaway == "Update 0: both probabilities have the same mean in every bin."


def test_rows_that_are_no_numbers_are_counted_and_leave_no_curve():
    section = _section(Calibration("dppo", 0, (), 3), Calibration("grpo", 0, made_charts.bins(0.001), 0))
    assert "3 rows of dppo, update 0, are no numbers: it has no bins." in section.takeaway
    assert {point.series for figure in section.figures for point in figure.chart.points} == {"grpo"}
    assert section.tables[0].rows[0] == ("dppo", "0", "not binned", "3", "no number", "no number", "no number")
    alone = _section(Calibration("dppo", 0, (), 3))
    assert alone.figures == ()


def test_without_tokens_the_section_says_so():
    section = _section()
    assert "No loss tokens were logged" in section.takeaway
    assert section.figures == ()


def test_many_arms_are_cut_and_counted():
    section = _section(*(Calibration(f"arm{number}", 0, made_charts.bins(0.0), 0) for number in range(9)))
    assert "6 of 9 arms are shown." in section.notes
    assert len(section.tables[0].rows) == 6 * 20
