"""The losses through the real SDK and the embedded service."""

import dataclasses

import pytest
from broken_losses import BROKEN, BROKEN_CLIP, builder, traceable
from service_proxy import Answer, Proxy

from analysis.errors import AuditError
from analysis.losses import token_loss
from runner.loop.backend import open_backend
from runner.loop.launch import load_plan
from runner.loop.preflight import correctness
from runner.loop.probes import loss_effects
from runner.loop.probes.service import Preparation
from runner.loop.training import rollout_datum

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture
def preparation(make_plan, backend, progress, tmp_path):
    """A preparation in a session of its own: the SDK takes each traced loss once a session."""
    with open_backend(backend.url, tmp_path) as session:
        yield Preparation(make_plan(), tmp_path, session, {}, progress)


def test_the_losses_that_train_agree_with_references_service_and_trace(preparation):
    found = list(correctness.run(preparation))
    assert {item.status for item in found} == {"pass"}, [item for item in found if item.status != "pass"]
    effects = {item.path: item for item in found if item.metric == "gradient_effect"}
    assert set(effects) == {
        "grpo/ratio/made_sampler/service_ppo", "grpo/ratio/made_sampler/traced", "dppo/ratio/made_sampler/traced",
    }  # fmt: skip
    assert "thresholds 0.8 and 1.2: executed" in effects["grpo/ratio/made_sampler/service_ppo"].reference
    assert all("run by the service: executed" in effects[path].reference for path in effects if "traced" in path)
    # A step that moves nothing would agree with everything.
    assert all(abs(item.expected) > 1e-4 for item in effects.values())
    for path in ("grpo/ratio/made_sampler/documented_ppo", "dppo/ratio/made_sampler/paper_ratio_form"):
        (total,) = [item for item in found if item.path == path and item.metric == "loss"]
        hidden, tokens = (int(word) for word in total.notes[0].split(" tokens")[0].split(" of "))
        assert 0 < hidden < tokens


def test_a_topk_loss_is_left_open_with_a_reason_and_never_passes_in_silence(preparation, make_plan):
    plan = make_plan(losses__dppo__divergence="topk_tv", losses__dppo__top_k=4)
    found = list(correctness.run(dataclasses.replace(preparation, sealed=plan)))
    of_topk = [item for item in found if item.path.startswith("dppo")]
    assert [(item.path, item.status) for item in of_topk] == [("dppo/ratio", "inconclusive")]
    assert "top-k" in of_topk[0].reason
    assert {item.status for item in found if item not in of_topk} == {"pass"}


def test_a_service_that_runs_no_traced_losses_has_them_run_by_the_sdk_and_that_is_said(
    make_plan, backend, progress, tmp_path
):
    def without_the_flag(path, _body):
        return Answer(200, b"{}") if path == "client/config" else None

    with Proxy(backend.url, fault=without_the_flag) as proxy, open_backend(proxy.url, tmp_path) as session:
        found = list(correctness.run(Preparation(make_plan(), tmp_path, session, {}, progress)))
        assert "create_custom_loss" not in proxy.requests
    traced = [item for item in found if item.path.endswith("/traced") and item.metric == "loss"]
    assert {item.status for item in found} == {"pass"}
    assert {item.path for item in traced} == {"grpo/ratio/made_sampler/traced", "dppo/ratio/made_sampler/traced"}
    for item in traced:
        assert "run by the SDK: executed" in item.reference
        assert "not compared was a loss that the service runs itself" in item.notes[0]


def test_a_loss_that_the_service_refuses_is_left_open_with_what_it_said(preparation, monkeypatch):
    def refused(loss):
        import torch

        def random(logprobs, sampler_logprobs, advantages, mask):
            return token_loss(loss)(logprobs * torch.rand_like(logprobs), sampler_logprobs, advantages, mask)

        return random

    monkeypatch.setattr(loss_effects, "token_loss", refused)
    found = {item.path: item for item in correctness.run(preparation) if item.status != "pass"}
    assert set(found) == {"grpo/ratio/made_sampler/traced", "dppo/ratio/made_sampler/traced"}
    for item in found.values():
        assert (item.status, "'torch.rand_like' is not served" in item.reason) == ("inconclusive", True)


