"""The extension that a critic needs: the last layer's states, from the pass that gives the log-probabilities."""

import numpy as np
import pytest

tinker = pytest.importorskip("tinker", reason="the training extra is not installed")
torch = pytest.importorskip("torch", reason="the training extra is not installed")

from runner.service.faults import UserFault  # noqa: E402
from runner.service.training import check  # noqa: E402
from runner.service.wire import Datum, ForwardBackward  # noqa: E402

# The SDK leaves the connection of its first request open, and Python says so.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

ASKED = {"hidden_states": 1.0}


def states(found):
    return [output["hidden_states"].to_numpy() for output in found.loss_fn_outputs]


def logprobs(found):
    return [output["logprobs"].to_numpy() for output in found.loss_fn_outputs]


@pytest.fixture
def training(client):
    return client.create_lora_training_client("random", rank=4, seed=1).result(timeout=60)


@pytest.fixture
def data(datum):
    return [datum(tokens) for tokens in ([3, 4, 5, 6], [9, 1], [7, 8, 9, 10, 11, 12])]


def test_they_are_the_last_layers_and_one_a_token(training, data, base):
    found = states(training.forward(data, "cross_entropy", ASKED).result())
    for datum, values in zip(data, found, strict=True):
        tokens = torch.tensor([datum.model_input.to_ints()])
        with torch.no_grad():
            expected = base.network(input_ids=tokens, output_hidden_states=True).hidden_states[-1][0]
        np.testing.assert_allclose(values, expected.numpy(), atol=1e-5)


def test_asking_changes_no_other_number(training, data):
    plain = training.forward(data, "cross_entropy").result()
    asked = training.forward(data, "cross_entropy", ASKED).result()
    for before, after in zip(logprobs(plain), logprobs(asked), strict=True):
        np.testing.assert_array_equal(before, after)
    assert plain.metrics == asked.metrics
    assert "hidden_states" not in plain.loss_fn_outputs[0]


def test_a_pass_with_a_gradient_gives_them_too(training, data):
    found = training.forward_backward(data, "cross_entropy", ASKED).result()
    assert [len(values) for values in states(found)] == [3, 1, 5]


def test_they_follow_the_adapter(training, data):
    before = states(training.forward(data, "cross_entropy", ASKED).result())
    training.forward_backward(data, "cross_entropy").result()
    training.optim_step(tinker.AdamParams(learning_rate=0.1)).result()
    after = states(training.forward(data, "cross_entropy", ASKED).result())
    assert not np.allclose(before[0], after[0])


@pytest.mark.parametrize("value", [0.5, 2.0, -1.0])
def test_a_setting_that_is_neither_yes_nor_no_is_refused(training, data, value):
    with pytest.raises(tinker.APIStatusError, match="hidden_states must be 0 or 1"):
        training.forward(data, "cross_entropy", {"hidden_states": value}).result()


def test_more_than_an_answer_holds_is_refused(base, data, monkeypatch):
    monkeypatch.setattr("runner.service.training.MAX_HIDDEN_VALUES", 9 * 32 - 1)
    inputs = [Datum(np.array(each.model_input.to_ints()), {"target_tokens": np.array([5] * each.model_input.length)})
              for each in data]  # fmt: skip
    request = ForwardBackward("m", 1, "cross_entropy", {}, True, inputs, b"", hidden_states=True)
    with pytest.raises(UserFault, match="288 numbers, and one answer holds 287"):
        check(request, base)
