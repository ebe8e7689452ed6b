"""What a service that is started again on its state directory still knows, whenever the last one ended."""

import json
import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="the training extra is not installed")
pytest.importorskip("tinker", reason="the training extra is not installed")

from analysis.errors import AuditError  # noqa: E402
from runner.service import checkpoints  # noqa: E402
from runner.service.checkpoints import CheckpointStore  # noqa: E402
from runner.service.durability import exclusive  # noqa: E402
from runner.service.faults import UserFault  # noqa: E402
from runner.service.holdings import Holdings, Run  # noqa: E402
from runner.service.lora import LoraSpec  # noqa: E402
from runner.service.requests import CreateCustomLoss  # noqa: E402
from runner.service.samplers import Sampler  # noqa: E402
from runner.service.session_journal import FORGET_SECONDS, SessionJournal, SessionRecord  # noqa: E402

SPEC = LoraSpec(4)
SESSION = "00000000-0000-0000-0000-000000000000"
RUN = f"{SESSION}:train:0"
PATH = f"tinker://{RUN}/weights/here"


class Clock:
    """A clock that tests set."""

    now = 1_000_000.0

    def __call__(self):
        return self.now


def adapter_of(base, seed):
    return base.switch.new_adapter(SPEC, seed)


def save(store, base, path=PATH, seed=1, **settings):
    store.save(path, base, SPEC, adapter_of(base, seed), {}, **{"overwrite": False, **settings})


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_sessions_and_named_samplers_are_taken_up_again(base, tmp_path):
    before = Holdings({"random": base}, tmp_path)
    before.open_session(SESSION)
    before.open_session("finished")
    save(before.store, base)
    before.add_sampler(SESSION, f"{SESSION}:sample:0", Sampler(base, "random"))
    before.add_sampler(SESSION, f"{SESSION}:sample:1", before.sampler_of(PATH, None))
    before.add_snapshot(Run(RUN, SESSION, base, "random", SPEC), f"{SESSION}:sample:2", Sampler(base, "random", SPEC))
    before.close_session("finished")

    after = Holdings({"random": base}, tmp_path)
    after.require_session(SESSION)
    with pytest.raises(UserFault, match="finished session"):
        after.require_session("finished")
    assert after.sampler(f"{SESSION}:sample:0").model_path is None
    restored = after.sampler(f"{SESSION}:sample:1")
    restored.fill()
    assert restored.model_path == PATH
    assert same(restored.adapter, adapter_of(base, 1))
    with pytest.raises(UserFault, match="unnamed weights"):
        after.sampler(f"{SESSION}:sample:2")


def test_a_run_that_is_gone_names_its_last_saved_state(base, tmp_path):
    held = Holdings({"random": base}, tmp_path)
    save(held.store, base)
    later = PATH.replace("here", "later")
    save(held.store, base, later)
    os.utime(tmp_path / "checkpoints" / RUN.replace(":", "_") / "weights" / "here" / "checkpoint.json", ns=(0, 0))

    with pytest.raises(UserFault, match=f"its last saved state is {later} .*from_state_with_optimizer") as caught:
        held.run(RUN)
    assert caught.value.status == 404
    for other in ("../..:train:0", "x", f"{SESSION}:train:1"):
        with pytest.raises(UserFault, match=r"unknown training run '[^']*'$"):
            held.run(other)


def test_a_sampler_of_a_model_that_is_not_served_any_more_is_left_out(base, tmp_path):
    before = Holdings({"random": base}, tmp_path)
    before.open_session(SESSION)
    before.add_sampler(SESSION, f"{SESSION}:sample:0", Sampler(base, "random"))
    after = Holdings({}, tmp_path)
    after.require_session(SESSION)
    with pytest.raises(UserFault, match="unknown sampling session"):
        after.sampler(f"{SESSION}:sample:0")


