"""The order of problems and the seeds of requests."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from runner.loop.schedule import request_seed, training_order


@given(st.integers(1, 30), st.integers(1, 8), st.integers(1, 8), st.integers(0, 99))
def test_no_problem_returns_before_all_were_asked(n_problems, groups, steps, seed):
    order = training_order(n_problems, groups, steps, seed)
    assert order.shape == (steps, groups)
    counts = np.bincount(order.ravel(), minlength=n_problems)
    assert counts.max() - counts.min() <= 1


def test_the_order_is_the_seeds_and_a_shorter_run_is_the_beginning_of_a_longer_one():
    np.testing.assert_array_equal(training_order(50, 4, 3, 7), training_order(50, 4, 9, 7)[:3])
    assert not np.array_equal(training_order(50, 4, 3, 7), training_order(50, 4, 3, 8))


def test_without_a_seed_every_pass_takes_the_problems_as_they_are_given():
    assert training_order(5, 4, 2, None).tolist() == [[0, 1, 2, 3], [4, 0, 1, 2]]


def test_request_seeds_are_distinct_small_and_frozen():
    seeds = {
        request_seed(seed, purpose, step, index)
        for seed in range(3)
        for purpose in ("rollout", "eval")
        for step in range(10)
        for index in range(20)
    }
    assert len(seeds) == 3 * 2 * 10 * 20
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert request_seed(0, "rollout", 0, 0) == 1105671637
