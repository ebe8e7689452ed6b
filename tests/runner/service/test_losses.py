"""The server's losses against plain formulas, in value and gradient, and numbers worked out by hand."""

import pytest

torch = pytest.importorskip("torch", reason="the training extra is not installed")
pytest.importorskip("tinker", reason="the training extra is not installed")
import numpy as np  # noqa: E402

from runner.service.lora import LoraSpec  # noqa: E402
from runner.service.losses import LOSSES, resolved_config  # noqa: E402
from runner.service.training import TrainingRun  # noqa: E402
from runner.service.wire import Datum, ForwardBackward  # noqa: E402

SPEC = LoraSpec(4)


def plain(loss, p, q, a, w):
    if loss == "cross_entropy":
        return (-w * p).sum()
    ratio = torch.exp(p - q)
    if loss == "importance_sampling":
        return (-ratio * a).sum()
    if loss == "ppo":
        return -torch.min(ratio * a, torch.clamp(ratio, 0.8, 1.2) * a).sum()
    if loss == "cispo":
        return -(torch.clamp(ratio, 0.0, 4.0).detach() * p * a).sum()
    return -(p * a - 0.025 * (p - q) ** 2).sum()


@pytest.fixture
def run(base):
    """A training run whose adapter is not the base model's."""
    adapter = base.switch.new_adapter(SPEC, seed=3)
    generator = torch.Generator().manual_seed(5)
    moved = {name: value + 0.05 * torch.randn(value.shape, generator=generator) for name, value in adapter.items()}
    return TrainingRun(base, SPEC, moved)


def data_of(loss):
    """Data of three lengths, so that padding and summing are in play."""
    random = np.random.default_rng(11)
    data = []
    for length in (5, 9, 2):
        tokens = random.integers(0, 256, length)
        inputs = {name: random.normal(-1, 1, length).astype(np.float32) for name in LOSSES[loss].inputs}
        data.append(Datum(tokens, {"target_tokens": random.integers(0, 256, length), **inputs}))
    return data


@pytest.mark.parametrize("loss", LOSSES)
def test_value_and_gradient_are_those_of_the_plain_formula(run, base, loss):
    data = data_of(loss)
    result = run.forward_backward(ForwardBackward("m", 1, loss, {}, False, data, b""))

    expected = torch.zeros(())
    with base.switch.attached(run.parameters, SPEC):
        for datum in data:
            logits = base.network(input_ids=torch.from_numpy(datum.tokens)[None], use_cache=False).logits[0]
            targets = torch.from_numpy(datum.inputs["target_tokens"])
            p = torch.log_softmax(logits, -1)[torch.arange(len(targets)), targets]
            given = {name: torch.from_numpy(values) for name, values in datum.inputs.items()}
            expected = expected + plain(loss, p, given.get("logprobs"), given.get("advantages"), given.get("weights"))
    gradients = torch.autograd.grad(expected, list(run.parameters.values()))

    assert result.loss_sum == pytest.approx(expected.item(), rel=1e-5)
    assert [len(values) for values in result.logprobs] == [5, 9, 2]
    for got, wanted in zip(run.gradients().values(), gradients, strict=True):
        scale = float(wanted.abs().max()) + 1e-6
        torch.testing.assert_close(got / scale, wanted / scale, atol=1e-4, rtol=0)


def test_worked_numbers():
    """Two tokens by hand: r = 1.5 with A = +1 is clipped by PPO; r = 0.7 with A = -1 too."""
    q = torch.log(torch.tensor([0.5, 0.5], dtype=torch.float64))
    p = torch.log(torch.tensor([0.75, 0.35], dtype=torch.float64)).requires_grad_()
    inputs = {"logprobs": q, "advantages": torch.tensor([1.0, -1.0], dtype=torch.float64)}

    def value_and_gradient(name, **config):
        value = LOSSES[name].value(p, inputs, resolved_config(name, config)).sum()
        return value.item(), torch.autograd.grad(value, p)[0].tolist()

    assert value_and_gradient("ppo") == (pytest.approx(-1.2 + 0.8), [0.0, 0.0])
    assert value_and_gradient("ppo", clip_low_threshold=0.6) == (pytest.approx(-1.2 + 0.7), pytest.approx([0, 0.7]))
    assert value_and_gradient("importance_sampling")[1] == pytest.approx([-1.5, 0.7])
    assert value_and_gradient("cispo", clip_high_threshold=1.4)[1] == pytest.approx([-1.4, 0.7])
    log_ratios = [np.log(1.5), np.log(0.7)]
    assert value_and_gradient("dro")[1] == pytest.approx([-(1 - 0.05 * log_ratios[0]), -(-1 - 0.05 * log_ratios[1])])


def test_gradients_add_up_until_the_step(run):
    from runner.service.requests import AdamParams

    once = ForwardBackward("m", 1, "cross_entropy", {}, False, data_of("cross_entropy"), b"")
    run.forward_backward(once)
    single = {name: value.clone() for name, value in run.gradients().items()}
    run.forward_backward(once)
    for name, value in run.gradients().items():
        torch.testing.assert_close(value, 2 * single[name])
    run.optim_step(
        AdamParams(learning_rate=1e-3, beta1=0.9, beta2=0.95, eps=1e-8, weight_decay=0.0, grad_clip_norm=0.0)
    )
    assert run.gradients() == {}


def test_a_forward_pass_leaves_no_gradient_and_the_split_changes_no_score(run, monkeypatch):
    request = ForwardBackward("m", 1, "cross_entropy", {}, True, data_of("cross_entropy"), b"")
    whole = run.forward_backward(request)
    monkeypatch.setattr("runner.service.training.MAX_MICROBATCH_TOKENS", 1)
    split = run.forward_backward(request)

    assert run.gradients() == {}
    assert split.loss_sum == pytest.approx(whole.loss_sum, rel=1e-6)
    for one, other in zip(whole.logprobs, split.logprobs, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
