"""Arms at the same time: the same tables as one after the other, sooner where requests take their time."""

import time
from contextlib import nullcontext

import pytest
from same_tables import assert_same_tables
from service_proxy import Proxy

from audits.store.reader import open_run
from runner.loop.backend import open_backend
from runner.loop.launch import execute_on, prepare
from runner.loop.options import MOST_ARMS_AT_ONCE, RunOptions

# The SDK never closes the connection over which it fetches its configuration; whenever that is collected, it warns.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


def test_all_arms_run_at_once_up_to_a_bound():
    assert RunOptions().arms_at_once(2) == 2
    assert RunOptions().arms_at_once(100) == MOST_ARMS_AT_ONCE
    assert RunOptions(concurrency=3).arms_at_once(100) == 3
    assert RunOptions(concurrency=3).arms_at_once(0) == 1


def _arms(seeds):
    return [
        {"name": f"{loss}_seed{seed}", "role": role, "condition": loss, "seed": seed, "loss": loss}
        for seed in seeds
        for loss, role in (("grpo", "baseline"), ("dppo", "treatment"))
    ]


@pytest.mark.slow
def test_six_arms_at_once_log_what_they_log_one_after_the_other(backend, make_plan, progress, tmp_path):
    plan = make_plan(arms=_arms([0, 1, 2]), activation_gate__pilot_steps=1)
    runs = []
    for arms_at_once in (1, 6):
        launch = prepare(plan, "pilot", tmp_path / f"{arms_at_once}", None, progress)
        runs.append(execute_on(launch, nullcontext(backend), progress, RunOptions(concurrency=arms_at_once)))
    assert_same_tables(*runs)
    executed = open_run(runs[1]).manifest.executed
    assert len(executed["arms"]) == len(executed["checkpoints"]) == 6


@pytest.mark.slow
def test_with_a_slow_service_two_arms_at_once_are_sooner_done(backend, make_plan, progress, tmp_path):
    plan = make_plan(activation_gate__pilot_steps=4)
    seconds, runs = [], []
    for arms_at_once in (1, 2):
        with Proxy(backend.url, delay=0.2) as proxy, open_backend(proxy.url, tmp_path / "unused") as opened:
            launch = prepare(plan, "pilot", tmp_path / f"{arms_at_once}", None, progress)
            begun = time.monotonic()
            runs.append(execute_on(launch, nullcontext(opened), progress, RunOptions(concurrency=arms_at_once)))
            seconds.append(time.monotonic() - begun)
    assert_same_tables(*runs)
    assert seconds[0] / seconds[1] >= 1.6, seconds
