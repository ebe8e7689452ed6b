"""What a client gets wrong is answered at once, with a status that the SDK does not repeat for five minutes."""

import json
import socket
import time
import urllib.error
import urllib.request

import pytest

tinker = pytest.importorskip("tinker", reason="the training extra is not installed")
import numpy as np  # noqa: E402
from tinker import types  # noqa: E402
from tinker.proto import tinker_public_pb2 as messages  # noqa: E402

# The SDK leaves the connection of its first request open, and Python says so.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

REPEATED = {400, 408, 409, 410, 429}  # the SDK retries these, and every 5xx
ADAM = {"learning_rate": 1e-3, "beta1": 0.9, "beta2": 0.95, "eps": 1e-8, "weight_decay": 0.0, "grad_clip_norm": 0.0}
PROMPT = {"chunks": [{"type": "encoded_text", "tokens": [1, 2, 3]}]}


def post(service, path, body, content_type="application/json"):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(f"{service.url}/api/v1/{path}", data, {"Content-Type": content_type})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.fixture(scope="module")
def ids(service):
    """A session with a training run and a sampling session, made without the SDK."""
    session = json.loads(post(service, "create_session", {})[1])["session_id"]
    create = {"session_id": session, "model_seq_id": 0, "base_model": "random", "lora_config": {"rank": 2, "seed": 0}}
    model = json.loads(post(service, "create_model", create)[1])["model_id"]
    opening = {"session_id": session, "sampling_session_seq_id": 0, "base_model": "random"}
    sampler = json.loads(post(service, "create_sampling_session", opening)[1])["sampling_session_id"]
    return {"session": session, "model": model, "sampler": sampler}


