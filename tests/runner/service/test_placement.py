"""Precision and recomputation change what they should and nothing else."""

import dataclasses

import pytest

torch = pytest.importorskip("torch", reason="the training extra is not installed")
pytest.importorskip("tinker", reason="the training extra is not installed")
import numpy as np  # noqa: E402

from analysis.errors import AuditError  # noqa: E402
from runner.service.base_models import load_base_model  # noqa: E402
from runner.service.lora import LoraSpec  # noqa: E402
from runner.service.placement import CPU, Placement, resolved_device  # noqa: E402
from runner.service.recomputation import RecomputedLayers  # noqa: E402
from runner.service.training import TrainingRun  # noqa: E402
from runner.service.wire import Datum, ForwardBackward  # noqa: E402

SPEC = LoraSpec(4)
DATA = [Datum(np.arange(1, 9), {"target_tokens": np.arange(2, 10), "weights": np.ones(8, dtype=np.float32)})]
LEARN = ForwardBackward("m", 1, "cross_entropy", {}, False, DATA, b"")


def learned(base):
    adapter = base.switch.new_adapter(SPEC, seed=1)
    moved = {name: value + 0.05 for name, value in adapter.items()}
    run = TrainingRun(base, SPEC, moved)
    return run.forward_backward(LEARN), run


def test_recomputing_layers_gives_the_same_gradient(random_model, base):
    plain, run = learned(base)
    again = load_base_model("random", random_model, dataclasses.replace(CPU, gradient_checkpointing=True))
    calls = []
    again.network.model.layers[0].mlp.register_forward_pre_hook(lambda *_: calls.append(1))
    recomputed, other = learned(again)

    assert len(calls) == 2
    assert recomputed.loss_sum == plain.loss_sum
    for name, gradient in run.gradients().items():
        torch.testing.assert_close(other.gradients()[name], gradient, rtol=1e-5, atol=1e-6)
    assert not any(module.training for module in again.network.modules())


def test_layers_that_drop_units_are_not_recomputed(base):
    config = type(base.network.config)(attention_dropout=0.1, **{})
    network = type("Network", (), {"modules": base.network.modules, "config": config})()
    with pytest.raises(AuditError, match="it has dropout \\(attention_dropout\\)"):
        RecomputedLayers(network, "dropping", enabled=True)
    with pytest.raises(AuditError, match="its layers do not offer it"):
        RecomputedLayers(type("N", (), {"modules": list, "config": base.network.config})(), "old", enabled=True)


def test_a_bfloat16_base_trains_a_float32_adapter(random_model, base):
    half = load_base_model("random", random_model, dataclasses.replace(CPU, dtype="bfloat16"))
    plain, _ = learned(base)
    rounded, run = learned(half)

    assert {value.dtype for value in half.network.parameters()} == {torch.bfloat16}
    assert {value.dtype for value in run.parameters.values()} == {torch.float32}
    assert {value.dtype for value in run.gradients().values()} == {torch.float32}
    assert rounded.loss_sum == pytest.approx(plain.loss_sum, rel=0.05)
    assert rounded.loss_sum != plain.loss_sum
    assert half.fingerprint == base.fingerprint
    assert half.cache_bytes * 2 == base.cache_bytes == 2 * 2 * 2 * 8 * 4


def test_a_gpu_is_used_where_there_is_one_and_missed_where_it_is_asked_for(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert resolved_device(Placement()) == "cuda"
    assert resolved_device(CPU) == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert resolved_device(Placement()) == "cpu"
    with pytest.raises(AuditError, match="--device cuda: torch"):
        resolved_device(Placement(device="cuda"))
