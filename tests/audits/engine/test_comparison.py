"""What differs between two runs, by hand."""

import math

import pytest
from made_run import change_json, evals, made_plan, right, write_experiment, write_outcomes

from audits.engine.comparison import ItemChange, executed_differences, item_changes, planned_differences
from audits.store.reader import open_run


def outcomes(path, baseline, treatment, **more):
    arms = {"baseline": [evals(baseline)], "treatment": [evals(treatment)], **more}
    return open_run(write_outcomes(path, arms))


@pytest.fixture
def pair(tmp_path):
    def made(**changes):
        first = write_experiment(tmp_path / "a")
        second = write_experiment(tmp_path / "b", made_plan(**changes), scores={"grpo": right(2), "dppo": right(19)})
        return open_run(first), open_run(second)

    return made


def test_items_of_the_same_arm_are_compared_one_by_one(tmp_path):
    first = outcomes(tmp_path / "a", [1.0, 0.0, 1.0, 0.5], right(2, 4))
    second = outcomes(tmp_path / "b", [1.0, 1.0, 0.0, 0.5], right(2, 4))
    baseline, treatment = item_changes(first, second)
    assert (baseline.arm, baseline.same, baseline.higher, baseline.lower) == ("baseline", 2, 1, 1)
    assert baseline.changed == (ItemChange("item-001", 0.0, 1.0), ItemChange("item-002", 1.0, 0.0))
    assert (treatment.same, treatment.changed) == (4, ())


def test_items_and_arms_of_one_run_only_are_counted_and_not_compared(tmp_path):
    first = outcomes(tmp_path / "a", right(1, 3), right(1, 3), extra=[evals([1.0])])
    second = outcomes(tmp_path / "b", right(1, 5), right(1, 2))
    baseline, treatment = item_changes(first, second)
    assert (baseline.only_first, baseline.only_second, baseline.same) == (0, 2, 3)
    assert (treatment.only_first, treatment.only_second, treatment.same) == (1, 0, 2)


@pytest.mark.parametrize("absent", [None, math.nan])
def test_a_sample_without_a_score_leaves_its_item_without_one(tmp_path, absent):
    first = outcomes(tmp_path / "a", [1.0, absent, 0.0], right(1, 3))
    second = outcomes(tmp_path / "b", [1.0, 1.0, 0.0], right(1, 3))
    baseline, _ = item_changes(first, second)
    assert (baseline.without_score, baseline.same, baseline.changed) == (1, 2, ())


def test_an_item_s_score_is_the_mean_over_seeds_and_samples(tmp_path):
    twice = {name: [*values, *evals([0.0, 1.0], sample=1)[name]] for name, values in evals([1.0, 1.0]).items()}
    first = open_run(write_outcomes(tmp_path / "a", {"baseline": [twice, evals([1.0, 1.0])]}))
    second = open_run(write_outcomes(tmp_path / "b", {"baseline": [evals([1.0, 1.0])]}))
    (baseline,) = item_changes(first, second)
    assert baseline.changed == (ItemChange("item-000", pytest.approx(2 / 3), 1.0),)


def test_runs_without_outcomes_have_no_items(tmp_path):
    first = open_run(write_experiment(tmp_path / "a", scores=None))
    assert item_changes(first, first) == ()


def test_what_plans_have_otherwise_is_named_by_its_path(pair):
    found = planned_differences(*pair(optimizer__learning_rate=5e-4, hypothesis="another"))
    assert [item.setting for item in found.found] == ["hypothesis", "optimizer.learning_rate"]
    rate = found.found[1]
    assert (float(rate.first), float(rate.second), rate.arm) == (pytest.approx(0.001), 5e-4, "")
    assert found.compared > 40


def test_a_plan_is_like_itself(pair):
    first, _ = pair()
    assert planned_differences(first, first).found == ()
    assert executed_differences(first, first).found == ()


def test_what_was_executed_otherwise_is_named_even_under_one_plan(pair):
    first, second = pair()
    change_json(second.path / "run.json", executed={"rollout": {"temperature": 0.7}})
    found = executed_differences(first, open_run(second.path)).found
    assert [(item.setting, item.first, item.second) for item in found] == [("rollout.temperature", None, "0.7")]