CASES = {
    "no JSON": ("create_model", lambda ids: b"{", "JSON"),
    "missing field": ("create_model", lambda ids: {"session_id": ids["session"]}, "base_model"),
    "unknown session": (
        "create_model",
        lambda ids: {"session_id": "x", "model_seq_id": 9, "base_model": "random", "lora_config": {"rank": 2}},
        "session",
    ),
    "unknown base model": (
        "create_model",
        lambda ids: {"session_id": ids["session"], "model_seq_id": 9, "base_model": "nope", "lora_config": {"rank": 2}},
        "known: random",
    ),
    "rank zero": (
        "create_model",
        lambda ids: {
            "session_id": ids["session"],
            "model_seq_id": 9,
            "base_model": "random",
            "lora_config": {"rank": 0},
        },
        "rank",
    ),
    "another optimiser": (
        "create_model",
        lambda ids: {
            "session_id": ids["session"],
            "model_seq_id": 9,
            "base_model": "random",
            "lora_config": {"rank": 2},
            "optimizer_config": {"type": "dimuon"},
        },
        "adamw",
    ),
    "run made twice": (
        "create_model",
        lambda ids: {
            "session_id": ids["session"],
            "model_seq_id": 0,
            "base_model": "random",
            "lora_config": {"rank": 3},
        },
        "another body",
    ),
    "unknown run": ("get_info", lambda ids: {"model_id": "x:train:0"}, "training run"),
    "unknown future": ("retrieve_future", lambda ids: {"request_id": "x"}, "request"),
    "step of an unknown run": (
        "optim_step",
        lambda ids: {"model_id": "x", "seq_id": 1, "adam_params": ADAM},
        "training run",
    ),
    "beta of one": (
        "optim_step",
        lambda ids: {"model_id": ids["model"], "seq_id": 1, "adam_params": {**ADAM, "beta1": 1.0}},
        "beta1",
    ),
    "path out of the folder": (
        "save_weights",
        lambda ids: {"model_id": ids["model"], "seq_id": 1, "path": "../../x"},
        "checkpoint path",
    ),
    "unknown checkpoint": (
        "weights_info",
        lambda ids: {"tinker_path": f"tinker://{ids['model']}/weights/never"},
        "checkpoint",
    ),
    "sampling from an unknown checkpoint": (
        "create_sampling_session",
        lambda ids: {
            "session_id": ids["session"],
            "sampling_session_seq_id": 5,
            "model_path": f"tinker://{ids['model']}/weights/never",
        },
        "checkpoint",
    ),
    "unknown sampling session": (
        "asample",
        lambda ids: {"sampling_session_id": "x", "seq_id": 0, "prompt": PROMPT, "sampling_params": {}},
        "sampling session",
    ),
    "token outside the vocabulary": (
        "asample",
        lambda ids: {
            "sampling_session_id": ids["sampler"],
            "seq_id": 0,
            "prompt": {"chunks": [{"type": "encoded_text", "tokens": [999]}]},
            "sampling_params": {},
        },
        "vocabulary",
    ),
    "longer than the context": (
        "asample",
        lambda ids: {
            "sampling_session_id": ids["sampler"],
            "seq_id": 0,
            "prompt": PROMPT,
            "sampling_params": {"max_tokens": 1000},
        },
        "context",
    ),
    "an image": (
        "asample",
        lambda ids: {
            "sampling_session_id": ids["sampler"],
            "seq_id": 0,
            "prompt": {"chunks": [{"type": "image", "data": "", "format": "png"}]},
            "sampling_params": {},
        },
        "encoded_text",
    ),
    "a feature that is not served": (
        "asample",
        lambda ids: {
            "sampling_session_id": ids["sampler"],
            "seq_id": 0,
            "prompt": PROMPT,
            "sampling_params": {},
            "record_stability_info": True,
        },
        "record_stability_info",
    ),
    "more candidates than tokens": (
        "asample",
        lambda ids: {
            "sampling_session_id": ids["sampler"],
            "seq_id": 0,
            "prompt": PROMPT,
            "sampling_params": {},
            "topk_prompt_logprobs": 265,
        },
        "vocabulary of 264",
    ),
    "targets of another prompt": (
        "asample",
        lambda ids: {
            "sampling_session_id": ids["sampler"],
            "seq_id": 0,
            "prompt": PROMPT,
            "sampling_params": {},
            "target_prompt_logprobs": {"data": [1, 2, 3], "dtype": "int64", "shape": [3, 1]},
        },
        "3 rows; this prompt needs 2",
    ),
    "targets that do not fill their shape": (
        "asample",
        lambda ids: {
            "sampling_session_id": ids["sampler"],
            "seq_id": 0,
            "prompt": PROMPT,
            "sampling_params": {},
            "target_prompt_logprobs": {"data": [1], "dtype": "int64", "shape": [2, 1]},
        },
        "do not fit the shape",
    ),
    "an uploaded loss that is no graph": ("create_custom_loss", lambda ids: b"{", "JSON"),
    "an uploaded loss of an unknown session": (
        "create_custom_loss",
        lambda ids: {"session_id": "x", "custom_loss_seq_id": 0, "name": "n", "inputs": [], "graph": {"nodes": []}},
        "session",
    ),
    "an uploaded loss without an input": (
        "create_custom_loss",
        lambda ids: {
            "session_id": ids["session"],
            "custom_loss_seq_id": 0,
            "name": "n",
            "inputs": [],
            "graph": {"nodes": []},
        },
        "the first must be logprobs",
    ),
    "an uploaded loss of two megabytes": ("create_custom_loss", lambda ids: b" " * (1 << 21), "larger than 1048576"),
    "a lifetime of a minute": (
        "save_weights",
        lambda ids: {"model_id": ids["model"], "seq_id": 1, "path": "short", "ttl_seconds": 60},
        "ttl_seconds",
    ),
    "no such route": ("copy_weights", lambda ids: {}, "does not have it"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_wrong_json_request_is_answered_at_once(service, ids, case):
    path, body, words = CASES[case]
    status, text = post(service, path, body(ids))

    assert 400 < status < 500
    assert status not in REPEATED
    assert words in text


def training_message(model_id, *, loss="cross_entropy", targets=(2, 3), config=None, text=None, **inputs):
    message = messages.ForwardBackwardRequest(model_id=model_id, seq_id=1, loss_fn=loss)
    datum = message.data.add()
    datum.model_input.add().encoded_text.tokens = np.array([1, 2], dtype=np.int32).tobytes()
    arrays = {"target_tokens": np.array(targets, dtype=np.int64)}
    arrays |= {name: np.array(values, dtype=np.float32) for name, values in inputs.items()}
    for name, array in arrays.items():
        tensor = datum.loss_fn_inputs[name]
        tensor.dense, tensor.shape[:] = array.tobytes(), array.shape
        tensor.dtype = messages.DTYPE_INT64 if array.dtype == np.int64 else messages.DTYPE_FLOAT32
    for name, value in (config or {}).items():
        message.loss_fn_config[name] = value
    for name, value in (text or {}).items():
        message.loss_fn_config_v2[name].text = value
    return message


POLICY = {"logprobs": [0.0, 0.0], "advantages": [1.0, 1.0]}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"loss": "nope"}, "cross_entropy, importance_sampling, ppo, cispo, dro"),
        ({"loss": "gspo", **POLICY}, "'gspo' is not served here"),
        ({"loss": "stable_reinforce", **POLICY}, "forward_backward_custom"),
        ({"loss": "ppo", **POLICY, "config": {"epsilon": 0.2}}, "unknown epsilon"),
        ({"loss": "ppo", "logprobs": [0.0, 0.0]}, "missing advantages"),
        ({"loss": "ppo", **POLICY, "mask": [1.0, 1.0]}, "mask: not an input"),
        ({"loss": "custom"}, "must name the loss_id"),
        ({"loss": "custom", "config": {"epsilon": 0.2}}, "must name the loss_id"),
        ({"loss": "custom", "text": {"loss_id": "never"}}, "unknown custom loss 'never'"),
        ({"loss": "custom", "text": {"other": "x"}}, "other must be a number"),
        ({"loss": "ppo", **POLICY, "text": {"loss_id": "x"}}, "loss_id must be a number"),
        ({"weights": [1.0]}, "weights has shape [1]"),
        ({"targets": (2,), "weights": [1.0]}, "do not fit 2 input tokens"),
        ({"targets": (2, 264)}, "from 0 to 263"),
        ({"weights": [1.0, float("nan")]}, "finite"),
    ],
)
def test_a_wrong_training_request_is_answered_at_once(service, ids, settings, words):
    body = training_message(ids["model"], **settings).SerializeToString()
    status, text = post(service, "forward_backward", body, "application/x-protobuf")

    assert status in {404, 422}
    assert words in text


