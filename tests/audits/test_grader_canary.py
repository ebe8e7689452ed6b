"""Known answers through the run's grader, and what its labels say of it."""

import pytest
from audit_runs.grader_canary import passing
from graded_run import graded_evals, write_graded
from made_run import evals, write_outcomes

from analysis.graders import boxed_number, last_integer, numeric_exact
from analysis.graders.grade import Grade, grader_ids, load_grader
from audits.engine.audit import run_audit
from audits.store.reader import connect, open_run


def audited(path):
    run = open_run(path)
    with connect(run) as connection:
        return run_audit(connection, run, "grader_canary")


def faults(findings):
    return {row[findings.columns.index("fault")] for row in findings.rows}


def labelled(path, completions, right, gold="18", **columns):
    """Audit imported completions with these labels."""
    scores = [float(label) for label in right]
    return audited(write_outcomes(path, {"treatment": [evals(scores, completion=completions, gold=gold, **columns)]}))


@pytest.mark.parametrize("grader_id", grader_ids())
@pytest.mark.parametrize("gold", ["18", "0", "-3", "1234567890123"])
def test_a_graders_example_of_a_gold_answer_is_right_and_of_another_is_wrong(grader_id, gold):
    grader = load_grader(grader_id)
    assert grader.grade(grader.example(gold), "stop", gold).correct
    assert not grader.grade(grader.example("19"), "stop", gold).correct


@pytest.mark.parametrize(
    ("module", "grader"),
    [(boxed_number, "boxed_number"), (last_integer, "last_integer"), (numeric_exact, "numeric_exact")],
)
@pytest.mark.parametrize(("says", "fault"), [(True, "wrong answer graded right"), (False, "right answer graded wrong")])
def test_a_grader_that_says_the_same_of_everything_is_caught(tmp_path, monkeypatch, module, grader, says, fault):
    honest = graded_evals([module.example("18"), module.example("20")], grader=grader, gold=["18", "19"])
    run = write_graded(tmp_path / "run", {"dppo": honest, "grpo": honest}, grader=grader)
    assert audited(run).check.status == "pass"
    monkeypatch.setattr(module, "grade", lambda completion, stop_reason, gold: Grade(float(says), says, None, ""))
    assert fault in faults(audited(run))


def test_the_canaries_are_the_runs_own_gold_answers_and_their_number_is_printed(tmp_path):
    findings = audited(passing(tmp_path / "run"))
    # 13 gold answers: right, empty, plus one, another item's.
    assert findings.check.notes == ("evals: 52 known answers put to numeric_exact, 52 graded as they must be",)


def test_the_canaries_of_a_gold_answer(tmp_path):
    graded = graded_evals([r"\boxed{18}", r"\boxed{20}"], grader="boxed_number", gold=["18", "20"])
    run = open_run(write_graded(tmp_path / "run", {"dppo": graded, "grpo": graded}, grader="boxed_number"))
    with connect(run) as connection:
        run_audit(connection, run, "grader_canary")
        sql = "SELECT kind, completion, expected FROM derived_canaries WHERE gold = '18' ORDER BY ALL"
        assert connection.execute(sql).fetchall() == [
            ("another item's gold answer", r"So the answer is \boxed{20}.", False),
            ("gold answer", r"So the answer is \boxed{18}.", True),
            ("gold plus one", r"So the answer is \boxed{19}.", False),
            ("no answer", "", False),
        ]


def test_a_gold_answer_that_the_grader_refuses_is_a_failure(tmp_path):
    good, bad = graded_evals(["18"]), graded_evals(["18"]) | {"gold": ["many"]}
    findings = audited(write_graded(tmp_path / "run", {"dppo": bad, "grpo": good}))
    assert {"gold answer refused", "unreadable gold graded right"} <= faults(findings)


@pytest.mark.parametrize("n_right", [1, 3])
def test_labels_that_are_all_wrong_against_a_marked_answer_are_a_failure(tmp_path, n_right):
    completions = ["#### 18"] * n_right + ["#### 20"] * (5 - n_right)
    findings = labelled(tmp_path / "run", completions, [False] * 5)
    assert (findings.check.status, faults(findings)) == ("fail", {"everything graded wrong"})
    assert f"right in {n_right}, wrong in {5 - n_right}" in str(findings.rows[0])


