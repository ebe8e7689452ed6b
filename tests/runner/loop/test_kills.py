"""Processes that die at any moment, or are asked to end, and go on as if nothing had happened."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from same_tables import assert_same_tables

import runner
from audits.store.reader import open_run

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("sdk")]

KILLS = 20
SECONDS = 300


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A copy of our source, so that somebody who edits the checkout does not change the code under a run."""
    root, copy = Path(runner.__file__).parents[1], tmp_path_factory.mktemp("source")
    for folder in ("analysis", "audits", "reports", "runner", "sql"):
        shutil.copytree(root / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


@pytest.fixture(scope="module")
def start(source, make_plan, tmp_path_factory):
    """Start `audit run` on the small plan, in a group of its own and outside any checkout."""
    plan = tmp_path_factory.mktemp("plan") / "plan.json"
    plan.write_bytes(make_plan(activation_gate__pilot_steps=3).canonical)
    environment = {**os.environ, "PYTHONPATH": str(source)}
    environment.pop("TINKER_BASE_URL", None)

    def start(out, *more):
        words = [sys.executable, "-P", "-m", "runner.cli.main", "run", str(plan), "--pilot", "--out", str(out), *more]
        return subprocess.Popen(
            words,
            cwd=plan.parent,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    return start


def _finish(process):
    _, said = process.communicate(timeout=SECONDS)
    return process.returncode, said


def _bytes_of(run):
    """Bytes of the run's tables and lists, files that are being written included; the service's own are left out."""
    total = 0
    for folder, below, names in os.walk(run):
        if folder == str(run) and "state" in below:
            below.remove("state")
        for name in names:
            with suppress(FileNotFoundError):
                total += os.stat(os.path.join(folder, name)).st_size
    return total


@pytest.fixture(scope="module")
def undisturbed(start, tmp_path_factory):
    """The run that nobody killed."""
    run = tmp_path_factory.mktemp("undisturbed") / "run"
    code, said = _finish(start(run))
    assert code == 0, said
    return run


@pytest.mark.parametrize("seed", range(KILLS))
def test_killed_at_a_random_moment_it_ends_with_the_tables_of_the_undisturbed_run(start, undisturbed, tmp_path, seed):
    # A random amount of its log is written, and then a random part of a step: it samples, trains, saves or writes.
    draw = random.Random(seed)
    enough, further = draw.uniform(0.0, 0.9) * _bytes_of(undisturbed), draw.uniform(0.0, 0.3)
    run, process = tmp_path / "run", start(tmp_path / "run")
    while process.poll() is None and _bytes_of(run) <= enough:
        time.sleep(0.0005)
    time.sleep(further)
    os.kill(process.pid, signal.SIGKILL)
    code, said = _finish(process)
    assert code == -signal.SIGKILL, f"it ended by itself before {enough:.0f} bytes: {said}"
    code, said = _finish(start(run, "--resume"))
    assert code == 0, said
    assert_same_tables(run, undisturbed)


def _signalled(start, run, send):
    process = start(run)
    for line in process.stderr:
        if "step 1/3" in line:
            send(process)
            break
    else:
        pytest.fail("the run ended before its first step")
    return _finish(process)


@pytest.mark.parametrize(
    "send",
    [
        pytest.param(lambda process: process.send_signal(signal.SIGTERM), id="SIGTERM"),
        pytest.param(lambda process: os.killpg(process.pid, signal.SIGINT), id="Ctrl-C, to the whole group"),
    ],
)
def test_asked_to_end_it_puts_its_work_away_and_exits_130(start, undisturbed, tmp_path, send):
    code, said = _signalled(start, tmp_path / "run", send)
    assert code == 130, said
    assert "Traceback" not in said
    assert "--resume goes on" in said
    run = open_run(tmp_path / "run")
    assert run.manifest.status == "interrupted"
    assert not list(run.path.rglob("*.tmp"))
    listed = {record.path for record in run.files}
    assert {path.relative_to(run.path).as_posix() for path in run.path.rglob("*.parquet")} == listed
    code, said = _finish(start(tmp_path / "run", "--resume"))
    assert code == 0, said
    assert_same_tables(tmp_path / "run", undisturbed)


def test_a_second_signal_ends_it_at_once_with_whole_files(start, undisturbed, tmp_path):
    def twice(process):
        process.send_signal(signal.SIGTERM)
        time.sleep(0.02)
        process.send_signal(signal.SIGTERM)

    code, said = _signalled(start, tmp_path / "run", twice)
    assert code == 130, said
    assert "Traceback" not in said
    code, said = _finish(start(tmp_path / "run", "--resume"))
    assert code == 0, said
    assert_same_tables(tmp_path / "run", undisturbed)


def test_a_dead_service_ends_the_run_with_its_state_kept(start, undisturbed, tmp_path):
    def kill_the_service(process):
        found = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=True)
        for child in found.stdout.split():
            os.kill(int(child), signal.SIGKILL)

    code, said = _signalled(start, tmp_path / "run", kill_the_service)
    assert code == 2, said
    assert "the embedded service has ended" in said
    assert "Traceback" not in said
    assert open_run(tmp_path / "run").manifest.status == "failed"
    code, said = _finish(start(tmp_path / "run", "--resume"))
    assert code == 0, said
    assert_same_tables(tmp_path / "run", undisturbed)


def test_changed_code_refuses_to_go_on(start, source, tmp_path):
    code, said = _signalled(start, tmp_path / "run", lambda process: process.kill())
    assert code == -signal.SIGKILL, said
    changed = source / "analysis" / "advantages.py"
    text = changed.read_text(encoding="utf-8")
    changed.write_text(text + "\n# changed\n", encoding="utf-8")
    try:
        code, said = _finish(start(tmp_path / "run", "--resume"))
    finally:
        changed.write_text(text, encoding="utf-8")
    assert code == 4
    assert "source of runaudit" in said
    assert "Traceback" not in said
