"""Completions that the token cap cut off, and what rests on them."""

import pytest
from asked_run import together
from audit_runs.truncation import CAP
from made_run import change_json, evals, right, rollouts, write_outcomes, write_run
from ran_audit import faults, ran

from audits.store.writer import RunWriter

AUDIT_ID = "truncation"


def answered(n_right, n_wrong, n_tokens=10, stop_reason="stop"):
    """Score columns of n answers of one length and end, without item ids."""
    n = n_right + n_wrong
    lengths = n_tokens if isinstance(n_tokens, list) else [n_tokens] * n
    return {"scores": right(n_right, n), "n_tokens": lengths, "stop_reason": [stop_reason] * n}


def arm(*parts, **extra):
    return evals(**together(*parts), **extra)


def found_in(path, treatment, baseline=None, *, executed=None):
    arms = {"treatment": [treatment]} | ({"baseline": [baseline]} if baseline else {})
    write_outcomes(path, arms)
    evaluation = {"evaluation": {"max_tokens": CAP}} if executed is None else executed
    change_json(path / "run.json", executed=evaluation)
    return ran(path, AUDIT_ID)


def test_the_three_countings_stand_beside_each_other_with_their_denominators(tmp_path):
    columns = arm(answered(40, 50), answered(2, 8, CAP, "length"))
    found = found_in(tmp_path / "run", columns)
    assert found.check.notes == (
        "treatment final: 10 of 100 cut (cap 64); accuracy 0.4200 (42/100) as labelled, "
        "0.4000 (40/100) with cut counted wrong, 0.4444 (40/90) without cut",
    )
    assert faults(found) == {("right though cut", "warn"): 2}
    assert found.check.status == "warn"


def test_where_nothing_or_everything_is_cut_the_note_says_so(tmp_path):
    assert found_in(tmp_path / "none", arm(answered(1, 1))).check.notes == (
        "treatment final: 0 of 2 cut (cap 64); accuracy 0.5000 (1/2)",
    )
    found = found_in(tmp_path / "all", arm(answered(0, 2, CAP, "max_tokens")))
    assert found.check.notes[0].endswith("0.0000 (0/2) with cut counted wrong, none is not cut")
    assert faults(found) == {("most are cut", "warn"): 1}


def test_half_cut_is_not_most(tmp_path):
    assert found_in(tmp_path / "run", arm(answered(1, 0), answered(0, 1, CAP, "length"))).check.status == "pass"


@pytest.mark.parametrize(
    ("grader", "severity"), [("numeric_exact", "fail"), ("boxed_number", "warn"), ("mine", "warn")]
)
def test_a_cut_answer_may_be_right_only_for_a_grader_that_takes_one(grader, severity, tmp_path):
    columns = arm(answered(5, 5), answered(1, 0, CAP, "length"))
    executed = {"evaluation": {"max_tokens": CAP, "grader": grader}}
    assert faults(found_in(tmp_path / "run", columns, executed=executed)) == {("right though cut", severity): 1}


def test_lengths_are_held_to_the_cap_that_is_stated(tmp_path):
    columns = arm(
        answered(1, 3), answered(0, 2, CAP + 1), answered(0, 1, CAP - 1, "LENGTH"), answered(0, 1, CAP, "length")
    )
    found = found_in(tmp_path / "run", columns)
    assert faults(found) == {("beyond the cap", "fail"): 2, ("cut below the cap", "fail"): 1}
    assert [row[6] for row in found.rows] == ["item-004", "item-005", "item-006"]


def test_without_a_stated_cap_several_cut_lengths_are_a_warning(tmp_path):
    columns = arm(answered(2, 3), answered(0, 2, [30, 50], "length"))
    found = found_in(tmp_path / "run", columns, executed={})
    assert faults(found) == {("cut at several lengths", "warn"): 1}
    assert "2 cut completions have 30 to 50 tokens" in found.rows[0][-1]
    assert "cap not stated" in found.check.notes[0]


@pytest.mark.parametrize("cap", ["64", True, 0, -1, None, 2**40])
def test_a_cap_that_is_none_is_not_stated(cap, tmp_path):
    found = found_in(tmp_path / "run", arm(answered(1, 1, 100)), executed={"evaluation": {"max_tokens": cap}})
    assert found.check.status == "pass"
    assert "cap not stated" in found.check.notes[0]


