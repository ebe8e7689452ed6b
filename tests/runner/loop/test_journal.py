"""Reading a run live: one whole JSON object a line, and what a later attempt learns from them."""

import dataclasses
import json
import threading
from pathlib import Path

import runner
from runner.loop.journal import PROGRESS_NAME, Journal, pace_of, read_events, seconds_at_work
from runner.loop.progress import Elapsed, StepReport


def test_lines_of_several_threads_are_whole(tmp_path):
    journal = Journal(tmp_path, Elapsed(100.0))
    threads = [
        threading.Thread(target=lambda arm=arm: [journal.write("step", arm=arm, step=step) for step in range(50)])
        for arm in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    events = [json.loads(line) for line in (tmp_path / PROGRESS_NAME).read_text().splitlines()]
    assert len(events) == 200
    for arm in range(4):
        assert [event["step"] for event in events if event["arm"] == arm] == list(range(50))
    assert all(event["elapsed"] >= 100.0 for event in events)


def test_a_later_attempt_counts_on_from_the_last_line_that_is_whole(tmp_path):
    assert seconds_at_work(read_events(tmp_path)) == 0.0
    steps = [{"event": "step", "elapsed": 5.0, "seconds": 2.5}, {"event": "step", "elapsed": 7.5, "seconds": 1.0}]
    whole = "".join(json.dumps(step) + "\n" for step in steps)
    (tmp_path / PROGRESS_NAME).write_text(f'{whole}{{"event": "st')
    events = read_events(tmp_path)
    assert seconds_at_work(events) == 7.5
    assert pace_of(events).longest("step") == 2.5
    Journal(tmp_path, Elapsed(7.5)).write("resumed")
    assert [event["event"] for event in read_events(tmp_path)] == ["step", "step", "resumed"]


def test_the_page_for_trackers_names_every_key_of_a_step():
    page = (Path(runner.__file__).parents[1] / "docs" / "trackers.md").read_text(encoding="utf-8")
    for field in dataclasses.fields(StepReport):
        assert f"`{field.name}`" in page, field.name
