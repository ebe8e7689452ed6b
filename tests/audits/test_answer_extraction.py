"""Labels against what the completions answer."""

import json
from pathlib import Path

import pytest
from audit_runs.answer_extraction import passing, solutions
from graded_run import graded_evals, write_graded
from made_run import STARTED_AT, evals, write_outcomes

from audits.engine.audit import run_audit
from audits.store.manifest import ArmRecord, Manifest
from audits.store.reader import connect, open_run
from audits.store.writer import RunWriter

SAMPLE = Path(__file__).parent.parent / "data" / "gsm8k" / "model_solutions.jsonl"
WHOLE_FILE = Path(__file__).parents[3] / "shared" / "data" / "gsm8k" / "example_model_solutions.jsonl"


def audited(path, audit_id="answer_extraction"):
    run = open_run(path)
    with connect(run) as connection:
        return run_audit(connection, run, audit_id)


def judged(tmp_path, completion, recorded, gold="18", **columns):
    """Audit one imported completion; return (severity, fault), None where nothing is found."""
    score = {True: 1.0, False: 0.0}.get(recorded, recorded)
    one = evals([score], completion=[completion], gold=[gold], **columns)
    findings = audited(write_outcomes(tmp_path / "run", {"treatment": [one]}))
    assert len(findings.rows) <= 1
    return dict(zip(findings.columns, findings.rows[0], strict=True)) if findings.rows else findings.check.status


def found(row):
    return row if isinstance(row, str) else (row["severity"], row["fault"])


@pytest.mark.parametrize("completion", ["so\n#### 18", "so\nA: $18.00", r"\boxed{18}", "18", "18 dollars.",
                                        r"\boxed{12}, no: \boxed{18}", "so 20\n#### 18\nand 5 more"])  # fmt: skip
def test_a_marked_or_bare_answer_that_is_recorded_right_is_right(tmp_path, completion):
    assert judged(tmp_path, completion, True) == "pass"


@pytest.mark.parametrize(
    ("completion", "fault"),
    [
        (r"\boxed{18}, no: \boxed{12}", "right by a lenient way only"),
        ("#### 17\nor rather 18", "right by a lenient way only"),
        ("the 18 eggs cost 20", "right by an intermediate number"),
        ("18 eggs\n#### 20", "right by an intermediate number"),
        (r"\boxed{18 or 20}", "right by one of several answers"),
        ("#### 20", "right without the gold number"),
        ("", "right without the gold number"),
        (" \n", "right without the gold number"),
    ],
)
def test_a_label_that_claims_an_answer_which_was_not_given_is_a_failure(tmp_path, completion, fault):
    assert found(judged(tmp_path, completion, True)) == ("fail", fault)


@pytest.mark.parametrize(("others", "severity"), [([], "warn"), (["that makes 17"], "warn"), (["so\n#### 18"], "fail")])
def test_an_unmarked_answer_is_a_failure_only_where_some_completion_of_an_arm_marks_its_own(tmp_path, others, severity):
    """Where no model was asked for a marker, the last number is how such answers are graded."""
    first = evals([1.0], completion=["9 * 2 is 18"], gold=["18"])
    arms = {"treatment": [first]} | ({"baseline": [evals([1.0], completion=others, gold=["18"])]} if others else {})
    findings = audited(write_outcomes(tmp_path / "run", arms))
    rows = [dict(zip(findings.columns, row, strict=True)) for row in findings.rows]
    assert {(row["severity"], row["arm"]) for row in rows if row["arm"] == "treatment"} == {(severity, "treatment")}


@pytest.mark.parametrize("completion", ["so\n#### 18", r"\boxed{18}", "18"])
def test_a_label_that_denies_a_marked_answer_is_a_failure(tmp_path, completion):
    assert found(judged(tmp_path, completion, False)) == ("fail", "wrong against the strict answer")


def test_two_strict_answers_or_a_cut_off_completion_make_it_a_warning(tmp_path):
    two = judged(tmp_path / "two", "\\boxed{20}\n#### 18", False)
    cut = judged(tmp_path / "cut", "#### 18", False, stop_reason="length")
    assert found(two) == found(cut) == ("warn", "wrong against the strict answer")


@pytest.mark.parametrize("completion", ["it is 18.", r"\boxed{18} no, \boxed{20}", "A: 20\nQ: 18"])
def test_a_gold_number_that_only_a_lenient_way_finds_is_a_warning_where_recorded_wrong(tmp_path, completion):
    assert found(judged(tmp_path, completion, False)) == ("warn", "wrong, found by a lenient way")


