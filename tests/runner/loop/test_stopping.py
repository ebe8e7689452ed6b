"""Asking a run to stop."""

import os
import signal
import threading

import pytest

from runner.loop.stopping import Stop, Stopped, signals_noticed, terminate_is_interrupt


def test_the_first_reason_stays():
    stop = Stop()
    stop.check()
    stop.ask("budget")
    stop.ask("interrupted")
    assert stop.reason == "budget"
    with pytest.raises(Stopped):
        stop.check()


def test_a_pause_ends_when_another_thread_asks():
    stop = Stop()
    threading.Timer(0.05, stop.ask, args=("fault",)).start()
    with pytest.raises(Stopped):
        stop.pause(60.0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_noted_and_raises_nothing(number):
    before = signal.getsignal(number)
    with signals_noticed() as noticed:
        os.kill(os.getpid(), number)
        assert noticed == [number]
    assert signal.getsignal(number) is before


def test_before_there_is_work_a_stop_is_an_interrupt():
    with terminate_is_interrupt(), pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGTERM)


def test_other_threads_than_the_first_handle_no_signals():
    before, seen = signal.getsignal(signal.SIGTERM), []

    def elsewhere():
        with signals_noticed() as noticed, terminate_is_interrupt():
            seen.append((noticed, signal.getsignal(signal.SIGTERM)))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [([], before)]
