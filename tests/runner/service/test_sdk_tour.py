"""Every call of the SDK that an experiment needs, against the service in its own process."""

import numpy as np
import pytest

tinker = pytest.importorskip("tinker", reason="the training extra is not installed")
from tinker import types  # noqa: E402

# The SDK leaves the connection of its first request open, and Python says so.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

ADAM = {"learning_rate": 1e-2, "beta1": 0.9, "beta2": 0.95, "eps": 1e-8, "weight_decay": 0.0, "grad_clip_norm": 0.0}
TOKENS = [72, 101, 108, 108, 111, 32, 119, 111]
WAIT = 60


def trainer_of(client, **settings):
    return client.create_lora_training_client(base_model="random", rank=4, seed=7, **settings).result(timeout=WAIT)


def test_capabilities_info_and_tokenizers(client, service, random_model):
    capabilities = tinker.RestClient(base_url=service.url).get_server_capabilities().result(timeout=WAIT)
    names = [model.model_name for model in capabilities.supported_models]
    trainer = trainer_of(client)
    info = trainer.get_info()
    by_folder = client.create_sampling_client(base_model=str(random_model)).result(timeout=WAIT)

    assert names == ["random"]
    assert (info.model_data.model_name, info.lora_rank, info.is_lora) == ("random", 4, True)
    assert trainer.get_tokenizer().decode(trainer.get_tokenizer().encode("37+45=")) == "37+45="
    # Named by its folder, a base model gives the sampling client its tokenizer too.
    assert by_folder.get_tokenizer().eos_token_id == trainer.get_tokenizer().eos_token_id


def test_sampler_trainer_and_prompt_scores_agree(client, datum):
    trainer = trainer_of(client)
    learn = datum(TOKENS, weights=[1.0] * 7)
    trainer.forward_backward([learn], "cross_entropy").result(timeout=WAIT)
    trainer.optim_step(types.AdamParams(**ADAM)).result(timeout=WAIT)  # so that the adapter is not zero
    sampler = trainer.save_weights_and_get_sampling_client().result(timeout=WAIT)

    params = types.SamplingParams(max_tokens=12, temperature=1.0, seed=3)
    drawn = sampler.sample(types.ModelInput.from_ints(TOKENS), 3, params).result(timeout=WAIT)
    for sequence in drawn.sequences:
        whole = [*TOKENS, *sequence.tokens]
        scores = sampler.compute_logprobs(types.ModelInput.from_ints(whole)).result(timeout=WAIT)
        trained = trainer.forward([datum(whole, weights=[0.0] * (len(whole) - 1))], "cross_entropy")
        forward = trained.result(timeout=WAIT).loss_fn_outputs[0]["logprobs"].to_numpy()
        completion = len(sequence.tokens)

        assert scores[0] is None
        np.testing.assert_allclose(scores[-completion:], sequence.logprobs, atol=1e-5, rtol=0)
        np.testing.assert_allclose(forward[-completion:], sequence.logprobs, atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("loss", "config"),
    [
        ("importance_sampling", None),
        ("ppo", {"clip_low_threshold": 0.9, "clip_high_threshold": 1.1}),
        ("cispo", {"clip_low_threshold": 0.0, "clip_high_threshold": 4.0}),
        ("dro", {"beta": 0.05}),
    ],
)
def test_each_policy_loss_can_be_trained_on(client, datum, loss, config):
    trainer = trainer_of(client)
    data = [datum(TOKENS, logprobs=[-3.0] * 7, advantages=[1.0] * 7)]
    before = trainer.forward_backward(data, loss, config)
    step = trainer.optim_step(types.AdamParams(**ADAM))
    after = trainer.forward(data, loss, config)

    assert step.result(timeout=WAIT).metrics["grad_norm"] > 0
    # The value need not fall (cispo holds its ratio constant), but tokens with advantage must gain.
    gained = [sum(result.result(timeout=WAIT).loss_fn_outputs[0]["logprobs"].data) for result in (before, after)]
    assert gained[1] > gained[0]


def test_a_custom_loss_has_its_own_gradient(client, datum):
    def squared(_data, logprobs):
        loss = sum((values**2).sum() for values in logprobs)
        return loss, {"tokens": float(sum(len(values) for values in logprobs))}

    trainer = trainer_of(client)
    data = [datum(TOKENS), datum(TOKENS[:4])]
    losses = []
    for _ in range(3):
        result = trainer.forward_backward_custom(data, squared)
        trainer.optim_step(types.AdamParams(**ADAM)).result(timeout=WAIT)
        losses.append(result.result(timeout=WAIT).metrics["loss:sum"])

    assert losses[2] < losses[1] < losses[0]
    assert result.result().metrics["tokens"] == 10
    assert "surrogate_loss:sum" in result.result().metrics


def test_several_targets_a_position_are_scored_in_their_shape(client):
    trainer = trainer_of(client)
    targets = np.array([[1, 2], [3, 4], [5, 6]], dtype=np.int64)
    data = types.Datum(
        model_input=types.ModelInput.from_ints(TOKENS[:3]),
        loss_fn_inputs={"target_tokens": targets, "weights": np.ones((3, 2), dtype=np.float32)},
    )
    wide, narrow = (
        trainer.forward(
            [data, types.Datum(types.ModelInput.from_ints(TOKENS[:3]), {"target_tokens": targets[:, 0]})],
            "cross_entropy",
        )
        .result(timeout=WAIT)
        .loss_fn_outputs
    )

    assert wide["logprobs"].to_numpy().shape == (3, 2)
    np.testing.assert_allclose(wide["logprobs"].to_numpy()[:, 0], narrow["logprobs"].to_numpy(), atol=1e-6)