@pytest.mark.parametrize(
    ("completion", "gold"),
    [(r"\boxed{eighteen}", "18"), ("It is eighteen.", "18"), (r"\boxed{2 million}", "2000000"), ("#### 18x", "18")],
)
def test_an_answer_that_the_exact_comparison_cannot_read_is_a_warning(tmp_path, completion, gold):
    assert found(judged(tmp_path, completion, True, gold)) == ("warn", "answer not read as a number")


@pytest.mark.parametrize("completion", ["no idea", "", "#### 20", r"\boxed{20}", "18 eggs\n#### 20"])
def test_a_wrong_answer_that_is_recorded_wrong_is_no_finding(tmp_path, completion):
    assert judged(tmp_path, completion, False) == "pass"


@pytest.mark.parametrize(
    ("label", "gold"), [(0.5, "18"), (float("nan"), "18"), (1.0, "A"), (1.0, ""), (1.0, "18 or 20")]
)
def test_without_a_label_or_a_gold_number_there_is_nothing_to_examine(tmp_path, label, gold):
    assert judged(tmp_path, "#### 20", label, gold) == "inconclusive"


def test_an_errored_item_is_not_examined(tmp_path):
    assert judged(tmp_path, "#### 20", True, error="timeout") == "inconclusive"


def test_the_way_that_a_run_states_for_all_its_answers_is_its_strict_way(tmp_path):
    stated = judged(tmp_path / "one", "9 * 2 is 18", True, extraction="last_number")
    assert stated == "pass"
    two = evals(
        [1.0, 1.0], completion=["9 * 2 is 18", "#### 18"], gold="18", extraction=["last_number", "strict_marker"]
    )
    findings = audited(write_outcomes(tmp_path / "two", {"treatment": [two]}))
    assert [row[findings.columns.index("fault")] for row in findings.rows] == ["right by a lenient way only"]


def test_a_grader_of_the_plan_is_the_strict_way(tmp_path):
    completions = ["The sum is 18.", "18 and then 20", "#### 18"]
    run = write_graded(
        tmp_path / "run",
        {arm: graded_evals(completions, grader="last_integer") for arm in ("dppo", "grpo")},
        grader="last_integer",
    )
    assert audited(run).check.status == "pass"


def test_what_the_plans_grader_does_not_take_is_a_warning_where_recorded_wrong(tmp_path):
    boxless = graded_evals(["#### 18", r"\boxed{18}"], grader="boxed_number")
    findings = audited(write_graded(tmp_path / "run", {"dppo": boxless, "grpo": boxless}, grader="boxed_number"))
    assert findings.check.status == "warn"
    assert {row[findings.columns.index("fault")] for row in findings.rows} == {"wrong, found by a lenient way"}


def test_an_unknown_ending_that_the_plans_grader_needs_is_not_held_against_the_run(tmp_path):
    columns = graded_evals(["It is 18", "no idea"], grader="last_integer") | {"stop_reason": [None, None]}
    findings = audited(write_graded(tmp_path / "run", {"dppo": columns, "grpo": columns}, grader="last_integer"))
    assert (findings.check.status, findings.check.rows_examined) == ("pass", 2)


def test_a_training_reward_against_the_answer_is_a_warning(tmp_path):
    manifest = Manifest(run_id="run", kind="imported", status="complete", started_at=STARTED_AT,
                        arms=[ArmRecord(arm="treatment", seed=0, role="treatment", name="treatment")])  # fmt: skip
    writer = RunWriter.create(tmp_path / "run", manifest, None)
    texts = ["#### 18", "#### 20", "#### 18", "#### 20", "#### 20"]
    rollouts = {
        "step": [0] * 5, "rollout_id": list(range(5)), "group_id": [0] * 5, "prompt_id": ["p"] * 5,
        "reward": [0.9, 1.0, -0.1, 0.0, 0.2], "advantage": [0.0] * 5, "n_tokens": [5] * 5, "stop_reason": ["stop"] * 5,
        "completion": texts, "gold": ["18"] * 5,
    }  # fmt: skip
    writer.write_step("treatment", 0, 0, {"rollouts": rollouts})
    findings = audited(tmp_path / "run")
    rows = [dict(zip(findings.columns, row, strict=True)) for row in findings.rows]
    assert [(row["id"], row["severity"], row["recorded_score"]) for row in rows] == [
        ("1", "warn", 1.0),
        ("2", "warn", -0.1),
    ]
    assert findings.check.rows_examined == 4  # a reward of 0.2 says neither right nor wrong


