"""Service faults: which pass, how long they are borne, and that no update is ever applied twice or lost."""

import json
import threading

import pytest
from same_tables import assert_same_tables
from service_proxy import Answer, Proxy

from analysis.errors import AuditError
from audits.store.reader import open_run
from runner.loop import backend as backend_module
from runner.loop import faults as module
from runner.loop.backend import open_backend
from runner.loop.faults import Patience, ServiceFault, Trials, explain
from runner.loop.launch import execute_on, prepare
from runner.loop.options import RunOptions
from runner.loop.stopping import Stop, Stopped

# The SDK never closes the connection over which it fetches its configuration; whenever that is collected, it warns.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


class _Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class _NeverAsked(Stop):
    """Pauses by moving a clock on."""

    def __init__(self, clock):
        super().__init__()
        self._clock, self.pauses = clock, []

    def pause(self, seconds):
        self.pauses.append(seconds)
        self._clock.now += seconds
        self.check()


def _trials(**bounds):
    clock, seen = _Clock(), []
    stop = _NeverAsked(clock)
    trials = Trials(Patience(**bounds), stop, lambda fault, faults, pause: seen.append((faults, pause)), clock)
    return trials, stop, seen


FAULT = ServiceFault("sampling x: gone")


def test_pauses_grow_and_the_number_of_trials_is_bounded():
    trials, stop, seen = _trials(retries=7)
    for _ in range(7):
        trials.bear(FAULT)
    assert stop.pauses == [1, 2, 4, 8, 16, 30, 30]
    with pytest.raises(AuditError, match=r"(?s)sampling x: gone.*after 8 tries in 91 seconds.*--resume") as given_up:
        trials.bear(FAULT)
    assert not isinstance(given_up.value, ServiceFault), "it would be tried again"
    assert seen[-1] == (8, 0.0), "the last fault is recorded too"


def test_the_time_from_the_first_fault_is_bounded():
    trials, stop, _ = _trials(seconds=10)
    for _ in range(3):
        trials.bear(FAULT)
    assert sum(stop.pauses) == 7
    with pytest.raises(AuditError, match="--retry-seconds 10"):
        trials.bear(FAULT)


def test_progress_makes_the_count_begin_anew():
    trials, stop, _ = _trials(retries=1)
    for _ in range(5):
        trials.bear(FAULT)
        trials.progressed()
    assert stop.pauses == [1] * 5


def test_a_pause_ends_when_the_run_is_asked_to_stop():
    stop = Stop()
    stop.ask("interrupted")
    with pytest.raises(Stopped):
        Trials(Patience(), stop, lambda *_: None).bear(FAULT)


@pytest.mark.usefixtures("sdk")
@pytest.mark.parametrize(
    ("status", "passes", "gone"),
    [
        (400, False, False),
        (422, False, False),
        (404, True, True),
        (429, True, False),
        (500, True, False),
        (503, True, False),
    ],
)
def test_what_may_pass_is_told_from_what_will_not(status, passes, gone):
    import httpx
    import tinker

    response = httpx.Response(status, request=httpx.Request("POST", "http://service"))
    error = tinker.APIStatusError("it said so", response=response, body=None)
    wrapped = ValueError("Error retrieving result")
    wrapped.__cause__ = error
    for found in (explain("x", "http://service", error), explain("x", "http://service", wrapped)):
        assert isinstance(found, ServiceFault) is passes
        assert getattr(found, "gone", False) is gone


@pytest.fixture(scope="module")
def plan(make_plan):
    """Two steps of two arms."""
    return make_plan()


@pytest.fixture(scope="module")
def undisturbed(run_small, plan, tmp_path_factory):
    return run_small(plan, "pilot", tmp_path_factory.mktemp("whole") / "run")


