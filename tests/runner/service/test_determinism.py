"""The same request gives the same bits, whatever else the service is doing."""

import hashlib
from concurrent.futures import ThreadPoolExecutor

import pytest

tinker = pytest.importorskip("tinker", reason="the training extra is not installed")
from tinker import types  # noqa: E402

# The SDK leaves the connection of its first request open, and Python says so.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.usefixtures("sdk_leftovers"),
]

ADAM = {"learning_rate": 1e-2, "beta1": 0.9, "beta2": 0.95, "eps": 1e-8, "weight_decay": 0.0, "grad_clip_norm": 0.0}
WAIT = 120


def small_experiment(url, seed):
    """Three rounds of sampling and training; returns a digest of every token and every log-probability."""
    digest = hashlib.sha256()
    session = tinker.ServiceClient(base_url=url)
    trainer = session.create_lora_training_client(base_model="random", rank=4, seed=seed).result(timeout=WAIT)
    for round_number in range(3):
        sampler = trainer.save_weights_and_get_sampling_client().result(timeout=WAIT)
        futures = [
            sampler.sample(
                types.ModelInput.from_ints([70 + index, 80, 90 + round_number][: 2 + index % 2]),
                4,
                types.SamplingParams(max_tokens=6, seed=1000 * seed + 10 * round_number + index),
            )
            for index in range(6)
        ]
        data = []
        for index, future in enumerate(futures):
            prompt = [70 + index, 80, 90 + round_number][: 2 + index % 2]
            for sequence in future.result(timeout=WAIT).sequences:
                digest.update(sequence.tokens_np.tobytes() + sequence.logprobs_np.tobytes())
                whole = prompt + sequence.tokens
                data.append(
                    types.Datum(
                        model_input=types.ModelInput.from_ints(whole[:-1]),
                        loss_fn_inputs={"target_tokens": whole[1:], "weights": [0.1] * (len(whole) - 1)},
                    )
                )
        trained = trainer.forward_backward(data, "cross_entropy")
        trainer.optim_step(types.AdamParams(**ADAM)).result(timeout=WAIT)
        for output in trained.result(timeout=WAIT).loss_fn_outputs:
            digest.update(output["logprobs"].to_numpy().tobytes())
    session.close("success").result(timeout=WAIT)
    return digest.hexdigest()


def test_experiments_side_by_side_have_the_bits_they_have_alone(service):
    alone = [small_experiment(service.url, seed) for seed in (1, 2)]
    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(lambda seed: small_experiment(service.url, seed), (1, 2, 3)))

    assert together[:2] == alone
    assert len(set(together)) == 3
