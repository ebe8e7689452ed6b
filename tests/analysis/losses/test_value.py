"""The critic's loss: worked values, its gradient, and numpy against torch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.losses.value import value_loss, value_losses

states = st.lists(st.tuples(*[st.floats(-3, 3)] * 3), min_size=1, max_size=10)
clips = st.one_of(st.none(), st.floats(0.05, 1))


def test_without_a_clip_it_is_half_the_squared_error():
    loss, gradient = value_losses([1.0, 0.5], [0.0, 1.0], [9.0, 9.0])
    np.testing.assert_allclose(loss, [0.5, 0.125])
    np.testing.assert_allclose(gradient, [1.0, -0.5])


@pytest.mark.parametrize(
    ("value", "loss", "gradient"),
    [
        (0.1, 0.405, -0.9),  # inside the clip
        (0.6, 0.32, 0.0),  # moved towards the target beyond the clip: what counts is 0.2, and nothing is gained
        (-0.5, 1.125, -1.5),  # moved away: the larger, unclipped error counts
    ],
)
def test_a_value_gains_nothing_by_moving_beyond_the_clip(value, loss, gradient):
    found = value_losses([value], [1.0], [0.0], clip=0.2)
    assert (found[0][0], found[1][0]) == pytest.approx((loss, gradient))


@given(states, clips)
def test_torch_gives_the_same_loss_and_gradient(rows, clip):
    torch = pytest.importorskip("torch", reason="the training extra is not installed")
    value, target, before = np.array(rows).T
    near_a_kink = clip is not None and (np.abs(np.abs(value - before) - clip) < 1e-6).any()
    losses, gradients = value_losses(value, target, before, clip=clip)
    tensor = torch.tensor(value, requires_grad=True)
    loss = value_loss(tensor, torch.tensor(target), torch.tensor(before), clip)
    loss.backward()
    assert loss.item() == pytest.approx(losses.mean(), abs=1e-12)
    if not near_a_kink:
        np.testing.assert_allclose(tensor.grad.numpy() * len(rows), gradients, atol=1e-9)


@given(states, clips)
def test_the_gradient_is_the_derivative(rows, clip):
    value, target, before = np.array(rows).T
    if clip is not None:
        cut = np.clip(value, before - clip, before + clip)
        at_a_kink = (np.abs(np.abs(value - before) - clip) < 1e-3) | (
            (cut != value) & (np.abs(np.abs(value - target) - np.abs(cut - target)) < 1e-3)
        )
        value, target, before = value[~at_a_kink], target[~at_a_kink], before[~at_a_kink]
    higher, lower = (value_losses(value + sign * 1e-6, target, before, clip=clip)[0] for sign in (1, -1))
    _, gradient = value_losses(value, target, before, clip=clip)
    np.testing.assert_allclose((higher - lower) / 2e-6, gradient, atol=1e-6)
