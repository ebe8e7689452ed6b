"""Points of the validation curve and their intervals, from the log alone."""

import math

import made_run
import pytest

from audits.engine.curve import checkpoint_scores, validation_curve
from audits.store.manifest import Manifest
from audits.store.reader import open_run
from audits.store.writer import RunWriter


@pytest.fixture
def run(tmp_path):
    """Return a function that writes checkpoints, {(arm, checkpoint): scores}, and opens the run."""

    def write(checkpoints, samples=1):
        manifest = Manifest(
            run_id="r", kind="full", status="complete", arms=made_run.arms_of(made_run.made_plan()),
            started_at=made_run.STARTED_AT,
        )  # fmt: skip
        writer = RunWriter.create(tmp_path / "run", manifest, made_run.sealed(made_run.made_plan()))
        for (arm, checkpoint), scores in checkpoints.items():
            tables = [made_run.evals(scores, checkpoint=checkpoint, sample=sample) for sample in range(samples)]
            columns = {name: [value for table in tables for value in table[name]] for name in tables[0]}
            writer.write_evals(arm, 0, checkpoint, columns)
        return open_run(tmp_path / "run")

    return write


def test_points_are_the_step_checkpoints_and_no_others(run):
    evaluated = run(
        {
            ("base", "base"): made_run.right(1),
            ("base", "step000000"): made_run.right(5),
            ("dppo", "step000010"): made_run.right(10),
            ("dppo", "step000002"): made_run.right(8),
            ("dppo", "final"): made_run.right(20),
        }
    )
    points = validation_curve(evaluated)
    scores = {(score.arm, score.checkpoint): score for score in checkpoint_scores(evaluated)}
    assert len(scores) == 5
    assert scores["dppo", "final"].score == 1.0
    with pytest.raises(ValueError, match="'final' has no step"):
        assert scores["dppo", "final"].step
    assert [(p.arm, p.step, p.items, p.score) for p in points] == [
        ("base", 0, 20, 0.25),
        ("dppo", 2, 20, 0.4),
        ("dppo", 10, 20, 0.5),
    ]


def test_right_or_wrong_has_the_exact_interval(run):
    (point,) = validation_curve(run({("dppo", "step000010"): made_run.right(10)}))
    # R: binom.test(10, 20)$conf.int
    assert (point.lower, point.upper) == (pytest.approx(0.27196, abs=1e-5), pytest.approx(0.72804, abs=1e-5))
    assert point.interval == "clopper_pearson"


def test_other_scores_have_hoeffdings_interval_inside_0_and_1(run):
    (point,) = validation_curve(run({("dppo", "step000010"): [0.5] * 19 + [0.4]}))
    half_width = math.sqrt(math.log(40) / 40)
    assert (point.score, point.interval) == (pytest.approx(0.495), "hoeffding")
    assert (point.lower, point.upper) == (pytest.approx(0.495 - half_width), pytest.approx(0.495 + half_width))
    assert 0.0 <= point.lower <= point.upper <= 1.0


def test_several_samples_an_item_are_one_item(run):
    (point,) = validation_curve(run({("dppo", "step000010"): made_run.right(10)}, samples=3))
    assert point.items == 20


def test_a_missing_score_leaves_the_point_without_a_number(run):
    (point,) = validation_curve(run({("dppo", "step000010"): [None, *made_run.right(10, 19)]}))
    assert math.isnan(point.score)
    assert (point.unscored, point.interval) == (1, "none")


def test_a_run_without_evaluations_has_no_curve(tmp_path):
    assert validation_curve(open_run(made_run.write_run(tmp_path / "pilot"))) == ()
