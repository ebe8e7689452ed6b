"""Made tokens cover every branch of a loss and stand on no threshold."""

import numpy as np
import pytest

from analysis.losses.made_tokens import MARGIN, made_samplers, made_sequences, thresholds
from analysis.losses.reference import reference_losses


@pytest.fixture(params=["clip", "tv", "kl"])
def loss(request, ratio_clip, divergence_mask):
    return {"clip": ratio_clip(), "tv": divergence_mask(delta=0.15), "kl": divergence_mask("binary_kl", 0.05)}[
        request.param
    ]


def laid_out(loss):
    sequences = made_sequences(loss)
    return (
        np.concatenate([sequence.current_logprob for sequence in sequences]).astype(float),
        np.concatenate([sequence.sampler_logprob for sequence in sequences]).astype(float),
        np.concatenate([np.full(len(sequence.branch), sequence.advantage) for sequence in sequences]),
        [branch for sequence in sequences for branch in sequence.branch],
    )


def test_every_side_of_every_threshold_is_there_for_both_signs_and_zero(loss):
    current, sampler, advantage, branch = laid_out(loss)
    keep = reference_losses(loss, current, sampler, advantage).keep
    for sign in (1, -1, 0):
        places = {place.split(", ")[1] for place, a in zip(branch, advantage, strict=True) if np.sign(a) == sign}
        assert {
            "at mu", "just inside the upper threshold", "just outside the upper threshold", "far above",
            "just inside the lower threshold", "just outside the lower threshold", "far below",
        } <= places  # fmt: skip
    for sign, hidden in ((1, "above"), (-1, "below")):
        ours = np.sign(advantage) == sign
        assert not keep[ours & np.array([f"far {hidden}" in place for place in branch])].any()
        assert keep[ours & np.array(["inside" in place for place in branch])].all()
    assert keep[advantage == 0].all()
    assert {place.split(", ")[0] for place in branch} == {"rare", "middling", "common"}


def test_no_token_stands_near_enough_to_a_threshold_for_rounding_to_move_it(loss):
    current, sampler, _, _ = laid_out(loss)
    for mu, pi in zip(np.exp(sampler), np.exp(current), strict=True):
        for threshold in thresholds(loss, float(mu)):
            if 0.0 < threshold < 1.0:
                assert abs(pi - threshold) > 0.5 * MARGIN[0] * min(threshold, 1.0 - threshold)


def test_a_seed_gives_the_same_tokens_and_another_seed_others(loss):
    first, again, other = made_sequences(loss, 3), made_sequences(loss, 3), made_sequences(loss, 4)
    assert all(np.array_equal(a.current_logprob, b.current_logprob) for a, b in zip(first, again, strict=True))
    assert first[0].advantage != other[0].advantage


def test_made_samplers_put_a_model_s_tokens_inside_and_outside_the_trust_region(loss):
    current = np.log(np.tile([0.001, 0.3, 0.9], 50))
    sampler = made_samplers(loss, current)
    assert (sampler < 0).all()
    for advantage in (1.0, -1.0):
        keep = reference_losses(loss, current, sampler, np.full(150, advantage)).keep
        assert 0.05 < keep.mean() < 0.95


def test_a_token_that_no_sampler_suits_keeps_its_own_probability(ratio_clip):
    sure = np.array([-1e-12])
    assert made_samplers(ratio_clip(eps=0.999), sure)[0] <= 0.0