def test_a_batch_that_the_sdk_cuts_arrives_whole(client, datum):
    """The SDK cuts at 1,024 data and sends the first piece last; results must come back in order."""
    trainer = trainer_of(client)
    data = [datum([index % 200, (index + 1) % 200], weights=[1.0]) for index in range(1100)]
    result = trainer.forward_backward(data, "cross_entropy").result(timeout=WAIT)
    alone = trainer.forward([data[1050]], "cross_entropy").result(timeout=WAIT)

    assert len(result.loss_fn_outputs) == 1100
    assert result.loss_fn_outputs[1050]["logprobs"].data == pytest.approx(
        alone.loss_fn_outputs[0]["logprobs"].data, abs=1e-5
    )


def test_saving_and_going_on_in_another_client(client, datum):
    data = [datum(TOKENS, weights=[1.0] * 7)]

    def step(trainer):
        loss = trainer.forward_backward(data, "cross_entropy")
        trainer.optim_step(types.AdamParams(**ADAM)).result(timeout=WAIT)
        return loss.result(timeout=WAIT).metrics["loss:sum"]

    first = trainer_of(client)
    step(first)
    path = first.save_state("half-way").result(timeout=WAIT).path
    sampler_path = first.save_weights_for_sampler("sampler").result(timeout=WAIT).path
    expected = [step(first), step(first)]

    other = client.create_training_client_from_state_with_optimizer(path).result(timeout=WAIT)
    assert [step(other), step(other)] == expected
    without_moments = client.create_training_client_from_state(path).result(timeout=WAIT)
    second = [step(without_moments), step(without_moments)]
    assert second[0] == expected[0]
    assert second[1] != expected[1]
    with pytest.warns(FutureWarning, match="load_state"):
        loading = first.load_state_with_optimizer(path)
    loading.result(timeout=WAIT)
    assert [step(first), step(first)] == expected

    prompt = types.ModelInput.from_ints(TOKENS)
    saved = client.create_sampling_client(model_path=sampler_path).result(timeout=WAIT)
    same = client.create_sampling_client(model_path=path).result(timeout=WAIT)
    untrained = client.create_sampling_client(base_model="random").result(timeout=WAIT)
    assert saved.get_base_model() == "random"
    scores = saved.compute_logprobs(prompt).result(timeout=WAIT)
    assert same.compute_logprobs(prompt).result(timeout=WAIT) == scores
    assert untrained.compute_logprobs(prompt).result(timeout=WAIT) != scores


def test_sampling_parameters_reach_the_sampler(client):
    sampler = client.create_sampling_client(base_model="random").result(timeout=WAIT)
    prompt = types.ModelInput.from_ints(TOKENS)

    def draw(samples=1, **params):
        return sampler.sample(prompt, samples, types.SamplingParams(**params), topk_sample_logprobs=2).result(
            timeout=WAIT
        )

    endless = draw(max_tokens=20, temperature=0.0, stop=[]).sequences[0]
    stopping = draw(max_tokens=20, temperature=0.0, stop=[endless.tokens[1]]).sequences[0]
    only_best = draw(4, max_tokens=5, top_k=1, seed=1)
    assert (endless.stop_reason, len(endless.tokens)) == ("length", 20)
    assert (stopping.stop_reason, stopping.tokens[-1]) == ("stop", endless.tokens[1])
    assert len(stopping.tokens) <= 2
    assert endless.topk_logprobs[0][0] == (endless.tokens[0], pytest.approx(endless.logprobs[0]))
    assert {tuple(sequence.tokens) for sequence in only_best.sequences} == {tuple(endless.tokens[:5])}
    assert len({sequence.sequence_id for sequence in only_best.sequences}) == 4


def test_what_is_asked_about_a_prompt_comes_back_in_its_shape(client):
    torch = pytest.importorskip("torch")
    sampler = client.create_sampling_client(base_model="random").result(timeout=WAIT)
    ids = torch.full((len(TOKENS) - 1, 6), -1, dtype=torch.int64)
    ids[3, 1] = TOKENS[4]  # row 3 is about position 4
    tensors = [types.TensorData.from_torch(ids), types.TensorData.from_torch_sparse(ids, pad_value=-1)]
    dense, sparse = (
        sampler.sample(
            types.ModelInput.from_ints(TOKENS),
            1,
            types.SamplingParams(max_tokens=1, seed=1),
            include_prompt_logprobs=True,
            topk_prompt_logprobs=3,
            target_prompt_logprobs=tensor,
            prompt_alt_tokens_k=2,
        ).result(timeout=WAIT)
        for tensor in tensors
    )

    assert dense.topk_prompt_logprobs[0] is None
    assert [len(row) for row in dense.topk_prompt_logprobs[1:]] == [3] * 7
    assert all(
        row[0][1] >= own - 1e-6
        for row, own in zip(dense.topk_prompt_logprobs[1:], dense.prompt_logprobs[1:], strict=True)
    )
    assert dense.prompt_alt_tokens.tokens.to_numpy().shape == (7, 2)
    assert dense.prompt_alt_tokens.logprobs.to_numpy().max() <= 0
    assert sparse.target_prompt_logprobs.sparse_crow_indices is not None
    for answer in (dense, sparse):
        scores = answer.target_prompt_logprobs.to_numpy()
        assert scores[3, 1] == pytest.approx(dense.prompt_logprobs[4])
        assert np.count_nonzero(scores) == 1
