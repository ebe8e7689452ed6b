"""How tokens are chosen and when they stop, on logits that are known and on the random model."""

import pytest

torch = pytest.importorskip("torch", reason="the training extra is not installed")
pytest.importorskip("tinker", reason="the training extra is not installed")
import numpy as np  # noqa: E402

from runner.service.drawing import choose  # noqa: E402
from runner.service.faults import UserFault  # noqa: E402
from runner.service.generation import check, generate  # noqa: E402
from runner.service.requests import Chunk, Prompt, Sample, SamplingParams  # noqa: E402

LOGITS = torch.log(torch.tensor([[0.1, 0.5, 0.15, 0.25, 0.0]]))
DRAWS = np.linspace(0, 1, 2000, endpoint=False) + 0.00025


def shares(**params):
    """The share of evenly spread draws that gives each token."""
    chosen = choose(LOGITS.expand(len(DRAWS), -1), SamplingParams(**params), DRAWS)
    return (torch.bincount(chosen, minlength=5) / len(DRAWS)).tolist()


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({}, [0.1, 0.5, 0.15, 0.25, 0]),
        ({"top_k": 2}, [0, 2 / 3, 0, 1 / 3, 0]),
        ({"top_k": 1}, [0, 1, 0, 0, 0]),
        ({"top_p": 0.7}, [0, 2 / 3, 0, 1 / 3, 0]),
        ({"top_p": 0.4}, [0, 1, 0, 0, 0]),
        ({"top_k": 3, "top_p": 0.8}, [0, 2 / 3, 0, 1 / 3, 0]),
        ({"temperature": 0.5}, [0.01 / 0.345, 0.25 / 0.345, 0.0225 / 0.345, 0.0625 / 0.345, 0]),
        ({"temperature": 0}, [0, 1, 0, 0, 0]),
        ({"temperature": 1e-300}, [0, 1, 0, 0, 0]),
    ],
)
def test_tokens_come_at_the_rates_that_the_parameters_say(params, expected):
    assert shares(**params) == pytest.approx(expected, abs=1e-3)


def test_a_token_without_probability_is_never_chosen():
    logits = torch.tensor([[-torch.inf, 0.0, -torch.inf]]).expand(3, -1)
    draws = np.array([0.0, 0.5, np.nextafter(1.0, 0.0)])
    assert choose(logits, SamplingParams(), draws).tolist() == [1, 1, 1]


def request(samples=1, tokens=(72, 105), **params):
    return Sample(
        sampling_session_id="s",
        seq_id=0,
        num_samples=samples,
        prompt=Prompt(chunks=[Chunk(tokens=list(tokens))]),
        sampling_params=SamplingParams(**{"max_tokens": 10, "stop": [], **params}),
    )


def drawn(base, *arguments, **params):
    return [
        completion.tokens for completion in generate([request(*arguments, **params)], base, None, None)[0].completions
    ]


def test_sample_s_depends_on_the_seed_and_s_alone(base):
    three = drawn(base, 3, seed=5)
    assert drawn(base, 3, seed=5) == three
    assert drawn(base, 1, seed=5) == three[:1]
    assert [tokens[:4] for tokens in three] == drawn(base, 3, seed=5, max_tokens=4)
    assert len({tuple(tokens) for tokens in three}) == 3
    assert drawn(base, 3, seed=6) != three
    assert drawn(base, 3, seed=-5) == drawn(base, 3, seed=-5)
    assert drawn(base, 1, max_tokens=30) != drawn(base, 1, max_tokens=30)  # no seed: the system's randomness


def test_what_stops_a_completion_is_kept_in_it(base):
    free = drawn(base, seed=5)[0]
    by_token = generate([request(seed=5, stop=[free[3]])], base, None, None)[0].completions[0]
    text = base.tokenizer.decode(free[2:4])
    by_text = generate([request(seed=5, stop=text)], base, None, None)[0].completions[0]

    assert by_token.stop_reason == "stop"
    assert by_token.tokens == free[: free.index(free[3]) + 1]
    assert by_text.stop_reason == "stop"
    assert base.tokenizer.decode(by_text.tokens).endswith(text)
    assert generate([request(seed=5)], base, None, None)[0].completions[0].stop_reason == "length"


@pytest.mark.parametrize(
    ("tokens", "params", "words"),
    [
        ((), {}, "no tokens"),
        ((300,), {}, "vocabulary"),
        ((1,) * 100, {"max_tokens": 30}, "context"),
        ((1,), {"top_k": 0}, "top_k"),
    ],
)
def test_what_cannot_be_sampled_is_refused(base, tokens, params, words):
    with pytest.raises(UserFault, match=words):
        check(request(tokens=tokens, **params), base)


def test_the_whole_context_can_be_used(base):
    full = request(tokens=(1,) * 100, max_tokens=29, seed=0)
    check(full, base)
    assert len(generate([full], base, None, None)[0].completions[0].tokens) == 29


def test_prompts_of_several_lengths_in_one_batch_are_drawn_as_alone(base):
    requests = [
        request(2, (72, 105), seed=1),
        request(1, (72,), seed=2, max_tokens=3),
        request(3, tuple(range(40, 70)), seed=3, max_tokens=20),
    ]
    together = generate(requests, base, None, None)
    for one, drawn_together in zip(requests, together, strict=True):
        alone = generate([one], base, None, None)[0]
        assert len(drawn_together.completions) == one.num_samples
        for merged, single in zip(drawn_together.completions, alone.completions, strict=True):
            assert merged.tokens == single.tokens
            assert merged.stop_reason == single.stop_reason
            np.testing.assert_allclose(merged.logprobs, single.logprobs, atol=1e-4)


def test_a_long_prompt_is_read_in_pieces_and_only_its_last_logits_are_kept(base, monkeypatch):
    one = request(2, tuple(range(40, 70)), seed=3)
    whole = generate([one], base, None, None)[0].completions
    monkeypatch.setattr("runner.service.generation.SMALL_LOGIT_VALUES", 0)
    monkeypatch.setattr("runner.service.generation.MAX_LOGIT_VALUES", 7 * base.vocabulary_size)
    widths = []
    forward = base.network.forward

    def watched(*arguments, **settings):
        output = forward(*arguments, **settings)
        widths.append((settings["input_ids"].shape[1], output.logits.shape[1]))
        return output

    monkeypatch.setattr(base.network, "forward", watched)
    pieces = generate([one], base, None, None)[0].completions

    assert widths[:5] == [(7, 1)] * 4 + [(2, 1)]
    assert [completion.tokens for completion in pieces] == [completion.tokens for completion in whole]
