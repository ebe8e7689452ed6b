"""The process: one line when ready, an orderly end, no life without its parent, checkpoints that outlive it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

tinker = pytest.importorskip("tinker", reason="the training extra is not installed")
from tinker import types  # noqa: E402

from analysis.errors import AuditError  # noqa: E402
from runner.service.catalogue import SHIPPED_MODELS, model_folders  # noqa: E402
from runner.service.process import EmbeddedService  # noqa: E402

# The SDK leaves the connection of its first request open, and Python says so.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

ROOT = Path(__file__).parents[3]
WAIT = 120


def gone_within(pid, seconds):
    """Wait until a process that is not our child has ended."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        stat = Path(f"/proc/{pid}/stat")
        if stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z":
            return True  # ended, and nobody has asked for its exit code yet
        time.sleep(0.05)
    return False


def test_one_line_when_ready_and_exit_code_0_in_a_folder_with_our_names(random_model, tmp_path):
    for name in ("analysis", "sql", "runner"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise RuntimeError('not ours')\n")
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "runner.service", "--model", f"m={random_model}", "--state-dir", "state"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    ready = json.loads(process.stdout.readline())
    process.send_signal(signal.SIGTERM)
    rest, log = process.communicate(timeout=WAIT)

    assert ready["pid"] == process.pid
    assert ready["models"] == ["m"]
    assert ready["url"].startswith("http://127.0.0.1:")
    assert rest == b""
    assert process.returncode == 0, log.decode()


def test_the_service_ends_when_its_parent_is_killed(random_model, tmp_path):
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom runner.service.process import EmbeddedService\n"
        "with EmbeddedService({'m': Path(sys.argv[1])}, Path(sys.argv[2]), Path(sys.argv[2]) / 'log') as service:\n"
        "    print(service.pid, flush=True)\n    time.sleep(600)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-P", "-c", script, str(random_model), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
    )
    assert parent.stdout is not None
    service_pid = int(parent.stdout.readline())
    parent.kill()
    parent.communicate(timeout=WAIT)

    assert gone_within(service_pid, 60)


def test_a_start_that_fails_says_why(tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    with (
        pytest.raises(AuditError, match="ended with code 2 before it was ready") as caught,
        EmbeddedService({"empty": empty}, tmp_path / "state", tmp_path / "log"),
    ):
        pass
    assert f"no config.json in {empty}" in caught.value.message


def test_a_start_that_takes_too_long_is_given_up(random_model, tmp_path):
    service = EmbeddedService({"m": random_model}, tmp_path, tmp_path / "log", start_seconds=0.0)
    with pytest.raises(AuditError, match="was not ready after 0 seconds"), service:
        pass
    with pytest.raises(RuntimeError, match="with block"):
        _ = service.url


@pytest.mark.slow
def test_a_checkpoint_outlives_the_service(random_model, tmp_path, datum, sdk_leftovers):
    data = [datum([1, 2, 3, 4], weights=[1.0] * 3)]
    adam = types.AdamParams(learning_rate=1e-2, eps=1e-8)

    def go_on(trainer):
        losses = [trainer.forward_backward(data, "cross_entropy")]
        trainer.optim_step(adam).result(timeout=WAIT)
        losses.append(trainer.forward(data, "cross_entropy"))
        return [loss.result(timeout=WAIT).metrics["loss:sum"] for loss in losses]

    with EmbeddedService({"m": random_model}, tmp_path, tmp_path / "log") as service:
        session = tinker.ServiceClient(base_url=service.url)
        trainer = session.create_lora_training_client(base_model="m", rank=2, seed=1).result(timeout=WAIT)
        go_on(trainer)
        path = trainer.save_state("kept").result(timeout=WAIT).path
        expected = go_on(trainer)
        session.close("success").result(timeout=WAIT)
    with EmbeddedService({"m": random_model}, tmp_path, tmp_path / "log") as service:
        session = tinker.ServiceClient(base_url=service.url)
        restored = session.create_training_client_from_state_with_optimizer(path).result(timeout=WAIT)
        assert go_on(restored) == expected
        session.close("success").result(timeout=WAIT)


def test_a_folder_that_is_no_causal_model_is_named(tmp_path):
    from runner.service.base_models import load_base_model

    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(AuditError, match=r"model 'broken': transformers cannot read"):
        load_base_model("broken", tmp_path)


def test_the_command_line_can_import_the_launchers_without_the_heavy_libraries():
    code = (
        "import sys, runner.service.process, runner.service.__main__\n"
        "print(sorted({'torch', 'transformers', 'tinker', 'starlette', 'uvicorn', 'numpy'} & sys.modules.keys()))"
    )
    command = [sys.executable, "-P", "-c", code]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True, timeout=WAIT
    )
    assert done.stdout.strip() == "[]"


def test_models_by_shipped_name_by_folder_and_by_both(random_model, tmp_path):
    found = model_folders(["tiny-addition", f"mine={random_model}", str(random_model)])
    assert list(found) == ["tiny-addition", "mine", random_model.name]
    assert found["tiny-addition"] == SHIPPED_MODELS["tiny-addition"].resolve()
    with pytest.raises(AuditError, match=r"no config\.json"):
        model_folders([str(tmp_path)])
    with pytest.raises(AuditError, match="is taken"):
        model_folders([f"a={random_model}", f"a={random_model}"])
