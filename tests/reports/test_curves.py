"""What the validation curve's section says."""

import math
from types import SimpleNamespace

from audits.engine.curve import CheckpointScore
from reports.sections.curves import build


def _section(*points):
    return build(SimpleNamespace(run="runs/full", curve=points))


def _point(arm, step, score, half_width=0.05, items=100, seed=0):
    return CheckpointScore(
        arm, seed, f"step{step:06d}", items, 0, score, score - half_width, score + half_width, "clopper_pearson"
    )


def test_every_point_stands_with_its_interval_in_sentence_table_and_chart():
    section = _section(_point("base", 0, 0.30), _point("dppo", 5, 0.35), _point("dppo", 10, 0.50))
    assert "The base model scores 0.3 on 100 items (0.25 to 0.35)." in section.takeaway
    assert "dppo, seed 0, step 10: 0.5 on 100 items (0.45 to 0.55)." in section.takeaway
    assert "no change" not in section.takeaway
    (table,) = section.tables
    assert table.rows[0][:3] + table.rows[0][4:7] == ("base", "0", "0", "0.3", "0.25", "0.35")
    assert len(table.rows) == 3
    (figure,) = section.figures
    lower = {(p.series, p.step): p.value for p in figure.chart.points if p.variant == "mean, lower"}
    # The base model is every arm's step 0, and no line of its own beside them.
    assert set(lower) == {("dppo", 0), ("dppo", 5), ("dppo", 10)}
    assert lower["dppo", 0] == 0.25
    assert "0.05 to each side" in figure.takeaway


def test_overlapping_intervals_are_called_no_change():
    section = _section(_point("base", 0, 0.30), _point("dppo", 10, 0.38), _point("grpo", 10, 0.26))
    assert "overlaps the base model's: the curve shows no change" in section.takeaway


def test_a_point_with_unscored_samples_is_counted_and_not_drawn():
    broken = CheckpointScore("dppo", 0, "step000010", 100, 3, math.nan, math.nan, math.nan, "none")
    section = _section(_point("base", 0, 0.3), broken)
    assert "1 points have samples without a score and are not drawn" in section.takeaway
    assert [point.series for point in section.figures[0].chart.points] == ["base"] * 3
    assert section.tables[0].rows[1][-1] == "none: 3 samples without a score"


def test_without_points_the_section_says_so():
    section = _section()
    assert "so there is no curve" in section.takeaway
    assert section.figures == ()


def test_many_steps_are_thinned_and_the_note_says_so():
    section = _section(*(_point("dppo", step, 0.5) for step in range(1000)))
    assert len(section.tables[0].rows) <= 240
    assert any("of 1,000 steps, evenly chosen" in note for note in section.notes)
