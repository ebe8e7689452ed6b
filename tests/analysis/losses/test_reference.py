"""The reference losses against worked values, finite differences and the structure of the paper."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from analysis.losses.reference import clip_binds, keep_mask, reference_losses
from analysis.plan.model import Loss

# Eleven tokens worked by hand and once by the official code: probabilities, advantages and what follows from them.
MU = np.array([0.0001, 0.99, 0.99, 0.50, 0.50, 0.30, 0.30, 0.60, 0.80, 0.20, 0.50])
PI = np.array([0.01, 0.80, 0.70, 0.75, 0.62, 0.10, 0.22, 0.85, 0.50, 0.45, 0.75])
ADVANTAGE = np.array([1, -1, -1, 1, 1, -1, -1, -1, 1, 0.5, 0])
SAMPLER, CURRENT = np.log(MU), np.log(PI)
KEEP_TV_20 = np.array([1, 1, 0, 0, 1, 1, 1, 1, 1, 0, 1], bool)
KEEP_TV_15 = np.array([1, 0, 0, 0, 1, 0, 1, 1, 1, 0, 1], bool)
KEEP_KL_05 = np.array([1, 0, 0, 0, 1, 0, 1, 1, 1, 0, 1], bool)
GRADIENT_UNMASKED = np.array([-100, 0.808081, 0.707071, -1.5, -1.24, 0.333333, 0.733333, 1.416667, -0.625, -1.125, 0])
GRADIENT_CLIP = np.array([0, 0.808081, 0, 0, 0, 0, 0, 1.416667, -0.625, 0, 0])
VALUE_CLIP = np.array([-1.2, 0.808081, 0.8, -1.2, -1.2, 0.8, 0.8, 1.416667, -0.625, -0.6, 0])
VALUE_TV_20_SCORE = np.array([460.517019, -0.180318, 0, 0, 0.592764, -0.767528, -1.110360, -0.230235, 0.433217, 0, 0])


def test_masks_equal_the_worked_ones(divergence_mask):
    for loss, keep in [
        (divergence_mask("binary_tv", 0.20), KEEP_TV_20),
        (divergence_mask("binary_tv", 0.15), KEEP_TV_15),
        (divergence_mask("binary_kl", 0.05), KEEP_KL_05),
    ]:
        np.testing.assert_array_equal(keep_mask(loss, CURRENT, SAMPLER, ADVANTAGE), keep)


def test_gradients_and_values_equal_the_worked_ones(ratio_clip, divergence_mask):
    clip = reference_losses(ratio_clip(0.2), CURRENT, SAMPLER, ADVANTAGE)
    np.testing.assert_allclose(clip.gradient, GRADIENT_CLIP, atol=5e-7)
    np.testing.assert_allclose(clip.loss, VALUE_CLIP, atol=5e-7)
    score = reference_losses(divergence_mask(form="score"), CURRENT, SAMPLER, ADVANTAGE)
    np.testing.assert_allclose(score.gradient, GRADIENT_UNMASKED * KEEP_TV_20, atol=5e-7)
    np.testing.assert_allclose(score.loss, VALUE_TV_20_SCORE, atol=5e-7)
    ratio = reference_losses(divergence_mask(form="ratio"), CURRENT, SAMPLER, ADVANTAGE)
    assert ratio.loss[0] == pytest.approx(-100.0)


def test_truncation_bounds_the_weight_and_not_the_mask(divergence_mask):
    truncated = reference_losses(divergence_mask(form="score", truncation=5.0), CURRENT, SAMPLER, ADVANTAGE)
    assert truncated.gradient[0] == pytest.approx(-5.0)
    assert truncated.loss[0] == pytest.approx(23.025851)
    np.testing.assert_array_equal(truncated.keep, KEEP_TV_20)


def test_the_clip_fraction_counts_binding_clips_only():
    binds = clip_binds(PI / MU, ADVANTAGE, 0.2)
    assert int(binds.sum()) == 7
    outside = np.abs(PI / MU - 1) > 0.2
    assert int(outside.sum()) == 10


def test_hidden_shares_of_the_worked_tokens(divergence_mask):
    keep = keep_mask(divergence_mask(), CURRENT, SAMPLER, ADVANTAGE)
    assert int((~keep).sum()) == 3
    assert int((ADVANTAGE != 0).sum()) == 10


def test_the_worked_sequence_with_prompt_positions(ratio_clip, divergence_mask):
    sampler, current = np.array([-0.7, -1.2, -0.1, -4.0]), np.array([-0.55, -1.6, -0.9, -2.5])
    advantage = np.array([1.0, -1.0, -1.0, 1.0])
    score = reference_losses(divergence_mask(form="score"), current, sampler, advantage)
    np.testing.assert_allclose(-score.gradient, [1.161834, -0.670320, 0, 4.481689], atol=5e-7)
    assert score.total == pytest.approx(10.770720, abs=1e-6)
    clip = reference_losses(ratio_clip(), current, sampler, advantage)
    np.testing.assert_allclose(-clip.gradient, [1.161834, 0, 0, 0], atol=5e-7)
    assert clip.total == pytest.approx(-0.761834, abs=5e-7)


LOGPROBS = hnp.arrays(np.float64, 12, elements=st.floats(-12.0, -1e-6))
ADVANTAGES = hnp.arrays(np.float64, 12, elements=st.sampled_from([-1.0, -0.25, 0.0, 0.5, 0.875]))


def _losses(eps, delta, form="ratio", divergence="binary_tv"):
    shared = {"anchor": "sampler", "truncation": None, "reduction": "token_sum"}
    return (
        Loss(kind="ratio_clip", form="ratio", eps=eps, **shared),
        Loss(kind="divergence_mask", form=form, divergence=divergence, delta=delta, **shared),
    )


@given(LOGPROBS, LOGPROBS, ADVANTAGES)
def test_a_token_that_tv_masks_is_one_that_the_clip_of_the_same_width_hides(current, sampler, advantage):
    clip, mask = _losses(0.2, 0.2)
    clipped = clip_binds(np.exp(current - sampler), advantage, clip.eps)
    masked = ~keep_mask(mask, current, sampler, advantage)
    # |pi - mu| = mu |r - 1| up to rounding, so equality at the threshold is left out.
    clear = np.abs(np.abs(np.exp(current - sampler) - 1.0) - 0.2) > 1e-9
    assert not (masked & ~clipped & clear).any()


@given(LOGPROBS, LOGPROBS, ADVANTAGES, st.sampled_from(["binary_tv", "binary_kl"]))
def test_only_outward_pushes_are_masked_and_their_gradient_is_exactly_zero(current, sampler, advantage, divergence):
    _, mask = _losses(0.2, 0.05, divergence=divergence)
    evaluated = reference_losses(mask, current, sampler, advantage)
    hidden = ~evaluated.keep
    assert (np.sign(current - sampler)[hidden] == np.sign(advantage)[hidden]).all()
    assert (advantage[hidden] != 0).all()
    assert (evaluated.gradient[hidden] == 0.0).all()
    kept = evaluated.keep & (advantage != 0)
    assert (evaluated.gradient[kept] != 0.0).all()


@given(LOGPROBS, LOGPROBS, ADVANTAGES)
def test_a_mask_on_the_ratio_deviation_is_the_clip(current, sampler, advantage):
    clip, _ = _losses(0.2, 0.2)
    ratio = np.exp(current - sampler)
    deviation_mask = ((advantage > 0) & (ratio > 1) | (advantage < 0) & (ratio < 1)) & (np.abs(ratio - 1.0) > 0.2)
    clear = np.abs(np.abs(ratio - 1.0) - 0.2) > 1e-9
    np.testing.assert_array_equal(clip_binds(ratio, advantage, clip.eps)[clear], deviation_mask[clear])


@given(LOGPROBS, LOGPROBS, ADVANTAGES)
def test_the_forms_share_the_gradient_and_not_the_value(current, sampler, advantage):
    ratio = reference_losses(_losses(0.2, 0.15, "ratio")[1], current, sampler, advantage)
    score = reference_losses(_losses(0.2, 0.15, "score")[1], current, sampler, advantage)
    np.testing.assert_array_equal(ratio.gradient, score.gradient)
    moving = ratio.keep & (advantage != 0) & (np.abs(current - 1.0) > 1e-3)
    assert (ratio.loss[moving] != score.loss[moving]).all()


def test_an_unknown_parameter_is_not_read_as_zero(divergence_mask):
    broken = divergence_mask().model_copy(update={"delta": None})
    with pytest.raises(ValueError, match="parameter"):
        keep_mask(broken, CURRENT, SAMPLER, ADVANTAGE)


def test_a_kl_penalty_is_on_every_token_and_has_the_derivative_of_its_value():
    loss = Loss(
        kind="ratio_clip", form="ratio", eps=0.2, anchor="sampler", truncation=None, reduction="token_sum",
        kl_coefficient=0.3,
    )  # fmt: skip
    plain = loss.model_copy(update={"kl_coefficient": None})
    current, sampler = np.array([-1.0, -0.2, -2.0]), np.array([-1.0, -1.5, -0.5])
    advantage = np.array([0.0, 1.0, -1.0])
    found, without = (reference_losses(each, current, sampler, advantage) for each in (loss, plain))
    ratio = np.exp(current - sampler)
    np.testing.assert_allclose(found.loss - without.loss, 0.3 * (ratio - 1 - np.log(ratio)))
    np.testing.assert_allclose(found.gradient - without.gradient, 0.3 * (ratio - 1))
    np.testing.assert_array_equal(found.keep, without.keep)


def test_a_preference_loss_has_no_tokens():
    loss = Loss(kind="preference", form="ratio", beta=0.1, anchor="base", truncation=None, reduction="token_sum")
    with pytest.raises(ValueError, match="pairs, not tokens"):
        reference_losses(loss, [0.0], [0.0], [0.0])