@pytest.mark.parametrize(("at_cap", "status"), [(1, "pass"), (2, "pass"), (3, "warn")])
def test_completions_that_pile_up_at_the_cap_did_not_end_by_themselves(at_cap, status, tmp_path):
    columns = arm(answered(5, 0, [10, 10, 11, 12, 13]), answered(0, at_cap, CAP))
    found = found_in(tmp_path / "run", columns)
    assert found.check.status == status
    if status == "warn":
        assert faults(found) == {("lengths pile up at the cap", "warn"): 1}
        assert "3 of 8 completions that ended by themselves have exactly 64 tokens" in found.rows[0][-1]


def test_one_completion_at_the_cap_is_chance(tmp_path):
    assert found_in(tmp_path / "run", arm(answered(1, 0, CAP))).check.status == "pass"


def test_a_sign_that_rests_on_cut_answers_fails(tmp_path):
    treatment = arm(answered(40, 40), answered(20, 0, CAP, "length"))
    baseline = arm(answered(50, 50))
    found = found_in(tmp_path / "run", treatment, baseline)
    assert faults(found)["sign rests on cut answers", "fail"] == 1
    (detail,) = (row[-1] for row in found.rows if row[1] == "fail")
    assert detail == "treatment minus baseline is +0.1000 as labelled and -0.1000 with cut answers counted wrong"
    mended = found_in(tmp_path / "mended", arm(answered(60, 40)), baseline)
    assert (mended.check.status, mended.rows) == ("pass", ())


def test_a_sign_that_turns_without_the_cut_answers_and_unequal_cuts_are_warnings(tmp_path):
    treatment = arm(answered(60, 40))
    baseline = arm(answered(40, 20), answered(0, 40, CAP, "length"))
    found = found_in(tmp_path / "run", treatment, baseline)
    assert faults(found) == {("sign turns without cut answers", "warn"): 1, ("arms are cut unequally", "warn"): 1}
    assert "0.0000 of the treatment's and 0.4000 of the baseline's" in found.rows[0][-1]


def test_cuts_that_explain_less_than_the_difference_are_no_finding(tmp_path):
    baseline = arm(answered(20, 60), answered(0, 20, CAP, "length"))
    assert found_in(tmp_path / "run", arm(answered(90, 10)), baseline).check.status == "pass"


def test_a_score_that_is_no_number_does_not_hide_the_sign(tmp_path):
    broken = {"scores": [float("nan")], "n_tokens": [10], "stop_reason": ["stop"]}
    treatment = arm(answered(40, 40), answered(20, 0, CAP, "length"), broken)
    found = found_in(tmp_path / "run", treatment, arm(answered(50, 50)))
    assert faults(found)["sign rests on cut answers", "fail"] == 1


def test_cut_shares_that_chance_explains_are_no_finding(tmp_path):
    treatment = arm(answered(50, 49), answered(0, 1, CAP, "length"))
    baseline = arm(answered(50, 47), answered(0, 3, CAP, "length"))
    assert found_in(tmp_path / "run", treatment, baseline).check.status == "pass"


def test_an_evaluation_without_length_and_end_is_inconclusive(tmp_path):
    bare, logged = evals(right(5)), arm(answered(5, 15))
    found = found_in(tmp_path / "run", bare, logged)
    assert faults(found) == {("end not logged", "inconclusive"): 1}
    assert found.rows[0][2] == "treatment"
    assert found_in(tmp_path / "bare", bare).check.status == "inconclusive"
    reason = ran(tmp_path / "bare", AUDIT_ID).check.reason
    assert reason.startswith(
        "needs evals.n_tokens or evals.stop_reason or table rollouts, which this run does not have"
    )


def test_an_item_that_failed_has_no_length_to_miss(tmp_path):
    columns = evals(
        [1.0, 0.0, None], n_tokens=[10, 11, None], stop_reason=["stop", "stop", None], error=[None, None, "x"]
    )
    found = found_in(tmp_path / "run", columns)
    assert (found.check.status, found.check.notes) == (
        "pass", ("treatment final: 0 of 2 cut (cap 64); accuracy 0.5000 (1/2)",),
    )  # fmt: skip


