"""Work beside the report's own process gives the same, and its errors are told as if it were done here."""

import os
import signal

import pytest
from made_run import right, write_experiment

from analysis.errors import AuditError
from audits.store.reader import open_run
from runner.integrity_inputs import integrity_inputs
from runner.other_processes import beside, integrity_beside, other_processes


def test_the_audits_are_those_of_this_process_and_a_damaged_run_is_told_like_here(tmp_path):
    run = open_run(write_experiment(tmp_path, scores={"grpo": right(3), "dppo": right(5)}))
    with other_processes() as pool:
        assert integrity_beside(pool, run)() == integrity_inputs(run)
        (run.path / run.files[0].path).write_bytes(b"")
        wait = integrity_beside(pool, run)
        with pytest.raises(AuditError, match="truncated or changed"):
            wait()


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="no signal masks on this platform")
def test_a_process_never_hears_ctrl_c_and_this_one_still_does():
    with other_processes() as pool:
        assert signal.SIGINT in beside(pool, signal.pthread_sigmask, signal.SIG_BLOCK, ())()
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_a_process_that_is_ended_from_outside_is_an_error_with_what_to_do():
    with other_processes() as pool:
        wait = beside(pool, os._exit, 9)
        with pytest.raises(AuditError, match="ended from outside"):
            wait()
