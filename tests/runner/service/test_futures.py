"""The table of futures: results are kept, evicted and never run twice; the queue keeps each run's order."""

import asyncio
import threading

import pytest

pytest.importorskip("tinker", reason="the training extra is not installed")

from runner.service.faults import UserFault
from runner.service.futures import FutureTable, Payload
from runner.service.queue import WorkQueue

ANSWER = Payload(b"{}", "application/json")


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def table(clock):
    return FutureTable(clock, fetched_seconds=60, unfetched_seconds=600, max_finished=3)


def fetch(table, request_id, timeout=0.0):
    return asyncio.run(table.fetch(request_id, timeout))


def finished(table, request_id):
    table.open(request_id, b"1")
    table.finish(request_id, ANSWER)


def test_a_result_can_be_fetched_again_for_a_while_and_is_then_gone(table, clock):
    finished(table, "a")
    assert fetch(table, "a") == ANSWER
    clock.now += 59
    finished(table, "b")
    assert fetch(table, "a") == ANSWER  # an answer may be lost on its way
    clock.now += 61
    finished(table, "c")
    with pytest.raises(UserFault, match="gone") as caught:
        fetch(table, "a")
    assert caught.value.status == 404
    assert table.seen("a", b"1")  # a late repetition must not run again


def test_a_result_that_nobody_fetches_is_kept_longer_but_not_for_ever(table, clock):
    finished(table, "a")
    clock.now += 599
    finished(table, "b")
    assert fetch(table, "a") == ANSWER
    finished(table, "c")
    clock.now += 601
    finished(table, "d")
    with pytest.raises(UserFault, match="gone"):
        fetch(table, "b")


def test_the_number_of_results_is_bounded(table):
    for name in "abcde":
        finished(table, name)
    with pytest.raises(UserFault, match="gone"):
        fetch(table, "a")
    assert fetch(table, "e") == ANSWER


def test_pending_unknown_and_changed_requests(table):
    table.open("a", b"1")
    assert fetch(table, "a") is None
    assert table.pending_ids() == ["a"]
    assert table.seen("a", b"1")
    with pytest.raises(UserFault, match="another body"):
        table.seen("a", b"2")
    with pytest.raises(UserFault, match="unknown request 'b'"):
        fetch(table, "b")


def test_a_poll_that_gives_up_leaves_the_result_to_the_next(table):
    table.open("a", b"1")

    async def two_polls():
        assert await table.fetch("a", 0.0) is None
        waiting = asyncio.create_task(table.fetch("a", 30.0))
        await asyncio.sleep(0)
        threading.Thread(target=table.finish, args=("a", ANSWER)).start()
        return await waiting

    assert asyncio.run(two_polls()) == ANSWER


def test_a_run_keeps_its_order_whatever_order_its_requests_arrive_in():
    queue = WorkQueue()
    done, order = threading.Event(), []
    queue.open_lane("run", first=1)
    for number in (3, 2, 4):
        queue.submit_in_turn("run", number, lambda number=number: order.append(number))
    queue.submit(lambda: order.append("other"))
    queue.submit_in_turn("run", 1, lambda: order.append(1))
    queue.submit(done.set)
    assert done.wait(30)
    queue.stop()
    queue.join()

    assert order == ["other", 1, 2, 3, 4]
    with pytest.raises(UserFault, match="seq_id 2 is used up; the next is 5"):
        queue.check_turn("run", 2)


def test_stopping_finishes_what_runs_and_leaves_the_rest():
    queue = WorkQueue()
    started, go_on, order = threading.Event(), threading.Event(), []

    def slow():
        started.set()
        go_on.wait(30)
        order.append("running")

    queue.submit(slow)
    queue.submit(lambda: order.append("waiting"))
    assert started.wait(30)
    queue.stop()
    go_on.set()
    queue.join()
    assert order == ["running"]
