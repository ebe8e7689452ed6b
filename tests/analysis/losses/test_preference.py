"""DPO's loss: worked values, its gradient, and numpy against torch."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.losses.preference import build_preference_loss, preference_losses

pairs = st.lists(st.tuples(*[st.floats(-30, 0)] * 4), min_size=1, max_size=8)


def test_a_policy_that_is_the_base_model_loses_log_two():
    found = preference_losses([-3.0], [-5.0], [-3.0], [-5.0], beta=0.1)
    assert found.loss[0] == pytest.approx(np.log(2))
    assert found.gradient[0] == pytest.approx(-0.05)


def test_a_worked_pair():
    # margin = 0.5 ((-2 + 3) - (-6 + 5)) = 1; -log sigma(1) = log(1 + e^-1)
    found = preference_losses([-2.0], [-6.0], [-3.0], [-5.0], beta=0.5)
    assert found.margin[0] == pytest.approx(1.0)
    assert found.loss[0] == pytest.approx(0.31326168751822286)
    assert found.gradient[0] == pytest.approx(-0.5 * 0.2689414213699951)


def test_far_margins_neither_overflow_nor_vanish():
    found = preference_losses([0.0, -5000.0], [-5000.0, 0.0], [0.0, 0.0], [0.0, 0.0], beta=1.0)
    np.testing.assert_allclose(found.loss, [0.0, 5000.0])
    np.testing.assert_allclose(found.gradient, [0.0, -1.0])


@given(pairs, st.floats(0.01, 2))
def test_the_gradient_is_the_derivative(rows, beta):
    columns = np.array(rows).T
    step = np.zeros_like(columns)
    step[0] = 1e-5
    higher, lower = (preference_losses(*(columns + sign * step), beta=beta).loss for sign in (1, -1))
    found = preference_losses(*columns, beta=beta)
    np.testing.assert_allclose((higher - lower) / 2e-5, found.gradient, atol=1e-7)
    step = np.roll(step, 1, axis=0)
    higher, lower = (preference_losses(*(columns + sign * step), beta=beta).loss for sign in (1, -1))
    np.testing.assert_allclose((higher - lower) / 2e-5, -found.gradient, atol=1e-7)


@given(pairs, st.floats(0.01, 2))
def test_swapping_chosen_and_rejected_turns_the_margin(rows, beta):
    w, low, ref_w, ref_l = np.array(rows).T
    np.testing.assert_allclose(
        preference_losses(w, low, ref_w, ref_l, beta=beta).margin,
        -preference_losses(low, w, ref_l, ref_w, beta=beta).margin,
    )


class Column:
    def __init__(self, values):
        self.values = np.asarray(values, np.float32)

    def to_torch(self):
        import torch

        return torch.from_numpy(self.values)

    def to_numpy(self):
        return self.values


def test_torch_gives_the_same_loss_and_gradient_and_sees_completion_tokens_only():
    torch = pytest.importorskip("torch", reason="the training extra is not installed")
    rng = np.random.default_rng(5)
    lengths, prompt = [4, 3, 6, 2], 2
    rows = [(rng.uniform(-3, 0, prompt + n), rng.uniform(-3, 0, prompt + n)) for n in lengths]
    masks = [[0] * prompt + [1] * n for n in lengths]
    data = [
        SimpleNamespace(loss_fn_inputs={"base_logprobs": Column(base), "mask": Column(mask)})
        for (_, base), mask in zip(rows, masks, strict=True)
    ]
    current = [torch.tensor(values.astype(np.float32), requires_grad=True) for values, _ in rows]
    loss, counts = build_preference_loss(0.3)(data, current)
    loss.backward()
    sums = [values.astype(np.float32)[prompt:].astype(float).sum() for values, _ in rows]
    bases = [base.astype(np.float32)[prompt:].astype(float).sum() for _, base in rows]
    expected = preference_losses(sums[0::2], sums[1::2], bases[0::2], bases[1::2], beta=0.3)
    assert loss.item() == pytest.approx(expected.loss.sum(), abs=1e-6)
    assert counts == {"custom/loss_tokens:sum": 15.0, "custom/hidden:sum": 0.0}
    for place, values in enumerate(current):
        sign = 1 if place % 2 == 0 else -1
        np.testing.assert_allclose(values.grad[prompt:], sign * expected.gradient[place // 2], atol=1e-6)
        assert not values.grad[:prompt].any()


def test_a_completion_without_its_pair_is_refused():
    with pytest.raises(ValueError, match="in pairs"):
        build_preference_loss(0.1)([object()], [])
