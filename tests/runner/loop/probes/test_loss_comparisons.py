"""A wrong loss fails on made tokens, and the comparison says on which path, by how much and where."""

import dataclasses

import pytest
from broken_losses import BROKEN, BROKEN_CLIP, builder

from analysis.plan.model import Loss
from runner.loop.probes.findings import worst
from runner.loop.probes.loss_comparisons import LossTolerances, made_comparisons
from runner.loop.probes.service import Preparation
from runner.loop.training import rollout_datum

pytestmark = pytest.mark.usefixtures("sdk")


@pytest.fixture
def preparation(make_plan, progress, tmp_path):
    return Preparation(make_plan(), tmp_path, None, {}, progress)


@pytest.fixture
def losses(make_plan):
    return make_plan().plan.losses


def compared(preparation, loss_id, loss, **changes):
    preparation = dataclasses.replace(preparation, **changes)
    return list(made_comparisons(preparation, loss_id, loss, LossTolerances()))


def kl(form="ratio"):
    return Loss(kind="divergence_mask", form=form, divergence="binary_kl", delta=0.05, anchor="sampler",
                truncation=5.0, reduction="token_sum")  # fmt: skip


@pytest.mark.parametrize("loss_id", ["grpo", "dppo", "kl"])
def test_the_loss_that_trains_agrees_with_every_reference(preparation, losses, loss_id):
    found = compared(preparation, loss_id, {**losses, "kl": kl()}[loss_id])
    assert {item.status for item in found} == {"pass"}
    assert all("re-implemented, not executed" in item.reference for item in found)
    assert {item.metric for item in found} == {"loss", "token_loss", "gradient", "gradient_cosine"}


def test_both_forms_have_a_reference_of_their_own(preparation, losses):
    paths = {item.path for item in compared(preparation, "dppo", losses["dppo"])}
    assert paths == {
        "dppo/ratio/made_tokens/paper_ratio_form",
        "dppo/ratio/made_tokens/official_score_form",
        "dppo/score/made_tokens/official_score_form",
    }


MISTAKES = [
    *((loss_id, name, mistake) for loss_id in ("grpo", "dppo") for name, mistake in BROKEN.items()),
    *(("grpo", name, mistake) for name, mistake in BROKEN_CLIP.items()),
]


@pytest.mark.parametrize(("loss_id", "mistake"), [(loss, m) for loss, _, m in MISTAKES],
                         ids=[f"{loss}-{name}" for loss, name, _ in MISTAKES])  # fmt: skip
def test_a_wrong_loss_fails_and_names_path_deviation_and_token(preparation, losses, loss_id, mistake):
    found = compared(preparation, loss_id, losses[loss_id], build_loss=builder(**mistake))
    gradient = [item for item in found if item.metric == "gradient" and item.status == "fail"]
    assert gradient
    for item in gradient:
        assert item.path.startswith(f"{loss_id}/")
        assert item.largest_deviation > item.limit["max"]
        assert {"index", "rollout"} <= set(item.where)
        assert f"off by {item.largest_deviation:.4g} at token {item.where['index']}" in item.reason
    assert worst(found).largest_deviation is not None


def test_the_same_loss_without_a_mistake_passes(preparation, losses):
    for loss_id in ("grpo", "dppo"):
        found = compared(preparation, loss_id, losses[loss_id], build_loss=builder())
        assert {item.status for item in found} == {"pass"}


@pytest.mark.parametrize("column", ["sampler_logprobs", "advantages", "mask"])
def test_a_datum_laid_out_one_position_off_fails(preparation, losses, column):
    import numpy as np
    import tinker

    def shifted(sample, advantage):
        datum = rollout_datum(sample, advantage)
        inputs = dict(datum.loss_fn_inputs)
        inputs[column] = tinker.TensorData.from_numpy(np.roll(inputs[column].to_numpy(), -1))
        return tinker.Datum(model_input=datum.model_input, loss_fn_inputs=inputs)

    for loss_id in ("grpo", "dppo"):
        found = compared(preparation, loss_id, losses[loss_id], lay_out=shifted)
        assert any(item.metric == "gradient" and item.status == "fail" for item in found)


def test_a_truncated_clip_cannot_be_compared_and_does_not_pass(preparation, losses):
    (found,) = compared(preparation, "grpo", losses["grpo"].model_copy(update={"truncation": 3.0}))
    assert found.status == "inconclusive"
    assert "no source" in found.reason
