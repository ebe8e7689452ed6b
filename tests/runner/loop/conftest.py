"""A small plan, and one embedded service for all tests of the loop."""

import copy
import gc
import importlib.util
import json

import pytest

from audits.store.seal import seal_text
from runner.loop.plans import shipped_plans
from runner.loop.progress import LineProgress


@pytest.fixture(scope="session")
def sdk():
    """Skip where the SDK or torch is not installed."""
    for package in ("tinker", "torch"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"needs {package}: pip install 'runaudit[train]'")


@pytest.fixture(scope="session")
def make_plan():
    """Seal the demo's plan cut down to two steps of four groups, with fields replaced by dotted path."""
    demo = json.loads(shipped_plans()["demo"].read_text(encoding="utf-8"))
    small = {
        "rollout.groups_per_batch": 4,
        "rollout.group_size": 4,
        "rollout.rollout_batches": 2,
        "activation_gate.pilot_steps": 2,
        "task.train_items": 64,
        "task.validation_items": 6,
        "task.test_items": 8,
        "optimizer.learning_rate": 0.003,
    }

    def make(**changes):
        data = copy.deepcopy(demo)
        for path, value in {**small, **{key.replace("__", "."): value for key, value in changes.items()}}.items():
            *parents, last = path.split(".")
            target = data
            for parent in parents:
                target = target[parent]
            target[last] = value
        return seal_text(json.dumps(data), source="test plan")

    return make


@pytest.fixture(scope="session")
def backend(sdk, tmp_path_factory):
    """An open session with one embedded service."""
    from runner.loop.backend import EMBEDDED, open_backend

    state = tmp_path_factory.mktemp("service")
    with open_backend(EMBEDDED, state) as opened:
        yield opened


class Silent(LineProgress):
    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


@pytest.fixture
def progress():
    return Silent()


@pytest.fixture(scope="session")
def run_small(backend):
    """Run a sealed plan on the shared service."""
    from contextlib import nullcontext

    from runner.loop.launch import execute_on, prepare

    def run(sealed, kind, out, pilot_run=None):
        progress = Silent()
        return execute_on(prepare(sealed, kind, out, pilot_run, progress), nullcontext(backend), progress)

    return run


@pytest.fixture(autouse=True, scope="module")
def _collected():
    """Collect what the SDK leaves open before another module's tests run."""
    yield
    gc.collect()


@pytest.fixture(autouse=True, scope="session")
def _one_checkout():
    """Let a run be resumed although somebody edits the checkout while the tests run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("runner.loop.launch.git_state", lambda folder: {"commit": "0" * 40, "diff_sha256": None})
        yield
