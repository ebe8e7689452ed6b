"""Learning rates that one arm had more of, that nothing chose, or that stand at the end of their grid."""

import hashlib
import json

import pytest
from audit_runs.fair_tuning import GRID, INSIDE, swept, swept_plan, table
from executed_run import small_plan, write_executed
from made_run import change_json, evals, right, sealed, write_outcomes

from analysis.errors import AuditError
from audits.engine.audit import run_audit
from audits.store.reader import connect, open_run

RISING = {1e-4: 0.2, 1e-3: 0.6, 1e-2: 0.7}


def findings(path):
    run = open_run(path)
    with connect(run) as connection:
        return run_audit(connection, run, "fair_tuning")


def rows(path, *columns):
    found = findings(path)
    return [tuple(dict(zip(found.columns, values, strict=True))[name] for name in columns) for values in found.rows]


def test_one_rate_that_nothing_chose_is_told_and_is_no_failure(tmp_path):
    path = write_executed(tmp_path / "run")
    assert findings(path).check.status == "warn"
    ((fault, detail),) = rows(path, "fault", "detail")
    assert fault == "untuned rate"
    assert "(dppo: 0.001; grpo: 0.001): the comparison holds at this rate alone" in detail


def test_a_swept_rate_inside_its_grid_passes_with_its_scores(tmp_path):
    found = findings(swept(tmp_path / "run"))
    assert found.check.status == "pass"
    assert "dppo: 0.0001 scores 0.200 (items: 10), 0.001 (in use) scores 0.600 (items: 10)" in found.check.notes[0]


def test_a_grid_without_its_sweep_is_inconclusive(tmp_path):
    path = write_executed(tmp_path / "run", swept_plan())
    assert findings(path).check.status == "inconclusive"
    assert rows(path, "fault") == [("no results",)]


def test_a_rate_at_the_edge_is_a_warning_until_the_scores_are_there(tmp_path):
    plan = swept_plan(grpo=[1e-4, 1e-3], dppo=[1e-4, 1e-3])
    path = write_executed(tmp_path / "run", plan)
    edges = [("rate on the edge", "dppo"), ("rate on the edge", "grpo")]
    assert rows(path, "fault", "arm", "severity")[1:] == [(*edge, "warn") for edge in edges]
    scores = {1e-4: 0.2, 1e-3: 0.6}
    assert findings(swept(tmp_path / "scored", scores, scores, plan)).check.status == "fail"


def test_an_arm_whose_own_best_rate_is_at_the_edge_is_named(tmp_path):
    path = swept(tmp_path / "run", dppo=RISING)
    assert rows(path, "fault", "arm", "learning_rate") == [("best on the edge", "dppo", 1e-2)]


def test_of_equal_scores_the_smaller_rate_is_the_best(tmp_path):
    assert findings(swept(tmp_path / "run", dppo={1e-4: 0.2, 1e-3: 0.6, 1e-2: 0.6})).check.status == "pass"
    path = swept(tmp_path / "tie", dppo={1e-4: 0.6, 1e-3: 0.6, 1e-2: 0.2})
    assert rows(path, "fault", "learning_rate") == [("best on the edge", 1e-4)]


def test_a_rate_whose_pilot_failed_the_gate_is_not_the_best(tmp_path):
    assert findings(swept(tmp_path / "run", RISING, RISING, gates={1e-2: "fail"})).check.status == "pass"
    assert findings(swept(tmp_path / "warned", RISING, RISING, gates={1e-2: "warn"})).check.status == "fail"


@pytest.mark.parametrize("chosen", [1e-2, None])
def test_another_rate_than_the_chosen_one_fails_for_each_arm(tmp_path, chosen):
    path = swept(tmp_path / "run", chosen=chosen)
    assert rows(path, "fault", "severity", "arm") == [
        ("not the chosen rate", "fail", "dppo"),
        ("not the chosen rate", "fail", "grpo"),
    ]
    assert rows(path, "detail")[0] == (f"in use; the sweep chose {'none' if chosen is None else '0.01'}",)


def test_the_rate_in_use_is_the_one_that_was_sent(tmp_path):
    plan = swept_plan()
    path = write_executed(tmp_path / "run", plan, learning_rate=5e-3)
    (path / "sweep.json").write_text(json.dumps(table(plan, INSIDE, INSIDE)), encoding="utf-8")
    assert rows(path, "fault", "arm", "learning_rate") == [
        ("not the chosen rate", "dppo", 5e-3),
        ("rate not in grid", "dppo", 5e-3),
    ]


