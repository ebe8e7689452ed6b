"""The independent references against worked numbers, and against the losses they check."""

import math

import numpy as np
import pytest

from analysis.losses.independent import documented_ppo, official_score_form, paper_ratio_form, references_of
from analysis.losses.made_tokens import made_sequences
from analysis.losses.reference import reference_losses

# mu, pi, A, loss and gradient of ppo with thresholds 0.8 and 1.2; score form of binary TV with delta 0.2.
WORKED = [
    (0.0001, 0.01, 1, -1.2, 0.0, 460.517019, -100.0),
    (0.99, 0.80, -1, 0.808081, 0.808081, -0.180318, 0.808081),
    (0.99, 0.70, -1, 0.8, 0.0, 0.0, 0.0),
    (0.50, 0.75, 1, -1.2, 0.0, 0.0, 0.0),
    (0.50, 0.62, 1, -1.2, 0.0, 0.592764, -1.24),
    (0.30, 0.22, -1, 0.8, 0.0, -1.110360, 0.733333),
    (0.60, 0.85, -1, 1.416667, 1.416667, -0.230235, 1.416667),
    (0.80, 0.50, 1, -0.625, -0.625, 0.433217, -0.625),
    (0.20, 0.45, 0.5, -0.6, 0.0, 0.0, 0.0),
    (0.50, 0.75, 0, 0.0, 0.0, 0.0, 0.0),
]


@pytest.mark.parametrize(("mu", "pi", "a", "ppo", "ppo_gradient", "score", "gradient"), WORKED)
def test_worked_numbers(divergence_mask, mu, pi, a, ppo, ppo_gradient, score, gradient):
    at = (math.log(pi), math.log(mu), a)
    assert documented_ppo(0.8, 1.2).token(*at) == pytest.approx((ppo, ppo_gradient), abs=1e-6)
    assert official_score_form(divergence_mask(form="score")).token(*at) == pytest.approx((score, gradient), abs=1e-6)
    assert paper_ratio_form(divergence_mask()).token(*at) == pytest.approx((gradient, gradient), abs=1e-6)


def test_truncation_bounds_value_and_gradient(divergence_mask):
    rare = (math.log(0.01), math.log(0.0001), 1.0)
    assert official_score_form(divergence_mask(form="score", truncation=5.0)).token(*rare) == pytest.approx(
        (23.025851, -5.0), abs=1e-6
    )
    assert paper_ratio_form(divergence_mask(truncation=5.0)).token(*rare) == pytest.approx((-5.0, -5.0))


@pytest.mark.parametrize("divergence", ["binary_tv", "binary_kl"])
@pytest.mark.parametrize("form", ["ratio", "score"])
def test_our_reference_agrees_with_them_on_made_tokens(divergence_mask, divergence, form):
    loss = divergence_mask(divergence, delta=0.05, form=form)
    (independent,) = references_of(loss)
    for sequence in made_sequences(loss):
        advantage = np.full(len(sequence.branch), sequence.advantage)
        value, gradient = independent.evaluate(sequence.current_logprob, sequence.sampler_logprob, advantage)
        ours = reference_losses(loss, sequence.current_logprob, sequence.sampler_logprob, advantage)
        np.testing.assert_allclose(ours.loss, value, rtol=1e-12)
        np.testing.assert_allclose(ours.gradient, gradient, rtol=1e-12)


def test_thresholds_of_the_documented_loss_are_the_plan_s_eps_around_one(ratio_clip):
    (reference,) = references_of(ratio_clip(eps=0.3))
    assert reference.token(math.log(0.5), math.log(0.25), 1.0) == pytest.approx((-1.3, 0.0))
    assert reference.token(math.log(0.25), math.log(0.5), -1.0) == pytest.approx((0.7, 0.0))


def test_a_truncated_ratio_clip_has_no_source(ratio_clip):
    assert references_of(ratio_clip(truncation=3.0)) == ()
