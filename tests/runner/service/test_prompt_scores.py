"""What a request asks about its prompt is what a plain softmax over the network's logits says."""

import pytest

torch = pytest.importorskip("torch", reason="the training extra is not installed")
pytest.importorskip("tinker", reason="the training extra is not installed")
import numpy as np  # noqa: E402

from runner.service import generation  # noqa: E402
from runner.service.generation import generate  # noqa: E402
from runner.service.prompt_scores import NOT_SCORED  # noqa: E402
from runner.service.requests import Chunk, Prompt, Sample, SamplingParams, TargetTokens  # noqa: E402

PROMPT = [72, 101, 108, 108, 111, 32]


def scores_of(base, prompt=PROMPT, temperature=1.0, seed=1, **questions):
    request = Sample(
        sampling_session_id="s",
        seq_id=0,
        prompt=Prompt(chunks=[Chunk(tokens=list(prompt))]),
        sampling_params=SamplingParams(max_tokens=1, temperature=temperature, seed=seed),
        **questions,
    )
    generation.check(request, base)
    return generate([request], base, None, None)[0].scores


@pytest.fixture(scope="module")
def expected(base):
    """Log-probabilities of shape [prompt - 1, vocabulary]."""
    with torch.no_grad():
        logits = base.network(input_ids=torch.tensor([PROMPT])).logits[0, :-1]
    return torch.log_softmax(logits, dim=-1).numpy()


def test_nothing_is_scored_unasked(base):
    assert scores_of(base) is None


def test_top_candidates_come_best_first_and_without_a_first_position(base, expected):
    scores = scores_of(base, topk_prompt_logprobs=3)
    order = np.argsort(-expected, axis=1)[:, :3]

    assert scores.logprobs is None
    np.testing.assert_array_equal(scores.topk_tokens[1:], order)
    np.testing.assert_allclose(scores.topk_logprobs[1:], np.take_along_axis(expected, order, 1), atol=1e-5)
    assert (scores.topk_tokens[0] == 0).all()
    assert (scores.topk_logprobs[0] == np.float32(NOT_SCORED)).all()


def test_the_last_n_limit_both_kinds(base, expected):
    scores = scores_of(base, prompt_logprobs=True, topk_prompt_logprobs=2, prompt_logprobs_last_n=2)
    own = expected[np.arange(5), PROMPT[1:]]

    assert np.isnan(scores.logprobs[:4]).all()
    np.testing.assert_allclose(scores.logprobs[4:], own[3:], atol=1e-5)
    assert (scores.topk_logprobs[:4] == np.float32(NOT_SCORED)).all()
    np.testing.assert_allclose(scores.topk_logprobs[4:, 0], expected.max(axis=1)[3:], atol=1e-5)


def test_named_tokens_are_scored_in_their_layout(base, expected):
    dense = TargetTokens(data=[-1, -1, 5, 6, -1, 7, -1, -1, 8, 8], dtype="int64", shape=(5, 2))
    sparse = TargetTokens(
        data=[5, 6, 7, 8, 8], dtype="int64", shape=(5, 2),
        sparse_crow_indices=[0, 0, 2, 3, 3, 5], sparse_col_indices=[0, 1, 1, 0, 1],
    )  # fmt: skip
    wanted = [expected[1, 5], expected[1, 6], expected[2, 7], expected[4, 8], expected[4, 8]]
    from_dense = scores_of(base, target_prompt_logprobs=dense).target_logprobs
    from_sparse = scores_of(base, target_prompt_logprobs=sparse).target_logprobs

    np.testing.assert_allclose(from_sparse, wanted, atol=1e-5)
    np.testing.assert_array_equal(from_dense[[2, 3, 5, 8, 9]], from_sparse)
    assert (from_dense[[0, 1, 4, 6, 7]] == 0).all()


def test_alternatives_are_drawn_from_each_position(base, expected):
    scores = scores_of(base, prompt_alt_tokens_k=400)
    again = scores_of(base, prompt_alt_tokens_k=400)
    greedy = scores_of(base, prompt_alt_tokens_k=2, temperature=0.0)

    assert scores.alternative_tokens.shape == (5, 400)
    np.testing.assert_array_equal(scores.alternative_tokens, again.alternative_tokens)
    np.testing.assert_allclose(
        scores.alternative_logprobs, np.take_along_axis(expected, scores.alternative_tokens, 1), atol=1e-5
    )
    for position in range(5):
        best = int(expected[position].argmax())
        share = (scores.alternative_tokens[position] == best).mean()
        chance = float(np.exp(expected[position, best]))
        assert share == pytest.approx(chance, abs=5 * (chance * (1 - chance) / 400) ** 0.5 + 0.01)
        assert (greedy.alternative_tokens[position] == best).all()


def test_reading_in_pieces_gives_the_same_answers(base, monkeypatch):
    questions = {"prompt_logprobs": True, "topk_prompt_logprobs": 2, "prompt_alt_tokens_k": 2}
    whole = scores_of(base, **questions)
    monkeypatch.setattr(generation, "MAX_LOGIT_VALUES", 2 * base.vocabulary_size)
    pieces = scores_of(base, **questions)

    np.testing.assert_allclose(pieces.logprobs[1:], whole.logprobs[1:], atol=1e-5)
    np.testing.assert_array_equal(pieces.topk_tokens, whole.topk_tokens)
    np.testing.assert_array_equal(pieces.alternative_tokens, whole.alternative_tokens)
