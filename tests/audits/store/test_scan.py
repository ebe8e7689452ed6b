"""A database on this machine, and Ctrl-C while it works."""

import os
import signal
import threading

import pytest

from audits.store.scan import scratch_connection


def test_ctrl_c_in_a_query_is_an_interrupt_and_no_bug():
    """The engine answers the signal with a RuntimeError of its own."""

    def interrupted():
        with scratch_connection() as connection:
            threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT]).start()
            connection.execute("SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b").fetchall()

    with pytest.raises(KeyboardInterrupt):
        interrupted()


def test_another_error_inside_stays_what_it_is():
    with pytest.raises(RuntimeError, match="something else"), scratch_connection():
        raise RuntimeError("something else")
