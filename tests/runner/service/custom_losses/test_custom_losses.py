"""Uploaded losses through the unmodified SDK: one loss, run by the client and by the service, trains alike."""

import numpy as np
import pytest

tinker = pytest.importorskip("tinker", reason="the training extra is not installed")
torch = pytest.importorskip("torch", reason="the training extra is not installed")
from tinker import types  # noqa: E402
from tinker.lib.public_interfaces.custom_loss import run_loss_handle  # noqa: E402

from analysis.losses import token_loss  # noqa: E402
from analysis.losses.traced import INPUT_RANKS  # noqa: E402
from analysis.plan.model import Loss  # noqa: E402
from runner.service.checkpoints import CheckpointStore  # noqa: E402

# The SDK leaves the connection of its first request open, and Python says so.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

# With this eps a step is smooth in the gradient, so that rounding moves no parameter by a whole learning rate.
ADAM = {"learning_rate": 0.05, "beta1": 0.9, "beta2": 0.95, "eps": 0.1, "weight_decay": 0.0, "grad_clip_norm": 0.0}
WAIT = 120
SHARED = {"anchor": "sampler", "reduction": "token_sum", "truncation": None, "form": "ratio"}
GRPO = token_loss(Loss(kind="ratio_clip", eps=0.2, **SHARED))
DPPO = token_loss(Loss(kind="divergence_mask", divergence="binary_tv", delta=0.02, **SHARED))


def sequence_level(logprobs, sampler_logprobs, advantages, mask, beta):
    """A sequence's ratio is clipped as a whole; tempered by a number that each datum brings."""
    ratio = torch.exp(((logprobs - sampler_logprobs) * mask).sum() / mask.sum())
    advantage = (advantages * mask).sum() / mask.sum()
    loss = -torch.minimum(ratio * advantage, torch.clamp(ratio, 0.9, 1.1) * advantage) * beta
    outside = ((ratio < 0.9) | (ratio > 1.1)).float()
    return loss, {"custom/outside:mean": outside, "custom/loss_tokens:sum": mask.sum()}


CASES = {
    "grpo": (GRPO, INPUT_RANKS, "custom/hidden:sum"),
    "dppo": (DPPO, INPUT_RANKS, "custom/hidden:sum"),
    "sequence_level": (sequence_level, {**INPUT_RANKS, "beta": 0}, "custom/outside:mean"),
}


def trainer_of(client):
    return client.create_lora_training_client(base_model="random", rank=4, seed=7).result(timeout=WAIT)


def rollouts(trainer, lengths):
    """Data of these lengths, whose sampler stands on all sides of the thresholds."""
    rng = np.random.default_rng(3)
    bare = []
    for length in lengths:
        tokens = [int(token) for token in rng.integers(0, 256, length + 1)]
        targets = np.array(tokens[1:], np.int64)
        bare.append(types.Datum(types.ModelInput.from_ints(tokens[:-1]), {"target_tokens": targets}))
    scores = trainer.forward(bare, "cross_entropy").result(timeout=WAIT).loss_fn_outputs
    data = []
    for each, score in zip(bare, scores, strict=True):
        length = each.model_input.length
        inputs = {
            "target_tokens": each.loss_fn_inputs["target_tokens"],
            "sampler_logprobs": score["logprobs"].to_numpy() + rng.normal(0, 0.4, length).astype(np.float32),
            "advantages": rng.choice([-1.0, 0.5, 0.0, 1.0], length).astype(np.float32),
            "mask": (np.arange(length) > 0).astype(np.float32),
            "beta": types.TensorData(np.float32(rng.uniform(0.5, 2)).reshape(()), "float32", []),
        }
        data.append(types.Datum(each.model_input, inputs))
    return data


def trained(trainer, data, loss, name, state_dir):
    """Two steps; return the first one's metrics and log-probabilities, and the adapter after both."""
    first = trainer.forward_backward_custom(data, loss).result(timeout=WAIT)
    trainer.optim_step(types.AdamParams(**ADAM)).result(timeout=WAIT)
    trainer.forward_backward_custom(data, loss).result(timeout=WAIT)
    trainer.optim_step(types.AdamParams(**ADAM)).result(timeout=WAIT)
    path = trainer.save_state(name).result(timeout=WAIT).path
    return first, CheckpointStore(state_dir).load_adapter(path)


def in_the_client(handle):
    return lambda data, logprobs: run_loss_handle(handle, data, logprobs)


def assert_alike(ours, theirs):
    (first, adapter), (expected, expected_adapter) = ours, theirs
    named = {key for key in expected.metrics if key.startswith("custom/")}
    assert set(first.metrics) == named | {"loss:sum"}
    for key in (*named, "loss:sum"):
        assert first.metrics[key] == pytest.approx(expected.metrics[key], rel=1e-5), key
    for one, other in zip(first.loss_fn_outputs, expected.loss_fn_outputs, strict=True):
        np.testing.assert_array_equal(one["logprobs"].to_numpy(), other["logprobs"].to_numpy())
    moved = 0.0
    for name, tensor in adapter.items():
        torch.testing.assert_close(tensor, expected_adapter[name], atol=2e-6, rtol=1e-4)
        moved = max(moved, float(tensor.abs().max()) if name.endswith("lora_b") else 0.0)
    assert moved > 1e-3  # B starts at zero, so the steps were real


