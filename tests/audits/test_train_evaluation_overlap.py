"""Evaluated questions that stand among the training prompts."""

import json
from pathlib import Path

import pytest
from asked_run import answers, prompts, together, write_asked
from ran_audit import faults, ran

AUDIT_ID = "train_evaluation_overlap"
ASKED = ["How much is 2+2?", "Who is it?"]


def run_with(path, trained, *, sampled=("train-000",), asked=ASKED, **kwargs):
    columns = together(prompts(asked), prompts(trained, split="train"))
    return write_asked(path, columns, sampled=sampled, **kwargs)


def test_copies_that_were_sampled_fail_and_are_named_with_their_prompt(tmp_path):
    path = run_with(tmp_path / "run", ["Who is it?", "how much is 2 + 2", "Else?"], sampled=["train-000", "train-001"])
    found = ran(path, AUDIT_ID)
    assert [row[:4] for row in found.rows] == [
        ("same question", "fail", "item-001", "train-000"),
        ("same question in other spelling", "fail", "item-000", "train-001"),
    ]
    assert "sampled (rollouts: 2)" in found.rows[0][-1]
    assert found.check.notes == ("2 items compared with 3 training prompts, 2 of them sampled in rollouts",)


def test_a_copy_that_no_rollout_used_is_a_warning(tmp_path):
    found = ran(run_with(tmp_path / "run", ["Else?", "Who is it?"]), AUDIT_ID)
    assert faults(found) == {("same question", "warn"): 1}
    assert found.check.status == "warn"
    assert "never sampled" in found.rows[0][-1]


def test_without_rollouts_nobody_knows_that_a_copy_was_not_used(tmp_path):
    found = ran(run_with(tmp_path / "run", ["Else?", "Who is it?"], sampled=None), AUDIT_ID)
    assert faults(found) == {("same question", "fail"): 1}
    assert "no rollout names a prompt" in found.rows[0][-1]


def test_rollouts_that_name_no_prompt_show_nothing_either(tmp_path):
    found = ran(run_with(tmp_path / "run", ["Else?", "Who is it?"], sampled=[None, None]), AUDIT_ID)
    assert faults(found) == {("same question", "fail"): 1}


def test_of_several_copies_the_sampled_one_counts(tmp_path):
    trained = ["Who is it?", "Who is it?", "who is it"]
    found = ran(run_with(tmp_path / "run", trained, sampled=["train-002"]), AUDIT_ID)
    assert [row[:4] for row in found.rows] == [("same question", "fail", "item-001", "train-002")]


def test_an_evaluated_prompt_that_a_rollout_names_was_trained_on_whatever_its_split(tmp_path):
    found = ran(run_with(tmp_path / "run", ["Else?"], sampled=["train-000", "test-001"]), AUDIT_ID)
    assert [row[:4] for row in found.rows] == [("same question", "fail", "item-001", "test-001")]


def test_the_same_words_with_other_numbers_are_one_warning_a_form(tmp_path):
    asked = ["Tom has 3 eggs.", "Tom has 4 eggs.", "5+6"]
    found = ran(run_with(tmp_path / "run", ["Tom has 8 eggs", "Tom has 9 eggs", "7+8"], asked=asked), AUDIT_ID)
    assert [row[:4] for row in found.rows] == [("same words with other numbers", "warn", "item-000", "train-000")]
    assert "(items: 2, training prompts: 2)" in found.rows[0][-1]
    assert found.check.notes[1].startswith("1 of 3 items have the form of a training prompt, a form without words")


def test_a_copy_is_not_counted_again_as_a_form(tmp_path):
    found = ran(run_with(tmp_path / "run", ["Tom has 3 eggs"], asked=["Tom has 3 eggs.", "Who?"]), AUDIT_ID)
    assert faults(found) == {("same question in other spelling", "fail"): 1}


def test_a_curve_s_items_count_too(tmp_path):
    outcomes = {"treatment": [answers(2, checkpoint="step000001")]}
    path = run_with(tmp_path / "run", ["Who is it?"], arms=("treatment",), outcomes=outcomes)
    assert ran(path, AUDIT_ID).check.status == "fail"


def test_without_training_prompts_it_is_inconclusive(tmp_path):
    found = ran(write_asked(tmp_path / "run", prompts(ASKED)), AUDIT_ID)
    assert (found.check.status, found.rows, found.check.mend, found.check.notes) == ("inconclusive", (), None, ())
    assert found.check.reason == "no training prompt is in this run, so nothing was compared"
    assert found.check.status == "inconclusive"


def test_a_run_mended_by_hand_passes(tmp_path):
    assert ran(run_with(tmp_path / "bad", ["Who is it?", "Else?"]), AUDIT_ID).check.status == "fail"
    assert ran(run_with(tmp_path / "good", ["Else?"]), AUDIT_ID).check.status == "pass"


def test_gsm8k_s_splits_do_not_overlap(tmp_path):
    folder = Path(__file__).parents[3] / "shared" / "data" / "gsm8k"
    if not folder.exists():
        pytest.skip("the whole of GSM8K is not beside this checkout")
    asked, trained = (
        [json.loads(line)["question"] for line in (folder / name).read_text(encoding="utf-8").splitlines()]
        for name in ("test.jsonl", "train.jsonl")
    )
    clean = ran(run_with(tmp_path / "clean", trained, asked=asked, arms=("treatment",)), AUDIT_ID)
    assert (clean.check.status, clean.check.rows_examined) == ("pass", 1319)
    leaked = [*trained, asked[5].upper()]
    path = run_with(tmp_path / "leaked", leaked, asked=asked, arms=("treatment",), sampled=["train-7473"])
    assert [row[:4] for row in ran(path, AUDIT_ID).rows] == [
        ("same question in other spelling", "fail", "item-005", "train-7473")
    ]
