"""Critics by capacity: their size, their beginning, and that they learn what is there to learn."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the training extra is not installed")

from analysis.plan.advantages import Critic  # noqa: E402
from runner.loop.credit.critics import build_critic, layer_widths, parameter_count  # noqa: E402
from runner.loop.credit.value_model import ValueModel  # noqa: E402

NETWORKS = ("small", "medium", "large")


@pytest.mark.parametrize(
    ("capacity", "widths", "parameters"),
    [("none", (), 0), ("small", (64, 16, 1), 1057), ("medium", (64, 1), 65), ("large", (64, 128, 128, 1), 24961)],
)
def test_a_capacity_is_a_shape(capacity, widths, parameters):
    assert layer_widths(capacity, 64) == widths
    assert parameter_count(build_critic(capacity, 64, seed=0)) == parameters


@pytest.mark.parametrize("capacity", NETWORKS)
def test_the_first_value_of_every_state_is_zero_and_the_weights_follow_from_the_seed(capacity):
    states = torch.randn(9, 8, generator=torch.Generator().manual_seed(1))
    first, again = (build_critic(capacity, 8, seed=3) for _ in range(2))
    torch.rand(5)
    assert not first(states).any()
    for one, other in zip(first.parameters(), again.parameters(), strict=True):
        assert torch.equal(one, other)
    if capacity != "medium":
        assert not torch.equal(next(first.parameters()), next(build_critic(capacity, 8, seed=4).parameters()))


def settings(capacity, **changes):
    return Critic(**({"capacity": capacity, "learning_rate": 0.01, "epochs": 60} | changes))


def made(n=400):
    states = np.random.default_rng(0).normal(size=(n, 6)).astype(np.float32)
    return states, 0.5 + states[:, 0] * 0.3 - states[:, 3] * 0.2


@pytest.mark.parametrize("capacity", NETWORKS)
def test_it_learns_a_linear_value(capacity):
    states, returns = made()
    model = ValueModel(settings(capacity), 6, seed=0)
    before = np.mean((model.values(states) - returns) ** 2)
    for _ in range(4):
        model.fit(states, returns)
    assert np.mean((model.values(states) - returns) ** 2) < 0.02 * before


def test_without_a_network_there_is_no_value_and_nothing_to_learn():
    model = ValueModel(settings("none"), 6, seed=0)
    model.fit(*made())
    assert model.values(made()[0]) is None
    assert model.parameters == 0


def test_a_value_clip_slows_it_down():
    states, returns = made()
    free, clipped = (ValueModel(settings("medium", value_clip=clip), 6, seed=0) for clip in (None, 0.05))
    for model in (free, clipped):
        model.fit(states, returns)
    assert np.abs(clipped.values(states)).max() < 0.5 * np.abs(free.values(states)).max()


@pytest.mark.parametrize("capacity", [*NETWORKS, "none"])
def test_a_restored_critic_goes_on_as_the_saved_one(capacity):
    states, returns = made()
    model = ValueModel(settings(capacity, epochs=3), 6, seed=5)
    model.fit(states, returns)
    other = ValueModel(settings(capacity, epochs=3), 6, seed=5)
    other.restore(model.saved())
    for each in (model, other):
        each.fit(states, returns)
    np.testing.assert_array_equal(model.values(states), other.values(states))