def test_labels_that_are_all_right_against_a_marked_answer_are_a_failure(tmp_path):
    findings = labelled(tmp_path / "run", ["#### 18", "#### 20"], [True, True])
    assert (findings.check.status, faults(findings)) == ("fail", {"everything graded right"})


@pytest.mark.parametrize(
    ("completions", "right"),
    [
        (["#### 20", "no idea"], [False, False]),
        (["it is 18", "no idea"], [False, False]),
        (["#### 18", "#### 18"], [True, True]),
        (["#### 18", "#### 20"], [True, False]),
        (["#### 18", "#### 18", "#### 20"], [True, False, False]),
        (["#### 18"], [True]),
    ],
)
def test_labels_that_differ_or_that_the_answers_bear_out_are_no_finding(tmp_path, completions, right):
    assert labelled(tmp_path / "run", completions, right).check.status == "pass"


def test_each_checkpoint_is_looked_at_by_itself(tmp_path):
    early = evals([0.0, 0.0], checkpoint="base", completion=["#### 18", "#### 20"], gold="18")
    final = evals([1.0, 0.0], completion=["#### 18", "#### 20"], gold="18")
    findings = audited(write_outcomes(tmp_path / "run", {"treatment": [final, early], "baseline": [final]}))
    assert [row[:6] for row in findings.rows] == [
        ("everything graded wrong", "fail", "evals", "treatment", 1, "base"),
    ]


def test_an_empty_gold_answer_that_was_graded_right_is_a_failure(tmp_path):
    findings = labelled(tmp_path / "run", ["18", "19", "20"], [True, False, True], gold=["", "", "20"])
    assert (findings.check.status, len(findings.rows), faults(findings)) == ("fail", 1, {"empty gold graded right"})


def test_different_answers_that_are_all_right_for_one_text_are_a_warning(tmp_path):
    loose = labelled(tmp_path / "loose", ["a", "b"], [True, True], gold="(A)", extracted=["x", "y"])
    assert (loose.check.status, faults(loose)) == ("warn", {"any answer graded right"})
    same = labelled(tmp_path / "same", ["a", "A"], [True, True], gold="(A)", extracted=["x", "X "])
    strict = labelled(tmp_path / "strict", ["a", "b"], [True, False], gold="(A)", extracted=["x", "y"])
    assert same.check.status == strict.check.status == "pass"


def test_a_run_mended_by_hand_passes(tmp_path):
    texts = ["#### 18"] * 3 + ["#### 20"]
    assert labelled(tmp_path / "bad", texts, [False] * 4).check.status == "fail"
    assert labelled(tmp_path / "mended", texts, [True] * 3 + [False]).check.status == "pass"


def test_where_no_grader_is_named_it_says_that_labels_alone_were_looked_at(tmp_path):
    found = labelled(tmp_path / "run", ["#### 18", "#### 20", "#### 18"], [True, False, True])
    alone = "evals: no grader of ours is named, so 0 known answers were put to one; labels alone were looked at: "
    assert (found.check.status, found.check.notes) == ("pass", (alone + "2 of 3 right",))
    seeds = [evals(scores, completion=["#### 18", "#### 20"], gold="18") for scores in ([1.0, 0.0], [1.0, 1.0])]
    path = write_outcomes(tmp_path / "sets", {"treatment": seeds[:1], "baseline": seeds[1:]})
    assert audited(path).check.notes == (alone + "in 2 sets of 2, 1 to 2 right",)


def test_without_a_grader_and_without_a_label_nothing_was_examined(tmp_path):
    columns = evals([0.5, 0.5], completion="#### 18", gold="18")
    columns.pop("correct", None)
    found = audited(write_outcomes(tmp_path / "run", {"treatment": [columns]}))
    assert (found.check.status, found.check.rows_examined, found.check.value) == ("inconclusive", 0, None)
    assert "0 known answers were put to one" in found.check.reason
