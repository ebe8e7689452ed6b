"""The addition task: right answers, splits that share no pair, a fixed order."""

import pytest

from analysis.errors import AuditError
from analysis.graders.grade import load_grader
from analysis.plan.model import Dataset, Task
from runner.loop.task import load_task
from runner.loop.tasks import addition


def _task(train=None, validation=150, test=400):
    return Task(id="addition", train_items=train, validation_items=validation, test_items=test)


def _pair(problem):
    first, second = problem.question.split("+")
    return frozenset((int(first), int(second)))


def test_gold_answers_are_the_sums_and_ids_are_unique():
    problems = addition.problems(_task(), None)
    assert all(int(problem.gold) == sum(map(int, problem.question.split("+"))) for problem in problems)
    assert len({problem.prompt_id for problem in problems}) == len(problems)


def test_no_unordered_pair_is_in_two_splits_and_each_held_out_pair_is_asked_once():
    problems = addition.problems(_task(), None)
    pairs = {split: [_pair(p) for p in problems if p.split == split] for split in ("train", "validation", "test")}
    assert not set(pairs["train"]) & (set(pairs["validation"]) | set(pairs["test"]))
    assert not set(pairs["validation"]) & set(pairs["test"])
    for held_out in ("validation", "test"):
        assert len(set(pairs[held_out])) == len(pairs[held_out])


def test_fewer_items_are_the_first_of_more():
    few = [p for p in addition.problems(_task(train=10, validation=5, test=7), None) if p.split == "test"]
    many = [p for p in addition.problems(_task(), None) if p.split == "test"]
    assert few == many[:7]
    sizes = [int(p.question.split("+")[0]) for p in many]
    assert sizes != sorted(sizes)


def test_more_items_than_there_are_is_an_error():
    with pytest.raises(AuditError, match=r"task\.test_items is 5000"):
        addition.problems(_task(test=5000), None)


def test_a_data_set_is_refused_because_the_task_makes_its_items():
    with pytest.raises(AuditError, match="makes its items itself"):
        addition.problems(_task(), Dataset(name="sums", hf_path="somebody/sums"))


def test_math_verify_is_refused_with_the_reason():
    with pytest.raises(AuditError, match=r"calls it in a thread.*every answer counts as wrong"):
        load_grader("math_verify")


def test_tasks_and_graders_are_found_by_file_name():
    assert load_task("addition") is addition
    assert load_grader("numeric_exact").grade("4", "stop", "4").correct
    with pytest.raises(AuditError, match="Known: addition"):
        load_task("subtraction")
    with pytest.raises(AuditError, match="numeric_exact"):
        load_grader("grade")
