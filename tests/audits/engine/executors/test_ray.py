"""Ray's workers give the figures of this machine, wherever the command is started, and leave nothing running."""

import contextlib
import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest
from made_run import made_plan, write_run

from analysis.errors import AuditError
from audits.engine.drift import drift_by_step
from audits.engine.executors import Engine
from audits.engine.gate import evaluate_gate
from audits.store.reader import open_run

SCRIPT = """
import os, signal, sys
from pathlib import Path
from analysis.errors import AuditError
from audits.engine.drift import drift_by_step
from audits.engine.executors import Engine, Scan
from audits.engine.gate import evaluate_gate
from audits.store.reader import open_run
from audits.store.scan import Batch

run, engine = open_run(Path(sys.argv[1])), Engine("ray", rows_a_batch=100)
print(drift_by_step(run, run.sealed.plan, engine))
print(evaluate_gate(run, run.sealed.plan, engine=engine))
batch = Batch(run.path, "tokens", run.records("tokens")[:1])
file = run.path / batch.records[0].path
file.write_bytes(bytes(file.stat().st_size))
try:
    list(engine.run([Scan(batch, "SELECT sum(sampler_logprob) FROM tokens")]))
except AuditError as error:
    print(error.message, flush=True)
endless = "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b"
other = Batch(run.path, "tokens", run.records("tokens")[1:2])
signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
# Again, as a person would press Ctrl-C again: on a busy machine the first can fall into a callback that drops it.
signal.setitimer(signal.ITIMER_REAL, 2, 10)
try:
    list(engine.run([Scan(other, endless)]))
except KeyboardInterrupt:
    signal.setitimer(signal.ITIMER_REAL, 0)
    raise
"""


@pytest.mark.slow
def test_ray_measures_as_this_machine_does_and_stops_when_told(tmp_path):
    path = write_run(tmp_path / "pilot", made_plan())
    run = open_run(path)
    plan = run.sealed.plan
    here = [str(drift_by_step(run, plan)), str(dataclasses.replace(evaluate_gate(run, plan), run="pilot"))]
    # A folder of this name in the current directory must not hide the package from the workers.
    (tmp_path / "audits").mkdir()
    (tmp_path / "audits" / "__init__.py").write_text("raise SystemExit('the wrong package')")
    (tmp_path / "elsewhere.py").write_text(SCRIPT)
    mark = f"MADE_FOR={tmp_path}"
    done = subprocess.run(
        [sys.executable, "-P", "elsewhere.py", "pilot"], cwd=tmp_path, text=True, capture_output=True, check=False,
        timeout=480, env=os.environ | {"MADE_FOR": str(tmp_path)},
    )  # fmt: skip
    *figures, told = done.stdout.splitlines()
    assert figures == here, done.stderr
    assert "a data file cannot be read" in told
    assert "Traceback" not in told
    assert "KeyboardInterrupt" in done.stderr
    assert processes_with(mark) == 0


def processes_with(mark):
    """Return how many processes carry a text in their environment."""
    found = 0
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            found += mark.encode() in environment.read_bytes()
    return found


@pytest.mark.parametrize("address", ["127.0.0.1:9", "ray://127.0.0.1:9"])
def test_an_address_at_which_nobody_listens_is_refused_at_once(tmp_path, address):
    run = open_run(write_run(tmp_path / "pilot"))
    with pytest.raises(AuditError, match="nobody listens"):
        drift_by_step(run, run.sealed.plan, Engine("ray", address))


def test_ray_that_is_not_installed_is_named(monkeypatch, tmp_path):
    run = open_run(write_run(tmp_path / "pilot"))
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(AuditError, match=r"pip install 'runaudit\[ray\]'"):
        drift_by_step(run, run.sealed.plan, Engine("ray"))
