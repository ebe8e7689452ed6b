"""The candidates of a top-k divergence: from what the service answers to targets and rows."""

from types import SimpleNamespace

import numpy as np
import pytest

from analysis.errors import AuditError
from runner.loop.candidates import candidate_inputs, candidates_of

pytest.importorskip("tinker")

EMPTY = -99999.0


def sequence(top_ids, top_logprobs):
    top = SimpleNamespace(token_ids=np.array(top_ids, np.int32), logprobs=np.array(top_logprobs, np.float32))
    return SimpleNamespace(tokens=[4, 5, 6], logprobs=[-0.5, -3.0, -2.0], topk_logprobs_np=top)


ANSWERED = sequence([[4, 9], [9, 8], [9, 0]], [[-0.5, -1.0], [-0.5, -1.5], [-0.2, EMPTY]])


def test_the_sampled_token_stands_first_and_once_and_an_empty_cell_is_no_candidate():
    found = candidates_of(ANSWERED, 2, "p")
    assert found.token_ids.tolist() == [[4, 4, 9], [5, 9, 8], [6, 9, 0]]
    assert found.listed.tolist() == [[True, False, True], [True, True, True], [True, True, False]]
    assert found.sampler_logprobs[1].tolist() == [-3.0, -0.5, -1.5]


@pytest.mark.parametrize("top", [None, ANSWERED.topk_logprobs_np])
def test_a_service_that_returns_none_or_too_few_is_an_error_that_says_what_to_do(top):
    answered = SimpleNamespace(tokens=[4, 5, 6], logprobs=[-0.5, -3.0, -2.0], topk_logprobs_np=top)
    with pytest.raises(AuditError, match=r"3 most probable tokens.*binary divergence"):
        candidates_of(answered, 3, "p")


def test_an_empty_completion_has_no_candidates():
    found = candidates_of(SimpleNamespace(tokens=[], logprobs=[], topk_logprobs_np=None), 2, "p")
    assert found.token_ids.shape == found.listed.shape == found.sampler_logprobs.shape == (0, 3)


def test_the_targets_of_a_prompt_position_are_its_own_token_in_every_cell():
    inputs = candidate_inputs(candidates_of(ANSWERED, 2, "p"), np.array([3, 4, 5, 6]))
    assert inputs["target_tokens"].tolist() == [[3, 3, 3], [4, 4, 9], [5, 9, 8], [6, 9, 0]]
    assert inputs["candidate_listed"].tolist() == [[1, 0, 0], [1, 0, 1], [1, 1, 1], [1, 1, 0]]
    assert inputs["candidate_logprobs"][:2].tolist() == [[0.0, 0.0, 0.0], [-0.5, -0.5, -1.0]]