WRONG = pytest.mark.parametrize(
    ("loss_id", "mistake"),
    [*(("grpo", m) for m in (BROKEN | BROKEN_CLIP).values()), *(("dppo", m) for m in BROKEN.values())],
    ids=[*(f"grpo-{name}" for name in BROKEN | BROKEN_CLIP), *(f"dppo-{name}" for name in BROKEN)],
)


@pytest.mark.slow
@WRONG
def test_a_wrong_loss_on_the_service_fails_against_the_one_that_trains(preparation, loss_id, mistake, monkeypatch):
    def build(loss):
        broken = (loss.kind == "ratio_clip") == (loss_id == "grpo")
        return traceable(loss, **mistake) if broken else token_loss(loss)

    monkeypatch.setattr(loss_effects, "token_loss", build)
    found = list(correctness.run(preparation))
    failed = [item for item in found if item.status == "fail"]
    assert {item.path for item in failed} == {f"{loss_id}/ratio/made_sampler/traced"}
    (worst,) = [item for item in failed if item.metric == "gradient_effect"]
    assert worst.largest_deviation > worst.limit["max"]
    assert f"off by {worst.largest_deviation:.4g} at token" in worst.reason
    assert "run by the service" in worst.reference


@pytest.mark.slow
@WRONG
def test_a_wrong_loss_fails_on_the_service_too(preparation, loss_id, mistake):
    sound = preparation.build_loss

    def build(loss):
        return builder(**mistake)(loss) if (loss.kind == "ratio_clip") == (loss_id == "grpo") else sound(loss)

    found = list(correctness.run(dataclasses.replace(preparation, build_loss=build)))
    failed = {item.path.split("/")[0] for item in found if item.status == "fail"}
    assert failed == {loss_id}
    against_service = [item for item in found if item.path.startswith(f"{loss_id}/ratio/made_sampler/")]
    assert any(item.status == "fail" and "off by" in item.reason for item in against_service)
    traced = [item for item in against_service if item.path.endswith("/traced") and item.status == "fail"]
    assert any("off by" in item.reason and "run by the service" in item.reference for item in traced)


@pytest.mark.slow
def test_a_datum_laid_out_one_position_off_fails_on_the_service_too(preparation):
    import numpy as np
    import tinker

    def shifted(sample, advantage):
        datum = rollout_datum(sample, advantage)
        inputs = {
            name: value if name == "target_tokens" else tinker.TensorData.from_numpy(np.roll(value.to_numpy(), -1))
            for name, value in datum.loss_fn_inputs.items()
        }
        return tinker.Datum(model_input=datum.model_input, loss_fn_inputs=inputs)

    found = list(correctness.run(dataclasses.replace(preparation, lay_out=shifted)))
    assert any(item.path == "grpo/ratio/made_sampler/service_ppo" and item.status == "fail" for item in found)


def test_the_plan_s_tolerances_are_used(make_plan):
    losses = make_plan().plan.losses
    settings = {
        "paths": [
            {
                "kind": "loss",
                "tolerances": {
                    "baseline_loss": {"atol": 1.0, "rtol": 2.0},
                    "reference_gradient": {"atol": 3.0, "rtol": 4.0, "min_cosine": 0.5},
                },
            }
        ]
    }
    baseline = correctness.tolerances(settings, losses["grpo"])
    reference = correctness.tolerances(settings, losses["dppo"])
    assert (baseline.loss.atol, baseline.loss.rtol, baseline.gradient.rtol) == (1.0, 2.0, 1e-3)
    assert (reference.loss.rtol, reference.gradient.atol, reference.min_cosine) == (1e-4, 3.0, 0.5)


def test_the_shipped_plan_s_settings_are_understood():
    plan = load_plan("dppo_vs_grpo_v2").plan
    for loss in plan.losses.values():
        found = correctness.tolerances(plan.preflights.correctness.settings, loss)
        assert (found.loss.atol, found.loss.rtol) == (1e-5, 1e-4)
        assert (found.gradient.atol, found.gradient.rtol, found.min_cosine) == (1e-5, 1e-3, 0.9999)


@pytest.mark.parametrize(
    "paths", [[{"kind": "data"}], [{}, {}], [{"tolerances": {"baseline_loss": {"atol": "tiny"}}}], ["x"]]
)
def test_a_setting_that_is_not_understood_is_an_error_that_names_it(make_plan, paths):
    with pytest.raises(AuditError, match=r"preflights\.correctness\.settings"):
        correctness.tolerances({"paths": paths}, make_plan().plan.losses["grpo"])