@pytest.mark.parametrize("dppo", [[1e-3], [], [2e-4, 1e-3, 1e-2]])
def test_arms_with_other_grids_fail(tmp_path, dppo):
    path = write_executed(tmp_path / "run", swept_plan(dppo=dppo))
    assert findings(path).check.status == "fail"
    assert ("unequal grids", "fail") in rows(path, "fault", "severity")


def test_a_grid_of_one_rate_is_no_choice(tmp_path):
    path = write_executed(tmp_path / "run", swept_plan(grpo=[1e-3], dppo=[1e-3]))
    assert findings(path).check.status == "warn"
    assert rows(path, "fault", "arm") == [("grid of one rate", "dppo"), ("grid of one rate", "grpo")]


def test_rates_that_were_scored_for_one_arm_alone_or_for_none(tmp_path):
    path = swept(tmp_path / "one", dppo={1e-3: 0.6, 1e-2: 0.3})
    assert rows(path, "fault", "learning_rate") == [("unequal budget", 1e-4)]
    assert "dppo: seeds 0, items 0; grpo: seeds 1, items 10" in rows(path, "detail")[0]
    scores = {1e-4: None, 1e-3: 0.6, 1e-2: 0.3}
    neither = swept(tmp_path / "none", scores, scores)
    assert findings(neither).check.status == "inconclusive"
    assert rows(neither, "fault", "learning_rate") == [("not scored", 1e-4)]


def test_rates_that_test_items_chose_fail(tmp_path):
    path = swept(tmp_path / "run", split="test")
    assert rows(path, "fault", "severity", "detail") == [("not on validation", "fail", "sweep.json was scored on test")]


def test_the_sweep_of_the_plan_that_this_one_supersedes_counts_and_any_other_does_not(tmp_path):
    before = swept_plan()
    plan = swept_plan(supersedes=sealed(before).sha256)
    path = write_executed(tmp_path / "run", plan)
    (path / "sweep.json").write_text(json.dumps(table(before, INSIDE, INSIDE)), encoding="utf-8")
    assert findings(path).check.status == "pass"
    (path / "sweep.json").write_text(json.dumps(table(small_plan(), RISING, RISING)), encoding="utf-8")
    assert findings(path).check.status == "inconclusive"
    assert "neither this one" in rows(path, "detail")[0][0]


@pytest.mark.parametrize("text", ["", "{}", "[1, 2", '{"plan_sha256": 3}', "\ufeff"])
def test_a_table_that_is_none_is_an_error_that_names_the_file(tmp_path, text):
    path = swept(tmp_path / "run")
    (path / "sweep.json").write_text(text, encoding="utf-8")
    with pytest.raises(AuditError, match=r"sweep\.json: is not the table of a sweep"):
        findings(path)


def test_a_recorded_table_that_changed_or_is_missing_is_an_error(tmp_path):
    path = swept(tmp_path / "run")
    content = (path / "sweep.json").read_bytes()
    change_json(path / "run.json", sweep={"path": "../sweep", "sha256": hashlib.sha256(content).hexdigest()})
    assert findings(path).check.status == "pass"
    (path / "sweep.json").write_bytes(content.replace(b"0.3", b"0.4"))
    with pytest.raises(AuditError, match=r"sweep\.json: changed since run\.json recorded it. Copy it from \.\./sweep"):
        findings(path)
    (path / "sweep.json").unlink()
    with pytest.raises(AuditError, match=r"sweep\.json: is missing since"):
        findings(path)


def test_a_run_mended_by_hand_passes(tmp_path):
    path = swept(tmp_path / "run", dppo=RISING)
    wider = swept_plan(grpo=[*GRID, 1e-1], dppo=[*GRID, 1e-1])
    scores = {1e-4: 0.2, 1e-3: 0.6, 1e-2: 0.3, 1e-1: 0.0}
    assert findings(path).check.status == "fail"
    assert findings(swept(tmp_path / "mended", scores, scores, wider)).check.status == "pass"


def test_an_imported_run_without_a_plan_planned_no_tuning(tmp_path):
    found = findings(write_outcomes(tmp_path / "run", {"treatment": [evals(right(3))]}))
    assert found.check.status == "not_applicable"
