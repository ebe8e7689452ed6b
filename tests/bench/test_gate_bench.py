"""The bench itself: every job runs, and what it compares is the same gate."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("resource")  # CPU time, which Windows does not keep
from bench import gate
from bench.made_log import write_log

from audits.engine.gate import evaluate_gate
from audits.store.reader import open_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return write_log(tmp_path_factory.mktemp("bench") / "run", seeds=(0,), steps=2, rows_a_step=6000)


@pytest.mark.parametrize("name", ["scan", "gate", "drift", "fused", "separate"])
def test_every_job_is_measured(run, name):
    cost = gate.job(name, run, 1)
    assert cost.wall > 0
    assert cost.peak > 10e6


def test_pandas_by_hand_gives_the_gate_s_figures(run):
    pytest.importorskip("pandas")
    command = [sys.executable, str(Path(gate.__file__).parent / "pandas_gate.py"), str(run)]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    opened = open_run(run)
    checks = {(check.id, check.arm): check.value for check in evaluate_gate(opened, opened.sealed.plan).checks}
    masked, clipped = (float(figure) for figure in found[3].split()[1:3])
    assert masked == pytest.approx(checks["dppo_masked_token_fraction", "dppo"], abs=1e-6)
    assert clipped == pytest.approx(checks["grpo_clip_fraction", "dppo"], abs=1e-6)
    assert float(found[-1].split()[-1]) == pytest.approx(checks["policy_drift_abs_p_q90", "dppo"], abs=1e-12)
