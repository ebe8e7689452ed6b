"""The optimiser, known by what it does: AdamW's predictions for changes of a batch's log-probabilities.

Steps are small, so that a change of log-probabilities is linear in the step; the ratio of two changes is then the
ratio of two steps, which AdamW predicts from its settings alone:

- an eps far above every gradient makes the first step lr g / eps: proportional to lr, to g and to 1 / eps;
- without eps the first step is lr sign(g): it does not change when g is scaled;
- a second step without a gradient is the first one times beta1 / (1 + beta1) where eps is huge, and that divided by
  sqrt(beta2 / (1 + beta2)) where eps is negligible.

Source: Adam, arXiv:1412.6980, Algorithm 1; AdamW, arXiv:1711.05101, Algorithm 2.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.errors import AuditError
from analysis.plan.model import Arm
from audits.store.preflights import Comparison
from runner.loop.probes.findings import finite, open_question
from runner.loop.probes.service import (
    HUGE_EPS,
    Preparation,
    forward_backward,
    logprobs_of,
    optimizer_step,
    unit_cross_entropy,
)

TINY_EPS = 1e-12
RATIO_TOLERANCE = 0.03
"""Relative; the steps are small, not infinitesimal."""

SMALL_STEP = 0.005
"""Nats: how far the first step should move the log-probability that it moves most."""

NOISE_SHARE = 0.01
"""A change must be this much larger than the noise before a ratio of changes means anything."""

Vector = NDArray[np.float64]
Step = dict[str, float]


def optimizer_comparisons(preparation: Preparation, arm: Arm, data: Sequence[Any]) -> Iterator[Comparison]:
    """Yield a comparison for each property of AdamW with the plan's settings that the API lets be seen.

    What a noisy service hides, or a service refuses to do, is `warn` with the word unverified, never `pass`: the plan
    cannot ask for more than the service reveals.
    """
    try:
        yield from optimizer_properties(Probe(preparation, arm, data))
    except AuditError as error:
        yield _unverified("behaviour", error.message)


class Probe:
    """Measures how steps of fresh clients change the log-probabilities of a batch."""

    def __init__(self, preparation: Preparation, arm: Arm, data: Sequence[Any]) -> None:
        self._preparation, self._arm, self._data = preparation, arm, data
        self.planned = preparation.sealed.plan.optimizer
        self._start = self._logprobs(preparation.fresh(arm).client)
        self.noise = float(np.abs(self._logprobs(preparation.fresh(arm).client) - self._start).max())

    def changes(self, steps: Sequence[Step], scale: float = 1.0) -> list[Vector]:
        """Return the change of each step of a fresh client; the gradient, times scale, comes with the first only."""
        backend, client = self._preparation.backend, self._preparation.fresh(self._arm).client
        found, before = [], self._start
        for number, step in enumerate(steps):
            weight = scale if number == 0 else 0.0
            forward_backward(backend, client, unit_cross_entropy(self._data, weight), "cross_entropy")
            optimizer_step(backend, client, step)
            after = self._logprobs(client)
            found.append(after - before)
            before = after
        return found

    def change(self, step: Step, scale: float = 1.0) -> Vector:
        """Return the change of one step of a fresh client."""
        return self.changes([step], scale)[0]

    def small_step(self, eps: float) -> Step:
        """Return settings whose step moves the batch by `SMALL_STEP`; a small change is linear in the rate.

        Raises:
            AuditError: nothing moved it by more than its noise.
        """
        rate, seen = 1e-7 * max(eps, 1.0), max(SMALL_STEP / 50.0, self.noise / NOISE_SHARE)
        for _ in range(4):
            largest = float(np.abs(self.change({"learning_rate": rate, "eps": eps})).max())
            if largest > seen:
                return {"learning_rate": rate * max(SMALL_STEP, self.noise / NOISE_SHARE) / largest, "eps": eps}
            rate *= 100.0
        raise AuditError(f"no step moved the batch by more than the service's noise ({self.noise:.2g} nats)")

    def _logprobs(self, client: Any) -> Vector:
        return np.concatenate(logprobs_of(self._preparation.backend, client, self._data))


def optimizer_properties(probe: Probe) -> Iterator[Comparison]:
    """Yield the comparisons of what a probe measures with what AdamW predicts (see `optimizer_comparisons`)."""
    planned, linear, sign = probe.planned, probe.small_step(HUGE_EPS), probe.small_step(TINY_EPS)
    betas = {"beta1": planned.beta1, "beta2": planned.beta2}
    base, normalised = probe.change(linear), probe.change(sign)
    half = {**linear, "learning_rate": linear["learning_rate"] / 2.0}
    yield _ratio(probe, "learning_rate", probe.change(half), base, 0.5, "half the learning rate, half the step")
    twice = {**linear, "eps": 2.0 * HUGE_EPS}
    yield _ratio(probe, "eps", probe.change(twice), base, 0.5, "twice a huge eps, half the step")
    yield from _clipping(probe, linear, base)
    larger = probe.change(sign, scale=4.0)
    words = "four times the gradient, the same step where eps is negligible"
    yield _ratio(probe, "adam_normalises", larger, normalised, 1.0, words)
    momentum = planned.beta1 / (1.0 + planned.beta1)
    first, second = probe.changes([{**linear, **betas}] * 2)
    yield _ratio(probe, "bias_correction", first, base, 1.0, "the first step does not depend on the betas")
    yield _ratio(probe, "beta1", second, first, momentum, "a step without gradient, eps huge: beta1 / (1 + beta1)")
    if not planned.beta2:
        yield _unverified("beta2", "a beta2 of 0 leaves nothing to divide a step without gradient by")
        return
    first, second = probe.changes([{**sign, **betas}] * 2)
    words = "a step without gradient, eps negligible: beta1 / (1 + beta1) / sqrt(beta2 / (1 + beta2))"
    yield _ratio(probe, "beta2", second, first, momentum / math.sqrt(planned.beta2 / (1.0 + planned.beta2)), words)
    yield _decay(probe, linear)


def _clipping(probe: Probe, linear: Step, base: Vector) -> Iterator[Comparison]:
    if probe.planned.grad_clip_norm:
        yield _unverified("gradient_clipping", "the API tells no norm of a gradient to compare the plan's limit with")
        return
    words = "four times the gradient, four times the step: nothing is clipped"
    yield _ratio(probe, "gradient_clipping", probe.change(linear, scale=4.0), base, 4.0, words)


def _decay(probe: Probe, linear: Step) -> Comparison:
    """Check that no weight decays where the plan has none: a step without gradient and memory must move nothing."""
    if probe.planned.weight_decay:
        return _unverified("weight_decay", "a decay moves log-probabilities by less than can be told from other causes")
    _, after = probe.changes([linear, {"learning_rate": 0.5, "eps": 1.0}])
    largest, allowed = float(np.abs(after).max()), probe.noise + 1e-6
    return Comparison(
        path="optimizer/weight_decay",
        metric="change",
        status="pass" if largest <= allowed else "fail",
        value=largest,
        unit="nats",
        limit={"max": allowed},
        reference="AdamW with weight decay 0, a gradient of 0 and no memory: no step",
        n=int(after.size),
        reason=None if largest <= allowed else "the weights moved without a gradient",
        measures="largest change of a log-probability",
    )


def _unverified(name: str, reason: str) -> Comparison:
    return open_question(f"optimizer/{name}", "step_ratio", f"unverified: {reason}", status="warn")


def _ratio(probe: Probe, name: str, change: Vector, base: Vector, expected: float, measures: str) -> Comparison:
    """Compare the ratio of two changes, by least squares, with what AdamW predicts."""
    length = float(np.linalg.norm(base))
    if not length:
        return _unverified(name, "the step moved nothing")
    value = float(np.dot(change, base)) / length**2
    # Noise enters both changes at every token.
    spread = 3.0 * probe.noise * math.sqrt(2.0 * base.size) / length
    if spread > 0.2 * abs(expected):
        return _unverified(name, f"the service's noise of {probe.noise:.2g} nats hides it")
    allowed = RATIO_TOLERANCE * abs(expected) + spread
    right = abs(value - expected) <= allowed
    said = f"the ratio of the steps is {value:.4g}, AdamW by the plan's settings makes it {expected:.4g}"
    return Comparison(
        path=f"optimizer/{name}",
        metric="step_ratio",
        status="pass" if right else "fail",
        value=finite(value),
        expected=finite(expected),
        limit={"min": expected - allowed, "max": expected + allowed},
        tolerance={"rtol": RATIO_TOLERANCE},
        reference="AdamW, arXiv:1711.05101, from the plan's settings",
        n=int(base.size),
        reason=None if right else said,
        measures=measures,
    )