def test_a_body_that_is_no_message_or_too_large_is_refused(service, ids):
    garbled, _ = post(service, "forward_backward", b"\xff\xff", "application/x-protobuf")
    old_wire, _ = post(service, "forward_backward", {}, "application/json")
    address = service.url.removeprefix("http://").split(":")
    with socket.create_connection((address[0], int(address[1])), timeout=20) as connection:
        # What is too large is found while it is read, so a header that promises little is no way in.
        connection.sendall(b"POST /api/v1/telemetry HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        chunk = b"1000000\r\n" + bytes(0x1000000) + b"\r\n"
        for _ in range(5):  # 80 MiB
            connection.sendall(chunk)
        answer = connection.recv(64)

    assert (garbled, old_wire) == (422, 415)
    assert answer.startswith(b"HTTP/1.1 413")


def test_a_number_is_used_once_but_a_repeated_request_is_the_same_request(service, ids):
    first = {"model_id": ids["model"], "seq_id": 1, "path": "one"}
    before = post(service, "save_weights", first)
    again = post(service, "save_weights", first)
    other = post(service, "save_weights", {**first, "path": "two"})

    assert before == again
    assert before[0] == 200
    assert other[0] == 422
    assert "another body" in other[1]


def test_the_sdk_fails_within_seconds_on_a_wrong_name(client):
    started = time.monotonic()
    with pytest.raises(tinker.APIStatusError, match="unknown base model 'nope'"):
        client.create_lora_training_client(base_model="nope", rank=4).result(timeout=60)
    with pytest.raises(tinker.APIStatusError, match="no checkpoint path"):
        client.create_sampling_client(model_path="tinker://nowhere").result(timeout=60)
    assert time.monotonic() - started < 60  # the SDK would repeat a 5xx for 300 seconds


def test_a_failure_of_a_queued_operation_becomes_its_answer(client):
    trainer = client.create_lora_training_client(base_model="random", rank=4, seed=0).result(timeout=60)
    step = trainer.optim_step(types.AdamParams(**ADAM))  # nothing was accumulated

    with pytest.raises(tinker.RequestFailedError, match="there is no gradient"):
        step.result(timeout=60)


def test_what_waits_for_a_number_that_never_comes_ends_with_its_session(service):
    session = json.loads(post(service, "create_session", {})[1])["session_id"]
    create = {"session_id": session, "model_seq_id": 0, "base_model": "random", "lora_config": {"rank": 2}}
    model = json.loads(post(service, "create_model", create)[1])["model_id"]
    waiting = json.loads(post(service, "optim_step", {"model_id": model, "seq_id": 2, "adam_params": ADAM})[1])
    post(service, f"sessions/{session}/finish", {})
    status, text = post(service, "retrieve_future", {"request_id": waiting["request_id"]})

    assert (status, json.loads(text)) == (200, {"error": "the session is finished", "category": "user"})


def test_a_finished_session_takes_nothing_more(service, sdk_leftovers):
    session = tinker.ServiceClient(base_url=service.url)
    trainer = session.create_lora_training_client(base_model="random", rank=4).result(timeout=60)
    session_id = trainer.model_id.split(":")[0]
    session.close("success").result(timeout=60)

    status, text = post(service, "session_heartbeat", {"session_id": session_id})
    assert (status, "finished session" in text) == (404, True)
    assert post(service, "get_info", {"model_id": trainer.model_id})[0] == 404


def test_a_page_that_calls_this_machine_by_another_name_is_refused(service):
    address = service.url.removeprefix("http://").split(":")
    answers = {}
    for host in ("rebound.example", "127.0.0.1"):
        with socket.create_connection((address[0], int(address[1])), timeout=20) as connection:
            connection.sendall(f"GET /api/v1/healthz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            answers[host] = connection.recv(64)
    assert answers["rebound.example"].startswith(b"HTTP/1.1 400")
    assert answers["127.0.0.1"].startswith(b"HTTP/1.1 200")
