"""Repeats of a greedy evaluation."""

from audit_runs.repeatability import repeats, run_with
from made_run import change_json, evals, made_plan, right, write_outcomes, write_run
from ran_audit import faults, ran

from audits.store.writer import RunWriter

AUDIT_ID = "repeatability"


def test_a_flip_is_a_warning_and_the_note_has_its_rate(tmp_path):
    path = run_with(tmp_path / "run", [right(12), right(11), right(12)])
    found = ran(path, AUDIT_ID)
    assert (found.check.status, faults(found)) == ("warn", {("verdict flips", "warn"): 1})
    assert found.rows[0][2:] == ("treatment", 0, "final", "item-011", "3 repeats score from 0.0 to 1.0")
    assert found.check.notes[:2] == (
        "baseline final: the verdict flips on 0 of 20 items (0.0000), no text was logged",
        "treatment final: the verdict flips on 1 of 20 items (0.0500), no text was logged",
    )
    assert found.check.notes[2].startswith("no plan says what the interval generalises over")
    assert found.check.rows_examined == 80


def test_a_text_that_differs_under_one_verdict_is_a_warning_of_its_own(tmp_path):
    columns = repeats([[1.0, 0.0], [1.0, 0.0]])
    write_outcomes(tmp_path / "run", {"treatment": [columns | {"completion": ["a", "b", "a ", "b"]}]})
    found = ran(tmp_path / "run", AUDIT_ID)
    assert faults(found) == {("text differs", "warn"): 1}
    assert "the text on 1 of 2" in found.check.notes[0]


def test_a_sign_that_depends_on_the_repeat_fails(tmp_path):
    found = ran(run_with(tmp_path / "run", [right(12), right(9)]), AUDIT_ID)
    assert faults(found) == {("sign depends on the repeat", "fail"): 1, ("verdict flips", "warn"): 3}
    assert found.rows[0][-1] == "treatment minus baseline is +0.1000 in one repeat and -0.0500 in another"
    assert ran(run_with(tmp_path / "zero", [right(12), right(10)]), AUDIT_ID).check.status == "warn"


def test_a_run_mended_by_hand_passes(tmp_path):
    assert ran(run_with(tmp_path / "run", [right(12), right(12)]), AUDIT_ID).check.status == "pass"


def test_one_greedy_answer_an_item_has_nothing_to_repeat(tmp_path):
    for path in (
        write_outcomes(tmp_path / "imported", {"treatment": [evals(right(3))]}),
        write_run(tmp_path / "planned", tokens_of=None, scores={"grpo": right(3), "dppo": right(4)}),
    ):
        check = ran(path, AUDIT_ID).check
        assert check.status == "not_applicable"
        assert "samples_per_item 2 at temperature 0 measures the flip rate" in check.reason


def test_samples_that_are_meant_to_differ_are_no_repeats(tmp_path):
    path = run_with(tmp_path / "run", [right(12), right(8)])
    change_json(path / "run.json", executed={"evaluation": {"temperature": 0.7}})
    check = ran(path, AUDIT_ID).check
    assert (check.status, check.reason[:39]) == ("not_applicable", "answers were sampled at temperature 0.7")


def test_repeats_that_were_planned_and_are_missing_are_inconclusive(tmp_path):
    plan = made_plan(evaluation__samples_per_item=2)
    path = write_run(tmp_path / "run", plan, tokens_of=None, scores={"grpo": right(3), "dppo": right(4)})
    check = ran(path, AUDIT_ID).check
    assert (check.status, check.rows_examined) == ("inconclusive", 0)


def test_the_note_says_what_the_plan_s_interval_is_of(tmp_path):
    path = write_run(tmp_path / "run", made_plan(evaluation__samples_per_item=2), tokens_of=None)
    RunWriter.reopen(path).write_evals("dppo", 0, "final", repeats([right(3), right(3)]))
    found = ran(path, AUDIT_ID)
    assert found.check.status == "pass"
    assert found.check.notes[-1].startswith("the interval is of these checkpoints over items")


def test_failed_samples_and_odd_scores_are_no_flips(tmp_path):
    columns = repeats([[1.0, 0.0, float("nan")], [0.0, 0.0, float("nan")]])
    errors = [None, None, None, "gone", None, None]
    write_outcomes(tmp_path / "run", {"treatment": [columns | {"error": errors}]})
    found = ran(tmp_path / "run", AUDIT_ID)
    assert (found.check.status, found.rows) == ("pass", ())
    assert "0 of 2 items" in found.check.notes[0]


def test_only_the_final_checkpoints_are_compared(tmp_path):
    path = run_with(tmp_path / "run", [right(12), right(12)])
    curve = repeats([right(0), right(0)], checkpoint="step000001")
    RunWriter.reopen(path).write_evals("treatment", 0, "step000001", curve | {"sample": [1] * 20 + [2] * 20})
    assert ran(path, AUDIT_ID).check.status == "pass"