@pytest.mark.parametrize("case", CASES)
def test_a_loss_trains_alike_in_the_client_and_on_the_service(client, state_dir, case):
    fn, ranks, telling = CASES[case]
    handle = client.create_custom_loss(fn, ranks).result(timeout=WAIT)
    data = rollouts(trainer_of(client), [12, 5, 9, 1 if fn is not sequence_level else 2, 17])
    ours = trained(trainer_of(client), data, handle, "ours", state_dir)
    theirs = trained(trainer_of(client), data, in_the_client(handle), "theirs", state_dir)

    assert handle.loss_id is not None
    assert 0 < ours[0].metrics[telling] < sum(datum.model_input.length for datum in data)
    assert_alike(ours, theirs)


def test_a_batch_that_is_split_into_requests_and_microbatches_trains_alike(client, state_dir):
    """1100 data are two requests of the SDK, and the larger one is two passes of the network."""
    handle = client.create_custom_loss(sequence_level, {**INPUT_RANKS, "beta": 0}).result(timeout=WAIT)
    data = rollouts(trainer_of(client), [*([6] * 540), *([11] * 560)])
    ours = trained(trainer_of(client), data, handle, "ours", state_dir)
    theirs = trained(trainer_of(client), data, in_the_client(handle), "theirs", state_dir)

    assert ours[0].metrics["custom/loss_tokens:sum"] == 540 * 5 + 560 * 10
    assert 0 < ours[0].metrics["custom/outside:mean"] < 1
    assert_alike(ours, theirs)


def test_a_loss_of_several_targets_a_position(client, state_dir):
    def distilled(logprobs, target_distribution):
        return -(target_distribution * logprobs).sum(), {"custom/targets:sum": target_distribution.sum()}

    rng = np.random.default_rng(2)
    data = [
        types.Datum(
            types.ModelInput.from_ints([1, 2, 3][:length]),
            {
                "target_tokens": rng.integers(0, 256, (length, 4)),
                "target_distribution": rng.dirichlet(np.ones(4), length).astype(np.float32),
            },
        )
        for length in (3, 2)
    ]
    handle = client.create_custom_loss(distilled, {"logprobs": 2, "target_distribution": 2}).result(timeout=WAIT)
    ours = trained(trainer_of(client), data, handle, "ours", state_dir)
    theirs = trained(trainer_of(client), data, in_the_client(handle), "theirs", state_dir)
    assert_alike(ours, theirs)


def test_a_forward_pass_gives_the_value_alone(client):
    handle = client.create_custom_loss(GRPO, INPUT_RANKS).result(timeout=WAIT)
    trainer = trainer_of(client)
    data = rollouts(trainer, [5, 9])
    settings = {"loss_id": handle.loss_id}
    value = trainer.forward(data, "custom", settings).result(timeout=WAIT).metrics["loss:sum"]

    with pytest.raises(tinker.RequestFailedError, match="there is no gradient"):
        trainer.optim_step(types.AdamParams(**ADAM)).result(timeout=WAIT)
    assert value == trainer.forward_backward_custom(data, handle).result(timeout=WAIT).metrics["loss:sum"]


def test_what_the_service_refuses_is_shown_to_the_user_who_then_goes_on(client):
    def random(logprobs, advantages):
        return (logprobs * torch.rand_like(advantages)).sum(), {}

    def by_token(logprobs, advantages):
        return logprobs * advantages, {}

    def not_finite(logprobs, advantages):
        return (torch.log(logprobs) * advantages).sum(), {}

    ranks = {"logprobs": 1, "advantages": 1}
    with pytest.raises(tinker.APIStatusError, match=r"'rand_like': function 'torch.rand_like' is not served; allowed"):
        client.create_custom_loss(random, ranks).result(timeout=WAIT)
    trainer = trainer_of(client)
    data = rollouts(trainer, [5, 9])
    for loss, words in ((by_token, r"'by_token', datum 0: the loss must be a scalar"), (not_finite, "not finite")):
        handle = client.create_custom_loss(loss, ranks).result(timeout=WAIT)
        with pytest.raises(tinker.RequestFailedError, match=words):
            trainer.forward_backward_custom(data, handle).result(timeout=WAIT)
    handle = client.create_custom_loss(GRPO, INPUT_RANKS).result(timeout=WAIT)
    assert trainer.forward_backward_custom(data, handle).result(timeout=WAIT).metrics["custom/loss_tokens:sum"] == 12


def test_a_loss_belongs_to_its_session(client, service, sdk_leftovers):
    """A run of another session cannot use it; one of its own session that started later can."""
    handle = client.create_custom_loss(GRPO, INPUT_RANKS).result(timeout=WAIT)
    other = tinker.ServiceClient(base_url=service.url)
    stranger = trainer_of(other)
    data = rollouts(stranger, [5])
    with pytest.raises(tinker.APIStatusError, match="unknown custom loss"):
        stranger.forward_backward(data, "custom", {"loss_id": handle.loss_id}).result(timeout=WAIT)
    other.close("success").result(timeout=WAIT)

    assert trainer_of(client).forward_backward_custom(data, handle).result(timeout=WAIT).metrics["loss:sum"] != 0
