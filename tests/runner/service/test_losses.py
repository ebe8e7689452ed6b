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


# mu, pi, advantage; loss of ppo with 0.8/1.2; gradients for log pi of importance_sampling and ppo.
WORKED = [
    (0.0001, 0.01, 1, -1.2, -100.0, 0),
    (0.99, 0.80, -1, 0.808081, 0.808081, 0.808081),
    (0.99, 0.70, -1, 0.8, 0.707071, 0),
    (0.50, 0.75, 1, -1.2, -1.5, 0),
    (0.50, 0.62, 1, -1.2, -1.24, 0),
    (0.30, 0.10, -1, 0.8, 0.333333, 0),
    (0.30, 0.22, -1, 0.8, 0.733333, 0),
    (0.60, 0.85, -1, 1.416667, 1.416667, 1.416667),
    (0.80, 0.50, 1, -0.625, -0.625, -0.625),
    (0.20, 0.45, 0.5, -0.6, -1.125, 0),
    (0.50, 0.75, 0, 0, 0, 0),
]


def of_worked_tokens(name, **config):
    """The loss of each worked token and its gradient, in float64."""
    mu, pi, advantage = (torch.tensor(column, dtype=torch.float64) for column in list(zip(*WORKED, strict=True))[:3])
    p = pi.log().requires_grad_()
    values = LOSSES[name].value(p, {"logprobs": mu.log(), "advantages": advantage}, resolved_config(name, config))
    return values.tolist(), torch.autograd.grad(values.sum(), p)[0].tolist()


def test_worked_tokens():
    columns = list(zip(*WORKED, strict=True))
    losses, gradients = of_worked_tokens("ppo")
    assert losses == pytest.approx(columns[3], abs=1e-6)
    assert gradients == pytest.approx(columns[5], abs=1e-6)
    assert of_worked_tokens("importance_sampling") == (
        pytest.approx(columns[4], abs=1e-6),
        pytest.approx(columns[4], abs=1e-6),
    )
    losses, gradients = of_worked_tokens("cispo")
    assert (losses[0], gradients[0]) == (pytest.approx(18.420681), pytest.approx(-4))
    assert gradients[1:] == pytest.approx(columns[4][1:], abs=1e-6)
    gradients = of_worked_tokens("dro")[1]
    assert [gradients[0], gradients[1], gradients[10]] == pytest.approx([-0.769741, 0.989345, 0.020273], abs=1e-6)


def test_settings_are_bounds_of_the_ratio_itself():
    """Token 5 has ratio 1/3: a lower bound of 0.3 lets it through, and so would not an epsilon of 0.3."""
    assert of_worked_tokens("ppo", clip_low_threshold=0.3)[1][5] == pytest.approx(1 / 3)
    assert of_worked_tokens("ppo", clip_low_threshold=0.7)[1][5] == 0
    assert of_worked_tokens("cispo", clip_high_threshold=1.4)[1][3] == pytest.approx(-1.4)
    assert of_worked_tokens("dro", beta=0.0)[1][0] == pytest.approx(-1)


@pytest.mark.parametrize("loss", LOSSES)
def test_gradients_are_those_of_finite_differences(loss):
    """A constant factor is no part of the function that is differentiated, so cispo's is held at its value."""
    random = np.random.default_rng(3)
    inputs = {name: torch.from_numpy(random.normal(-1, 1, 40)) for name in LOSSES[loss].inputs}
    p = torch.from_numpy(random.normal(-1, 1, 40)).requires_grad_()
    config = resolved_config(loss, {})
    if loss != "cispo":
        assert torch.autograd.gradcheck(lambda p: LOSSES[loss].value(p, inputs, config), p)
        return
    gradient = torch.autograd.grad(LOSSES[loss].value(p, inputs, config).sum(), p)[0]
    ratio = (p - inputs["logprobs"]).exp().clamp(0, 4)
    torch.testing.assert_close(gradient, (-ratio * inputs["advantages"]).detach())


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