def test_every_seed_checkpoint_and_sample_is_examined(tmp_path):
    good, bad = solutions(4, right=2), solutions(4, right=2, lenient=1)
    twice = {name: good[name] + bad[name] for name in good} | {"sample": [0] * 4 + [1] * 4}
    middle = bad | {"checkpoint": ["step000002"] * 4}
    run = write_outcomes(tmp_path / "run", {"treatment": [good, bad], "baseline": [twice, middle]})
    findings = audited(run)
    at = [findings.columns.index(name) for name in ("arm", "seed", "checkpoint", "sample")]
    assert [tuple(row[i] for i in at) for row in findings.rows] == [
        ("baseline", 0, "final", 1),
        ("baseline", 1, "step000002", 0),
        ("treatment", 1, "final", 0),
    ]


def test_a_run_mended_by_hand_passes(tmp_path):
    columns = solutions(20, right=5, lenient=3)
    mended = columns | {"score": [1.0] * 5 + [0.0] * 15, "correct": [True] * 5 + [False] * 15}
    assert audited(write_outcomes(tmp_path / "bad", {"treatment": [columns]})).check.status == "fail"
    assert audited(write_outcomes(tmp_path / "mended", {"treatment": [mended]})).check.status == "warn"


def test_the_notes_count_each_way_beside_the_label_of_each_arm(tmp_path):
    notes = audited(passing(tmp_path / "run")).check.notes
    assert notes == (
        "evals of baseline: 400 of 1,000 answers recorded right. The gold number is found, of those right and of "
        "those wrong: last_number 400 and 0, strict_marker 400 and 0",
        "evals of treatment: 600 of 1,000 answers recorded right. The gold number is found, of those right and of "
        "those wrong: last_number 600 and 0, strict_marker 600 and 0",
    )


def test_hostile_text_neither_stops_it_nor_counts_as_an_answer(tmp_path):
    texts = [
        "\x00'; DROP TABLE evals; --",
        "9" * 10**6,
        "\\boxed{" * 10**4,
        "#### 1e999999999",
        "{}" * 10**5,
        "\u202e18",
    ]
    run = write_outcomes(tmp_path / "run", {"treatment": [evals([0.0] * 6, completion=texts, gold="19")]})
    findings = audited(run)
    assert (findings.check.status, findings.check.rows_examined) == ("pass", 6)


def outcomes_of(path):
    """Write the four models' solutions of a file of GSM8K's authors; return (path of the run, answers, unmarked)."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    arms, unmarked = {}, 0
    for model in sorted(name for name, value in lines[0].items() if isinstance(value, dict)):
        solved = [line[model] for line in lines]
        texts = [entry["solution"] for entry in solved]
        unmarked += sum(not any(row.startswith("A:") for row in text.split("\n")) for text in texts)
        golds = [line["ground_truth"].rsplit("A: ", 1)[1].strip() for line in lines]
        labels = [entry["is_correct"] for entry in solved]
        arms[model] = [evals([float(label) for label in labels], correct=labels, completion=texts, gold=golds)]
    return arms, unmarked


def check_solutions(tmp_path, path, n, n_unmarked):
    arms, unmarked = outcomes_of(path)
    findings = audited(write_outcomes(tmp_path / "run", arms))
    assert (findings.check.status, findings.check.rows_examined, unmarked) == ("pass", n, n_unmarked)
    run = open_run(tmp_path / "run")
    with connect(run) as connection:
        run_audit(connection, run, "answer_extraction")
        sql = (
            "SELECT count(*) FILTER (recorded = coalesce(right_by_strict_marker, false)), "
            "count(*) FILTER (recorded = coalesce(right_by_last_number, false)), "
            "count(*) FILTER (answer_by_strict_marker IS NULL) FROM derived_answers"
        )
        assert connection.execute(sql).fetchall() == [(n, n, n_unmarked)]


def test_real_solutions_and_their_labels_give_no_finding(tmp_path):
    check_solutions(tmp_path, SAMPLE, 48, 2)


@pytest.mark.skipif(not WHOLE_FILE.exists(), reason="needs ../shared/data/gsm8k/example_model_solutions.jsonl")
def test_all_5276_real_labels_are_confirmed_by_marker_and_by_last_number(tmp_path):
    check_solutions(tmp_path, WHOLE_FILE, 5276, 11)