@pytest.fixture
def through(backend, plan, progress, tmp_path, monkeypatch):
    """Run the plan through a proxy that does what a test says."""
    monkeypatch.setattr(module, "_LONGEST_PAUSE", 0.1)
    monkeypatch.setattr(backend_module, "LOOK_SECONDS", 0.2)
    monkeypatch.setattr(backend_module, "UNREACHABLE_SECONDS", 0.5)
    proxies = []

    def run(fault=lambda path, body: None, *, resume=False, watch=None, **patience):
        proxy = proxies[0] if proxies else Proxy(backend.url)
        proxy.fault = fault
        proxies[:] = [proxy]
        if watch:
            watch(proxy)
        launch = prepare(plan, "pilot", tmp_path / "run", None, progress, resume=resume)
        with open_backend(proxy.url, tmp_path / "unused") as opened:
            execute_on(launch, _same(opened), progress, RunOptions(patience=Patience(**patience)))
        return tmp_path / "run"

    yield run
    for proxy in proxies:
        if proxy.is_open:
            proxy.close()


def _same(backend):
    from contextlib import nullcontext

    return nullcontext(backend)


def _once(answer, matches):
    """Give an answer at the first request that matches, and never again."""
    left = [answer]
    lock = threading.Lock()

    def fault(path, body):
        with lock:
            return left.pop() if left and matches(path, body) else None

    return fault


def _events(run, event):
    lines = map(json.loads, (run / "progress.jsonl").read_text().splitlines())
    return [line for line in lines if line["event"] == event]


def _poll_of(kind):
    """Polls for the result of a training run's request, by the SDK's own header."""
    return lambda path, body: path == "retrieve_future" and kind in body


FAILED = Answer(200, b'{"error": "the worker died", "category": "server"}')


def test_an_update_of_unknown_outcome_leads_back_to_the_saved_state_and_is_not_guessed(through, undisturbed):
    # The service has taken the step; its answer says that it failed. What the weights are then, nobody can know.
    seen = []

    def fault(path, body):
        if path == "optim_step":
            seen.append(path)
            if len(seen) == 6:
                return None
        if path == "retrieve_future" and len(seen) == 6:
            seen.append("told")
            return FAILED
        return None

    run = through(fault)
    assert_same_tables(run, undisturbed)
    manifest = open_run(run).manifest
    assert manifest.service_faults == 1
    (told,) = _events(run, "fault")
    assert "the worker died" in told["message"]


@pytest.mark.slow
@pytest.mark.parametrize("forward", [False, True], ids=["refused", "taken, and the answer lost"])
@pytest.mark.parametrize("path", ["optim_step", "forward_backward", "save_weights", "asample"])
def test_the_sdk_sends_a_request_again_under_its_number_and_the_service_runs_it_once(
    through, undisturbed, path, forward
):
    run = through(_once(Answer(503, forward=forward), lambda asked, _body: asked == path))
    assert_same_tables(run, undisturbed)


@pytest.mark.slow
def test_a_service_that_is_away_for_a_while_is_waited_for(through, undisturbed):
    def watch(proxy):
        def away():
            while proxy.requests.count("optim_step") < 3:
                gone.wait(0.01)
            proxy.close()
            gone.wait(3.0)
            proxy.open()

        gone = threading.Event()
        threading.Thread(target=away, daemon=True).start()

    run = through(watch=watch, retries=200)
    assert_same_tables(run, undisturbed)
    assert open_run(run).manifest.service_faults >= 1


@pytest.mark.slow
def test_a_stalled_sampler_pool_is_asked_again(through, undisturbed):
    stalled = []

    def fault(path, body):
        if path == "retrieve_future" and b":sample:" in body and (not stalled or body in stalled):
            stalled[:] = [body]
            pending = {"type": "try_again", "request_id": json.loads(body)["request_id"], "queue_state": "active"}
            return Answer(408, json.dumps(pending).encode())
        return None

    run = through(fault, result_seconds=2.0)
    assert_same_tables(run, undisturbed)
    assert "no result" in _events(run, "fault")[0]["message"]


@pytest.mark.slow
def test_faults_that_do_not_pass_end_the_run_with_its_state_kept(through, undisturbed, tmp_path):
    steps = []

    def fault(path, body):
        steps.extend([path] if path == "optim_step" else [])
        return FAILED if path == "retrieve_future" and len(steps) > 5 else None

    with pytest.raises(AuditError, match=r"(?s)the worker died.*Given up after 3 tries"):
        through(fault, retries=2)
    run = tmp_path / "run"
    assert open_run(run).manifest.status == "failed"
    assert open_run(run).manifest.service_faults >= 3
    assert_same_tables(through(resume=True), undisturbed)
