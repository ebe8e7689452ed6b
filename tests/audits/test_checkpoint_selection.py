"""Checkpoints that test items or the training reward could choose."""

import pytest
from audit_runs.checkpoint_selection import with_point
from executed_run import small_plan, write_executed
from made_run import change_json, evals, right, write_outcomes

from audits.engine.audit import run_audit
from audits.store.reader import connect, open_run
from audits.store.writer import RunWriter


def findings(path):
    run = open_run(path)
    with connect(run) as connection:
        return run_audit(connection, run, "checkpoint_selection")


def rows(path, *columns):
    found = findings(path)
    return [tuple(dict(zip(found.columns, values, strict=True))[name] for name in columns) for values in found.rows]


def imported(path, *, settings=None, executed=None, way=0):
    """Outcomes of one arm, with evaluations of `way` checkpoints before the final one on the same items."""
    write_outcomes(path, {"treatment": [evals(right(3))]})
    writer = RunWriter(path, open_run(path).manifest)
    for step in range(way):
        name = f"step{step + 1:06d}"
        writer.write_evals("treatment", 0, name, evals(right(2), checkpoint=name))
    arm = {"arm": "treatment", "seed": 0, "role": "treatment", "name": "t", "settings": settings or {}}
    change_json(path / "run.json", arms=[arm], executed=executed or {})
    return path


def test_each_checkpoint_on_test_items_is_named_and_those_on_validation_items_are_not(tmp_path):
    path = write_executed(tmp_path / "run")
    for checkpoint, split in (("step000001", "test"), ("step000002", "validation"), ("step000003", "test")):
        with_point(path, split, checkpoint=checkpoint)
    assert rows(path, "severity", "arm", "checkpoint") == [
        ("fail", "dppo", "step000001"),
        ("fail", "dppo", "step000003"),
    ]
    assert findings(path).check.notes[0].endswith(": 3, of them on test items or the final evaluation's items: 2")


def test_the_base_model_may_be_evaluated_at_step_0(tmp_path):
    path = with_point(write_executed(tmp_path / "run"), "test", arm="base", checkpoint="step000000")
    assert findings(path).check.status == "pass"


def test_a_pilots_validation_items_on_the_way_are_no_test_items(tmp_path):
    path = with_point(write_executed(tmp_path / "run", kind="pilot"), "validation")
    assert findings(path).check.status == "pass"


def test_without_prompts_the_final_evaluations_own_items_tell(tmp_path):
    path = imported(tmp_path / "run", way=2)
    assert (
        rows(path, "fault", "severity", "detail")
        == [("test items on the way", "fail", "20 of 20 evaluated items are those of the final evaluation")] * 2
    )
    assert (
        findings(imported(tmp_path / "stated", way=2, settings={"checkpoint_selected_by": "last"})).check.status
        == "warn"
    )


@pytest.mark.parametrize("rule", ["train_reward", "test", "Test accuracy", "best training reward", " REWARD "])
def test_a_choice_by_what_it_saw_fails(tmp_path, rule):
    path = imported(tmp_path / "run", settings={"checkpoint_selected_by": rule})
    assert rows(path, "fault", "severity", "arm") == [("chosen by what it saw", "fail", "treatment")]
    whole = imported(tmp_path / "whole", executed={"checkpoint_selected_by": rule})
    assert rows(whole, "fault", "severity", "arm") == [("chosen by what it saw", "fail", None)]


@pytest.mark.parametrize("rule", ["last", "validation", "Last step"])
def test_an_honest_choice_passes(tmp_path, rule):
    assert findings(imported(tmp_path / "run", settings={"checkpoint_selected_by": rule})).check.status == "pass"


def test_a_choice_in_other_words_is_inconclusive(tmp_path):
    path = imported(tmp_path / "run", settings={"checkpoint_selected_by": "it looked good'; --"})
    assert findings(path).check.status == "inconclusive"
    assert "it looked good" in rows(path, "detail")[0][0]


@pytest.mark.parametrize(("step", "status"), [(2, "fail"), (3, "pass"), (None, "pass")])
def test_a_final_checkpoint_that_is_not_the_last_step_fails(tmp_path, step, status):
    settings = {} if step is None else {"checkpoint_step": step}
    assert findings(write_executed(tmp_path / "log", arms={"settings": settings})).check.status == status
    stated = imported(tmp_path / "stated", settings=settings, executed={"rollout.rollout_batches": 3})
    assert findings(stated).check.status == status
    if status == "fail":
        assert rows(stated, "detail") == [("the final checkpoint is of step 2, 3 steps were trained",)]


def test_every_seed_is_looked_at(tmp_path):
    plan = small_plan()
    plan["arms"].append(plan["arms"][1] | {"name": "dppo_seed1", "seed": 1})
    path = with_point(write_executed(tmp_path / "run", plan), "test", seed=1)
    assert rows(path, "arm", "seed") == [("dppo", 1)]


def test_a_run_mended_by_hand_passes(tmp_path):
    path = with_point(write_executed(tmp_path / "run"), "test")
    assert findings(path).check.status == "fail"
    RunWriter.reopen(path).drop(lambda record: "step000002" in record.path and record.table == "evals")
    assert findings(path).check.status == "pass"