def uploaded(number=0, operation="exp"):
    """A loss of one operation, as a client sends it."""
    nodes = [
        {"op": "placeholder", "name": "logprobs", "target": "logprobs"},
        {"op": "call_function", "name": "x", "target": f"torch.{operation}", "args": [{"ref": "logprobs"}]},
        {"op": "call_method", "name": "sum", "target": "sum", "args": [{"ref": "x"}]},
        {"op": "output", "name": "o", "target": "output", "args": [{"tuple": [{"ref": "sum"}, {"dict": {}}]}]},
    ]
    return CreateCustomLoss.model_validate(
        {
            "session_id": SESSION,
            "custom_loss_seq_id": number,
            "name": "mine",
            "inputs": [{"name": "logprobs", "rank": 1}],
            "graph": {"nodes": nodes},
        }
    )


def test_uploaded_losses_are_taken_up_again_by_their_session_alone(base, tmp_path):
    before = Holdings({"random": base}, tmp_path)
    before.open_session(SESSION)
    before.open_session("other")
    loss_id = before.add_loss(uploaded())
    after = Holdings({"random": base}, tmp_path)
    value, _ = after.loss(SESSION, loss_id).evaluate(torch.zeros(3), {})

    assert value.item() == 3.0
    assert after.add_loss(uploaded()) == loss_id  # sent again, as the answer may have been lost
    with pytest.raises(UserFault, match="exists with another graph"):
        after.add_loss(uploaded(operation="abs"))
    with pytest.raises(UserFault, match="unknown custom loss"):
        after.loss("other", loss_id)
    after.close_session(SESSION)
    with pytest.raises(UserFault, match="unknown custom loss"):
        after.loss(SESSION, loss_id)
    with pytest.raises(UserFault, match="finished session"):
        after.add_loss(uploaded())


def test_a_kept_loss_that_is_not_allowed_any_more_is_left_out(base, tmp_path, caplog):
    before = Holdings({"random": base}, tmp_path)
    before.open_session(SESSION)
    kept, dropped = (before.add_loss(uploaded(number)) for number in range(2))
    file = tmp_path / "sessions" / f"{SESSION}.json"
    content = json.loads(file.read_text())
    content["losses"][dropped]["graph"]["nodes"][1]["target"] = "torch.save"
    file.write_text(json.dumps(content))
    after = Holdings({"random": base}, tmp_path)

    after.loss(SESSION, kept)
    with pytest.raises(UserFault, match="unknown custom loss"):
        after.loss(SESSION, dropped)
    assert "function 'torch.save' is not served" in caplog.text


def test_a_session_holds_a_bounded_number_of_losses(base, tmp_path, monkeypatch):
    monkeypatch.setattr("runner.service.holdings.MAX_LOSSES", 2)
    held = Holdings({"random": base}, tmp_path)
    held.open_session(SESSION)
    for number in range(2):
        held.add_loss(uploaded(number))
    with pytest.raises(UserFault, match="holds 2 custom losses already"):
        held.add_loss(uploaded(2))


def test_old_sessions_and_half_written_files_are_dropped(tmp_path):
    clock = Clock()
    journal = SessionJournal(tmp_path, clock)
    journal.write("old", SessionRecord())
    clock.now += FORGET_SECONDS + 1
    journal.write("young", SessionRecord())
    (tmp_path / "sessions" / "x.writing").write_text("{")

    assert journal.read() == {"young": SessionRecord()}
    assert [file.name for file in (tmp_path / "sessions").iterdir()] == ["young.json"]


def test_a_checkpoint_expires_when_it_says(base, tmp_path):
    clock = Clock()
    store = CheckpointStore(tmp_path, clock)
    save(store, base, ttl_seconds=3600)
    save(store, base, PATH.replace("here", "stays"))
    clock.now += 3599
    assert store.exists(PATH)
    clock.now += 1

    with pytest.raises(UserFault, match="has expired") as caught:
        store.describe(PATH)
    assert caught.value.status == 404
    assert not store.exists(PATH)
    assert store.exists(PATH.replace("here", "stays"))
    save(store, base, seed=2)  # the name is free again
    assert same(store.load_adapter(PATH), adapter_of(base, 2))


