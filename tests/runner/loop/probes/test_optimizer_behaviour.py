"""What the optimiser's behaviour shows: an AdamW as planned passes, every other one is named."""

import numpy as np
import pytest

from analysis.errors import AuditError
from runner.loop.probes.optimizer_behaviour import Probe, optimizer_properties


class MadeProbe(Probe):
    """A client whose weights are a vector and whose log-probabilities are linear in it; `wrong` changes the settings
    that are sent, which is what a service with another optimiser amounts to."""

    def __init__(self, planned, wrong=lambda step: step, noise=0.0):
        rng = np.random.default_rng(1)
        self.planned, self._wrong, self.noise = planned, wrong, noise
        self._jacobian, self._gradient = rng.normal(size=(30, 50)), rng.normal(size=50)

    def changes(self, steps, scale=1.0):
        m, v, weights, found = np.zeros(50), np.zeros(50), np.zeros(50), []
        for number, sent in enumerate(steps, start=1):
            step = {"beta1": 0.0, "beta2": 0.0, "weight_decay": 0.0, "grad_clip_norm": 0.0, **sent}
            step = self._wrong(step)
            gradient = scale * self._gradient * (number == 1)
            norm = np.linalg.norm(gradient)
            if step["grad_clip_norm"] and norm > step["grad_clip_norm"]:
                gradient = gradient * step["grad_clip_norm"] / norm
            m = step["beta1"] * m + (1 - step["beta1"]) * gradient
            v = step["beta2"] * v + (1 - step["beta2"]) * gradient**2
            corrected = m / (1 - step["beta1"] ** number), v / (1 - step["beta2"] ** number)
            moved = -step["learning_rate"] * step["weight_decay"] * weights
            moved = moved - step["learning_rate"] * corrected[0] / (np.sqrt(corrected[1]) + step["eps"])
            weights = weights + moved
            found.append(self._jacobian @ moved)
        return found


@pytest.fixture
def planned(make_plan):
    return make_plan().plan.optimizer


def statuses(probe):
    return {item.path.split("/")[1]: item.status for item in optimizer_properties(probe)}


def test_the_planned_adamw_passes_in_every_respect(planned):
    found = statuses(MadeProbe(planned))
    assert set(found) == {"learning_rate", "eps", "gradient_clipping", "adam_normalises", "bias_correction", "beta1",
                          "beta2", "weight_decay"}  # fmt: skip
    assert set(found.values()) == {"pass"}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda step: {**step, "beta1": step["beta1"] and 0.5}, "beta1"),
        (lambda step: {**step, "beta2": step["beta2"] and 0.8}, "beta2"),
        (lambda step: {**step, "eps": max(step["eps"], 1.0)}, "adam_normalises"),
        (lambda step: {**step, "eps": min(step["eps"], 1e-3)}, "eps"),
        (lambda step: {**step, "grad_clip_norm": 0.5}, "gradient_clipping"),
        (lambda step: {**step, "weight_decay": 0.1}, "weight_decay"),
        (lambda step: {**step, "learning_rate": step["learning_rate"] ** 0.5}, "learning_rate"),
    ],
)
def test_another_optimiser_fails_in_the_respect_in_which_it_differs(planned, change, named):
    assert statuses(MadeProbe(planned, change))[named] == "fail"


def test_a_failed_property_says_what_was_predicted(planned):
    probe = MadeProbe(planned, lambda step: {**step, "beta1": step["beta1"] and 0.5})
    (found,) = [item for item in optimizer_properties(probe) if item.path == "optimizer/beta1"]
    assert found.value == pytest.approx(1 / 3, rel=1e-3)
    assert found.expected == pytest.approx(0.9 / 1.9)
    assert "0.3333" in found.reason


def test_what_the_noise_hides_is_unverified_and_no_pass(planned):
    class Noisy(MadeProbe):
        def small_step(self, eps):
            return {"learning_rate": 1e-5 * max(eps, 1.0), "eps": eps}

    found = list(optimizer_properties(Noisy(planned, noise=0.5)))
    hidden = [item for item in found if item.path != "optimizer/weight_decay"]
    assert {item.status for item in hidden} == {"warn"}
    assert all("unverified" in item.reason for item in hidden)


def test_a_batch_that_nothing_moves_says_so(planned):
    with pytest.raises(AuditError, match="noise"):
        MadeProbe(planned, lambda step: {**step, "learning_rate": 0.0}).small_step(1.0)


def test_settings_that_cannot_be_seen_are_unverified(planned):
    other = planned.model_copy(update={"weight_decay": 0.1, "grad_clip_norm": 1.0})
    found = statuses(MadeProbe(other))
    assert (found["weight_decay"], found["gradient_clipping"]) == ("warn", "warn")
