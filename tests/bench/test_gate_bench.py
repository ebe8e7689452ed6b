"""The bench itself: every job runs, and what it compares is the same gate."""

import csv
import io
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("resource")  # CPU time, which Windows does not keep
from bench import gate
from bench.made_log import write_log

from audits.engine.drift import drift_by_step
from audits.store.reader import open_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return write_log(tmp_path_factory.mktemp("bench") / "run", seeds=(0,), steps=2, rows_a_step=6000)


@pytest.mark.parametrize("name", ["scan", "gate", "drift", "fused", "separate"])
def test_every_job_is_measured(run, name):
    cost = gate.job(name, run, 1)
    assert cost.wall > 0
    assert cost.peak > 10e6


def test_pandas_by_hand_gives_the_figures_of_drift(run):
    pytest.importorskip("pandas")
    command = [sys.executable, str(Path(gate.__file__).parent / "pandas_drift.py"), str(run)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    theirs = {
        (row["arm"], int(row["seed"]), int(row["step"]), int(row["update"])): row
        for row in csv.DictReader(io.StringIO(done.stdout))
    }
    opened = open_run(run)
    ours = drift_by_step(opened, opened.sealed.plan)
    assert len(ours) == len(theirs) == 2 * 2 * 2
    names = {
        "masked": "masked_share", "clipped": "clip_share", "kl_k3": "kl_k3", "ratio_max": "ratio_max",
        "effective_sample_size": "effective_sample_size", "0.5": "abs_p_q50", "0.9": "abs_p_q90", "0.99": "abs_p_q99",
    }  # fmt: skip
    for row in ours:
        found = theirs[row.arm, row.seed, row.step, row.update]
        for name, field in names.items():
            assert float(found[name]) == pytest.approx(getattr(row, field), abs=1e-12, rel=1e-9)
