import numpy as np
import pytest


@pytest.mark.parametrize("delta", [0.2, 0.25])
def test_finds_a_binary_tv_mask_inside_the_clip(resolved_v2, found, delta):
    (finding,) = found(resolved_v2, "mask_subset_of_clip", {"losses.dppo.delta": delta})
    assert finding.path == "losses.dppo.delta"
    assert "over tokens with non-zero advantage the mask is a subset of the PPO clip" in finding.message


def test_silent_on_v2_because_its_delta_is_below_eps(resolved_v2, found):
    assert found(resolved_v2, "mask_subset_of_clip") == []


def test_silent_on_binary_kl(resolved_v2, found):
    change = {"losses.dppo.delta": 0.3, "losses.dppo.divergence": "binary_kl"}
    assert found(resolved_v2, "mask_subset_of_clip", change) == []


def test_silent_on_a_loss_that_no_arm_uses(resolved_v2, found):
    spare = {**resolved_v2["losses"]["dppo"], "delta": 0.5}
    assert found(resolved_v2, "mask_subset_of_clip", {"losses.spare": spare}) == []


@pytest.mark.parametrize(("delta", "subset"), [(0.2, True), (0.3, True), (0.15, False)])
def test_the_claim_itself(delta, subset):
    mu, pi = np.meshgrid(np.linspace(0.001, 0.999, 400), np.linspace(0.001, 0.999, 400))
    for sign in (1.0, -1.0):
        masked = sign * (pi - mu) > delta
        clipped = sign * (pi / mu - 1.0) > 0.2
        assert bool(np.any(masked & ~clipped)) is not subset
