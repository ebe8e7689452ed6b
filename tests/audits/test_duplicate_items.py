"""Questions that stand twice in the final evaluation."""

import json
from pathlib import Path

import pytest
from asked_run import answers, prompts, together, write_asked
from made_run import write_outcomes
from ran_audit import faults, ran

AUDIT_ID = "duplicate_items"
HOSTILE = "<script>'; DROP TABLE evals; -- \x00 " + "9" * 100_000


def test_exact_and_spelt_duplicates_are_told_apart_with_the_effective_n(tmp_path):
    asked = ["How much is 2+2?", "how much is 2 + 2", "How much is 2+2?", "How much is 22?", "Who?"]
    found = ran(write_asked(tmp_path / "run", prompts(asked)), AUDIT_ID)
    assert found.check.rows_examined == 5
    assert [row[:3] for row in found.rows] == [
        ("same question", "item-002", "item-000"),
        ("same question in other spelling", "item-001", "item-000"),
    ]
    # Groups of 3, 1 and 1: 25 / 11.
    assert "5 items ask 3 distinct questions; effective n 2.3" in found.check.notes[0]
    assert "the largest group has 3" in found.check.notes[0]


def test_a_run_mended_by_hand_passes(tmp_path):
    asked = prompts(["How much is 2+2?", "How much is 2+2?"])
    assert ran(write_asked(tmp_path / "bad", asked), AUDIT_ID).check.status == "fail"
    mended = ran(write_asked(tmp_path / "good", asked, n=1), AUDIT_ID)
    assert (mended.check.status, mended.check.notes) == ("pass", ("1 items ask 1 distinct questions",))


def test_two_golds_for_one_question_are_named(tmp_path):
    columns = prompts(["Who?", "who", "Where?", "where"], golds=["1,000", "1000 ", "3", "4"])
    found = ran(write_asked(tmp_path / "run", columns), AUDIT_ID)
    assert faults(found) == {
        ("same question in other spelling", "fail"): 1,
        ("same question with another gold", "fail"): 1,
    }
    assert "gold 4, there 3" in found.rows[1][-1] + found.rows[0][-1]


def test_the_same_item_in_several_arms_seeds_and_samples_is_one_item(tmp_path):
    twice = together(answers(3), answers(3, sample=1))
    outcomes = {"baseline": [twice, twice], "treatment": [twice]}
    found = ran(write_asked(tmp_path / "run", prompts(["a b", "c d", "e f"]), outcomes=outcomes), AUDIT_ID)
    assert (found.check.status, found.check.rows_examined) == ("pass", 3)


def test_only_the_final_evaluation_is_an_n(tmp_path):
    outcomes = {"baseline": [answers(2, checkpoint="base")]}
    found = ran(write_asked(tmp_path / "run", prompts(["a b", "a b"]), outcomes=outcomes), AUDIT_ID)
    assert (found.check.status, found.check.rows_examined) == ("inconclusive", 0)


def test_an_item_of_the_curve_is_no_duplicate_of_a_final_one(tmp_path):
    curve = answers(1, checkpoint="step000001", prompt_id="test-001") | {"item_id": ["item-001"]}
    outcomes = {"baseline": [answers(1)], "other": [curve]}
    found = ran(write_asked(tmp_path / "run", prompts(["a b", "a b"]), outcomes=outcomes), AUDIT_ID)
    assert (found.check.status, found.check.rows_examined) == ("pass", 1)


def test_questions_without_a_letter_or_digit_are_compared_as_they_stand(tmp_path):
    found = ran(write_asked(tmp_path / "run", prompts(["???", "!!!", "???"])), AUDIT_ID)
    assert [row[:3] for row in found.rows] == [("same question", "item-002", "item-000")]


def test_hostile_text_is_only_text(tmp_path):
    found = ran(write_asked(tmp_path / "run", prompts([HOSTILE, HOSTILE, "Who?"])), AUDIT_ID)
    assert faults(found) == {("same question", "fail"): 1}
    assert len(found.rows[0][-1]) < 400


def test_without_prompts_nothing_is_known(tmp_path):
    found = ran(write_asked(tmp_path / "run", None, n=3), AUDIT_ID)
    assert found.check.status == "inconclusive"
    assert "needs table prompts, which this run does not have" in found.check.reason
    found = ran(write_outcomes(tmp_path / "outcomes", {"treatment": [answers(3, prompt_id=None)]}), AUDIT_ID)
    assert "needs evals.prompt_id, which this run does not have" in found.check.reason


def test_the_gsm8k_test_set_has_no_duplicate(tmp_path):
    path = Path(__file__).parents[3] / "shared" / "data" / "gsm8k" / "test.jsonl"
    if not path.exists():
        pytest.skip("the whole of GSM8K is not beside this checkout")
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    golds = [line["answer"].rpartition("#### ")[2] for line in lines]
    columns = prompts([line["question"] for line in lines], golds=golds)
    found = ran(write_asked(tmp_path / "run", columns, arms=("treatment",)), AUDIT_ID)
    assert (found.check.status, found.check.rows_examined) == ("pass", 1319)
    assert found.check.notes == ("1,319 items ask 1,319 distinct questions",)
