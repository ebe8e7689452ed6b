"""Items that failed, and scores that contradict their verdicts."""

import json
from pathlib import Path

import pytest
from made_run import evals, right, write_outcomes
from ran_audit import faults, ran

AUDIT_ID = "evaluation_errors"


def found_in(path, **columns):
    return ran(write_outcomes(path / "run", {"treatment": [evals(**columns)]}), AUDIT_ID)


def test_an_error_that_was_scored_and_one_that_was_not_both_fail(tmp_path):
    found = found_in(tmp_path, scores=[1, 0.0, None, 0.5], error=[None, "timeout", "timeout", "x" * 10_000])
    assert faults(found) == {("error counted", "fail"): 2, ("error", "fail"): 1}
    assert [row[5] for row in found.rows] == ["item-002", "item-001", "item-003"]
    assert max(len(row[-1]) for row in found.rows) < 250
    assert found.check.notes == (
        "3 errors in 4 evaluated samples",
        "treatment final: 3 of 4 samples failed; the others score 1 (1/1)",
    )


def test_an_evaluation_that_failed_everywhere_is_inconclusive_whatever_it_was_scored(tmp_path):
    for number, scores in enumerate(([0.0] * 1319, [None] * 1319)):
        found = found_in(tmp_path / str(number), scores=scores, error="no tokenizer")
        assert (found.check.status, len(found.rows)) == ("inconclusive", 1)
        assert faults(found) == {("every item failed", "inconclusive"): 1}
        assert "1,319 of 1,319 failed" in found.rows[0][-1]
        assert "no accuracy" in found.check.notes[1]
    assert "scored 0 on average" not in found.rows[0][-1]


def test_the_published_failure_of_1319_items_is_no_accuracy(tmp_path):
    path = Path(__file__).parents[3] / "shared" / "data" / "tinker-rl-lab" / "gsm8k_test_results.json"
    if not path.exists():
        pytest.skip("the published results are not beside this checkout")
    examples = json.loads(path.read_text(encoding="utf-8"))["examples"]
    errors = [example["error"] for example in examples]
    found = found_in(tmp_path, scores=[0.0] * len(errors), error=errors)
    assert found.check.status == "inconclusive"
    assert "scored 0 on average: that is no accuracy" in found.rows[0][-1]


def test_one_arm_that_failed_everywhere_does_not_hide_another_arm_s_fault(tmp_path):
    arms = {"baseline": [evals([None] * 3, error="gone")], "treatment": [evals([1.0, None], error=[None, "gone"])]}
    found = ran(write_outcomes(tmp_path / "run", arms), AUDIT_ID)
    assert faults(found) == {("every item failed", "inconclusive"): 1, ("error", "fail"): 1}
    assert found.check.status == "fail"


def test_an_empty_error_is_none(tmp_path):
    assert found_in(tmp_path, scores=[1.0, 0.0], error=["", "  "]).check.status == "pass"


def test_a_score_that_is_missing_without_an_error_fails(tmp_path):
    found = found_in(tmp_path, scores=[None, float("nan"), float("inf"), 1.0])
    assert faults(found) == {("no score and no error", "fail"): 3}


def test_score_and_verdict_must_agree_where_the_score_is_all_or_nothing(tmp_path):
    found = found_in(tmp_path, scores=[1.0, 0.0, 0.5, 0.5, 1.0], correct=[False, True, True, False, None])
    assert faults(found) == {("score against verdict", "fail"): 2}
    assert [row[5] for row in found.rows] == ["item-000", "item-001"]


def test_a_score_is_between_0_and_1_at_every_checkpoint(tmp_path):
    found = found_in(tmp_path, scores=[2.0, -0.5, 1.0, 0.0], correct=[True, False, None, None], checkpoint="base")
    assert faults(found) == {("outside 0 to 1", "fail"): 2}


def test_an_empty_completion_cannot_be_right(tmp_path):
    found = found_in(tmp_path, scores=[1.0, 0.0, 1.0, 1.0], completion=["", "", " \n\t", "7"])
    assert faults(found) == {("empty but right", "fail"): 2}
    assert "treatment final: 3 of 4 completions are empty" in found.check.notes


def test_every_checkpoint_and_seed_is_examined(tmp_path):
    good = evals(right(2))
    bad = evals([0.0, 1.0], checkpoint="step000002", error=["gone", None])
    found = ran(write_outcomes(tmp_path / "run", {"treatment": [good, bad]}), AUDIT_ID)
    assert [row[2:6] for row in found.rows] == [("treatment", 1, "step000002", "item-000")]


def test_a_run_mended_by_hand_passes(tmp_path):
    assert found_in(tmp_path / "bad", scores=[1.0, 0.0], error=[None, "gone"]).check.status == "fail"
    assert found_in(tmp_path / "good", scores=[1.0, 1.0], error=[None, None]).check.status == "pass"


def test_without_a_row_nothing_passes(tmp_path):
    found = ran(write_outcomes(tmp_path / "run", {"treatment": [evals([]) | {"checkpoint": []}]}), AUDIT_ID)
    assert found.check.status == "inconclusive"
