"""Arms that were not measured in one way: what counts as a difference, and what nobody stated."""

import pytest
from audit_runs.comparable_arms import stated
from executed_run import outcomes, prompts, small_plan, write_executed
from made_run import change_json, evals, right, write_outcomes

from audits.engine.audit import run_audit
from audits.store.reader import connect, open_run


def findings(path):
    run = open_run(path)
    with connect(run) as connection:
        return run_audit(connection, run, "comparable_arms")


def rows(path, *columns):
    found = findings(path)
    return [tuple(dict(zip(found.columns, values, strict=True))[name] for name in columns) for values in found.rows]


def test_a_vote_against_single_answers_fails_and_names_both(tmp_path):
    path = stated(tmp_path / "run", {"aggregation": "single"}, {"aggregation": "majority_of_5"})
    assert findings(path).check.status == "fail"
    assert rows(path, "fault", "detail") == [("other aggregation", "baseline: single; treatment: majority_of_5")]
    assert findings(path).check.notes[0] == "aggregation differs: baseline: single; treatment: majority_of_5"


def test_a_vote_against_a_vote_of_as_many_passes(tmp_path):
    both = {"aggregation": "majority_of_5"}
    assert findings(stated(tmp_path / "run", both, both)).check.status == "pass"


@pytest.mark.parametrize(
    "setting", ["evaluation.max_tokens", "evaluation.temperature", "evaluation.grader", "dataset.name", "rollout.stop"]
)
def test_a_setting_that_differs_between_the_arms_fails_whatever_it_is_called(tmp_path, setting):
    path = stated(tmp_path / "run", {setting: 2048}, {setting: 512})
    assert rows(path, "fault", "severity", "setting") == [("other setting", "fail", setting)]
    assert findings(stated(tmp_path / "same", {setting: 2048}, {setting: 2048.0})).check.status == "pass"


@pytest.mark.parametrize("setting", ["evaluation.seed", "optimizer.learning_rate", "wandb_id"])
def test_a_setting_that_is_not_of_the_measurement_may_differ(tmp_path, setting):
    assert findings(stated(tmp_path / "run", {setting: 0}, {setting: 42})).check.status == "pass"


def test_a_setting_that_one_arm_alone_states_is_inconclusive(tmp_path):
    path = stated(tmp_path / "run", {}, {"aggregation": "majority_of_5"})
    assert findings(path).check.status == "inconclusive"
    assert rows(path, "fault") == [("stated by some arms",)]


def test_what_a_log_shows_of_one_arm_asks_nothing_of_the_other(tmp_path):
    cut = [evals(right(4), n_tokens=8, stop_reason=["length", *["stop"] * 19])]
    path = write_outcomes(tmp_path / "run", {"baseline": [evals(right(3))], "treatment": cut})
    assert findings(path).check.status == "pass"


def test_completions_of_other_lengths_that_ended_by_themselves_show_no_cap(tmp_path):
    ended = [[evals(right(3), n_tokens=longest, stop_reason="stop")] for longest in (5, 8)]
    path = write_outcomes(tmp_path / "run", {"baseline": ended[0], "treatment": ended[1]})
    assert findings(path).check.status == "pass"


def test_completions_that_were_cut_at_other_lengths_show_two_caps(tmp_path):
    cut = [evals(right(3), n_tokens=cap, stop_reason="length") for cap in (512, 2048)]
    path = write_outcomes(tmp_path / "run", {"baseline": [cut[0]], "treatment": [cut[1]]})
    assert rows(path, "setting", "detail") == [("evaluation.max_tokens", "baseline: 512; treatment: 2048")]


def test_other_numbers_of_samples_fail(tmp_path):
    two = {name: [*values, *values] for name, values in evals(right(3)).items()} | {"sample": [0] * 20 + [1] * 20}
    path = write_outcomes(tmp_path / "run", {"baseline": [evals(right(3))], "treatment": [two]})
    assert rows(path, "fault", "detail") == [("samples an item", "baseline: 1; treatment: 2")]
    assert "treatment: items 20, seeds 1, samples an item 2" in findings(path).check.notes


def test_missing_items_are_counted_for_each_arm_and_seed(tmp_path):
    seeds = [evals(right(3)), evals(right(3, 18))]
    path = write_outcomes(tmp_path / "run", {"baseline": [evals(right(3))], "treatment": seeds})
    assert rows(path, "fault", "arm", "seed") == [("other items", "treatment", 1)]
    assert "2 of the 20 items" in rows(path, "detail")[0][0]


def test_one_item_with_two_prompts_fails_by_its_hash(tmp_path):
    def swapped(arm, n, **where):
        columns = outcomes(arm, n, **where)
        if arm == "dppo":
            columns["prompt_id"] = ["test-001", *columns["prompt_id"][1:]]
        return columns

    path = write_executed(tmp_path / "run", outcomes_of=swapped)
    assert rows(path, "fault", "item_id") == [("other prompt", "test-000")]
    assert "prompts are compared by hash on 20 of 20 items" in findings(path).check.notes
    alike = prompts() | {"prompt_sha256": ["same"] * 38}
    assert (
        findings(write_executed(tmp_path / "alike", outcomes_of=swapped, prompt_columns=alike)).check.status == "pass"
    )


def test_an_arm_without_a_final_evaluation_is_inconclusive(tmp_path):
    path = write_outcomes(
        tmp_path / "run", {"baseline": [evals(right(3))], "treatment": [evals(right(3), checkpoint="step000001")]}
    )
    assert findings(path).check.status == "inconclusive"
    assert rows(path, "fault", "arm") == [("not evaluated", "treatment")]


def test_other_arms_are_passed_over_beside_a_baseline_and_a_treatment_and_compared_without(tmp_path):
    arms = {"baseline": [evals(right(3))], "treatment": [evals(right(4))], "third": [evals(right(2, 10))]}
    assert findings(write_outcomes(tmp_path / "run", arms)).check.status == "pass"
    others = write_outcomes(tmp_path / "others", {"a": [evals(right(3))], "b": [evals(right(2, 10))]})
    assert rows(others, "fault", "arm") == [("other items", "b")]


def test_one_arm_is_nothing_to_compare(tmp_path):
    found = findings(write_outcomes(tmp_path / "run", {"treatment": [evals(right(3)), evals(right(4))]}))
    assert (found.check.status, found.check.reason) == ("not_applicable", "one arm is nothing to compare")


def test_a_run_mended_by_hand_passes(tmp_path):
    path = stated(tmp_path / "run", {"evaluation.max_tokens": 512}, {"evaluation.max_tokens": 2048})
    arms = [
        {"arm": role, "seed": 0, "role": role, "name": role, "settings": {"evaluation.max_tokens": 2048}}
        for role in ("baseline", "treatment")
    ]
    change_json(path / "run.json", arms=arms)
    assert findings(path).check.status == "pass"


def test_a_run_of_ours_passes_with_a_seed_more_in_one_arm(tmp_path):
    plan = small_plan()
    plan["arms"].append(plan["arms"][1] | {"name": "dppo_seed1", "seed": 1})
    found = findings(write_executed(tmp_path / "run", plan))
    assert found.check.status == "pass"
    assert "dppo: items 20, seeds 2, samples an item 1" in found.check.notes