def test_each_arm_has_its_own_cap(tmp_path):
    write_outcomes(tmp_path / "run", {"treatment": [arm(answered(1, 1, 100))], "baseline": [arm(answered(1, 1, 100))]})
    arms = [
        {"arm": name, "seed": 0, "role": name, "name": name, "settings": {"evaluation.max_tokens": cap}}
        for name, cap in (("treatment", 100), ("baseline", 99))
    ]
    change_json(tmp_path / "run" / "run.json", arms=arms)
    found = ran(tmp_path / "run", AUDIT_ID)
    assert {(row[0], row[2]) for row in found.rows if row[1] == "fail"} == {("beyond the cap", "baseline")}


def test_rollouts_are_held_to_their_own_cap_and_their_reward_may_be_anything(tmp_path):
    path = write_run(tmp_path / "run", rollouts_of=lambda arm, seed, step: cut_rollouts(step, 8))
    found = ran(path, AUDIT_ID)
    assert found.check.status == "pass"
    assert (
        found.check.notes[0] == "dppo rollouts: 2 of 8 cut (cap 8); mean reward 0.9000 of the cut, 0.5000 of the others"
    )
    path = write_run(tmp_path / "beyond", rollouts_of=lambda arm, seed, step: cut_rollouts(step, 9))
    assert faults(ran(path, AUDIT_ID)) == {("beyond the cap", "fail"): 4}


def cut_rollouts(step, length):
    columns = rollouts(step, [0.9, 0.0, 1.0, 0.5])
    return columns | {"stop_reason": ["length", "stop", "stop", "stop"], "n_tokens": [length, 2, 3, 4]}


def test_scores_that_are_no_numbers_and_odd_words_do_not_break_it(tmp_path):
    columns = evals(
        [float("nan"), float("inf"), 1.0, 0.0, float("nan")],
        n_tokens=[1, 2, 2**31 - 1, -5, CAP],
        stop_reason=["'; DROP TABLE evals; --", "\x00", "x" * 100_000, "stop", "length"],
    )
    assert faults(found_in(tmp_path / "run", columns)) == {("beyond the cap", "fail"): 1}


def test_a_curve_s_point_is_examined_and_one_row_is_enough(tmp_path):
    path = write_outcomes(tmp_path / "run", {"treatment": [arm(answered(1, 0))]})
    RunWriter.reopen(path).write_evals(
        "treatment", 0, "step000002", arm(answered(0, 1, CAP + 1), checkpoint="step000002")
    )
    change_json(path / "run.json", executed={"evaluation": {"max_tokens": CAP}})
    found = ran(path, AUDIT_ID)
    assert [(row[0], row[4]) for row in found.rows] == [("beyond the cap", "evals step000002")]
    assert len(found.check.notes) == 1


def test_without_a_stop_reason_the_length_says_what_was_cut(tmp_path):
    columns = arm(answered(1, 2)) | {"stop_reason": [None] * 3, "n_tokens": [10, CAP - 1, CAP]}
    found = found_in(tmp_path / "run", columns)
    assert found.check.status == "pass"
    assert found.check.notes[0].startswith("treatment final: 1 of 3 cut (cap 64); accuracy 0.3333 (1/3) as labelled")
    found = found_in(tmp_path / "no_cap", columns, executed={})
    assert faults(found) == {("end not logged", "inconclusive"): 1}
    assert found.check.notes[0].endswith("; of 3 it is not known how they ended")


def test_rollouts_of_which_nobody_knows_how_they_ended_are_a_note(tmp_path):
    path = write_outcomes(tmp_path / "run", {"treatment": [arm(answered(1, 2))]})
    columns = rollouts(0, [1.0, 0.0]) | {"stop_reason": [None, None]}
    RunWriter.reopen(path).write_step("treatment", 0, 0, {"rollouts": columns})
    found = ran(path, AUDIT_ID)
    assert found.check.status == "pass"
    assert found.check.notes[1] == (
        "treatment rollouts: 0 of 2 cut (cap not stated); of 2 it is not known how they ended"
    )