@pytest.mark.parametrize("moment", ["before it is whole", "once it is whole", "with the old one aside"])
def test_a_replacement_that_was_cut_short_ends_as_one_of_the_two(base, tmp_path, monkeypatch, moment):
    """The process is stopped at each moment at which the files are in another state."""
    store = CheckpointStore(tmp_path)
    save(store, base, seed=1)
    folder = tmp_path / "checkpoints" / RUN.replace(":", "_") / "weights"

    def killed(*_):
        raise SystemExit

    with monkeypatch.context() as patch:
        if moment == "before it is whole":
            patch.setattr(checkpoints, "flush", killed)
            patch.setattr(checkpoints, "_settle", lambda _: None)
        elif moment == "once it is whole":
            patch.setattr(checkpoints, "_settle", killed)
        else:
            patch.setattr(checkpoints, "_settle", lambda scratch: (folder / "here").rename(scratch / "replaced"))
        if moment == "with the old one aside":
            save(store, base, seed=2, overwrite=True)
        else:
            with pytest.raises(SystemExit):
                save(store, base, seed=2, overwrite=True)
    again = CheckpointStore(tmp_path)

    assert same(again.load_adapter(PATH), adapter_of(base, 1 if moment == "before it is whole" else 2))
    assert [entry.name for entry in folder.iterdir()] == ["here"]


def test_a_state_directory_belongs_to_one_service(tmp_path):
    with (
        exclusive(tmp_path),
        pytest.raises(AuditError, match=f"process {os.getpid()}\\) uses it"),
        exclusive(tmp_path, wait_seconds=0.0),
    ):
        pass
    with exclusive(tmp_path, wait_seconds=0.0):
        pass


KILLED = """
import sys
from pathlib import Path
import tinker
from tinker import types
from runner.service.process import EmbeddedService

model, state = Path(sys.argv[1]), Path(sys.argv[2])
with EmbeddedService({"m": model}, state, state / "log") as service:
    trainer = tinker.ServiceClient(base_url=service.url).create_lora_training_client("m", rank=2, seed=1).result()
    data = [types.Datum(types.ModelInput.from_ints([1, 2, 3]), {"target_tokens": [2, 3, 4], "weights": [1.0] * 3})]
    for step in range(1000):
        trainer.forward_backward(data, "cross_entropy")
        trainer.optim_step(types.AdamParams(learning_rate=1e-2, eps=1e-8)).result()
        state_path = trainer.save_state("last", overwrite=True).result().path
        sampler_path = trainer.save_weights_for_sampler(f"step-{step}").result().path
        print(service.pid, state_path, sampler_path, flush=True)
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_every_checkpoint_survives_kill_9(random_model, tmp_path, datum, sdk_leftovers):
    """The service is killed while it replaces its state again and again; what it last confirmed is there."""
    import tinker
    from tinker import types

    from runner.service.process import EmbeddedService

    writer = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(random_model), str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    lines = [writer.stdout.readline() for _ in range(7)]
    os.kill(int(lines[0].split()[0]), 9)
    writer.kill()
    writer.communicate()
    state_path, sampler_paths = lines[-1].split()[1], [line.split()[2] for line in lines]

    def continued():
        with EmbeddedService({"m": random_model}, tmp_path, tmp_path / "log") as service:
            session = tinker.ServiceClient(base_url=service.url)
            trainer = session.create_training_client_from_state_with_optimizer(state_path).result(timeout=120)
            numbers = []
            for path in sampler_paths:
                sampler = session.create_sampling_client(model_path=path).result(timeout=120)
                numbers.append(sampler.compute_logprobs(types.ModelInput.from_ints([1, 2, 3])).result(timeout=120))
            data = [datum([1, 2, 3, 4], weights=[1.0] * 3)]
            for _ in range(2):
                numbers.append(trainer.forward_backward(data, "cross_entropy").result(timeout=120).metrics["loss:sum"])
                trainer.optim_step(types.AdamParams(learning_rate=1e-2, eps=1e-8)).result(timeout=120)
            session.close("success").result(timeout=120)
        return numbers

    first = continued()
    assert continued() == first
    # Each named sampler kept its own step's weights.
    assert len({tuple(scores) for scores in first[: len(sampler_paths)]}) == len(sampler_paths)
