"""What a client may upload: the losses that torch.fx really traces, and nothing that could do harm."""

import json

import pytest

torch = pytest.importorskip("torch", reason="the training extra is not installed")
pytest.importorskip("tinker", reason="the training extra is not installed")
import math  # noqa: E402

import numpy as np  # noqa: E402
from tinker.lib.public_interfaces.custom_loss import encode_graph, trace_loss  # noqa: E402

from analysis.losses import token_loss  # noqa: E402
from analysis.losses.traced import INPUT_RANKS  # noqa: E402
from analysis.plan.model import Loss  # noqa: E402
from runner.service.custom_losses.graph import MAX_NODES  # noqa: E402
from runner.service.custom_losses.loss import combined, of_batch, read_custom_loss  # noqa: E402
from runner.service.faults import UserFault  # noqa: E402
from runner.service.requests import CreateCustomLoss, parse  # noqa: E402
from runner.service.wire import Datum  # noqa: E402

F = torch.nn.functional
RANKS = {"logprobs": 1, "a": 1}
SHARED = {"anchor": "sampler", "reduction": "token_sum"}
POLICY_LOSSES = [
    Loss(kind="ratio_clip", form="ratio", eps=0.2, truncation=3.0, **SHARED),
    *(
        Loss(kind="divergence_mask", form=form, divergence=divergence, delta=0.1, truncation=None, **SHARED)
        for form in ("ratio", "score")
        for divergence in ("binary_tv", "binary_kl")
    ),
]


def encoded(fn, ranks):
    handle = trace_loss(fn, ranks, "s")
    inputs = [{"name": each.name, "rank": each.rank} for each in handle.inputs]
    return handle, request(encode_graph(handle).model_dump()["nodes"], inputs)


def request(nodes, inputs=({"name": "logprobs", "rank": 1}, {"name": "a", "rank": 1})):
    """The upload of these nodes, through JSON."""
    upload = {"session_id": "s", "custom_loss_seq_id": 0, "name": "mine", "inputs": list(inputs)}
    return parse(CreateCustomLoss, json.dumps({**upload, "graph": {"format": 1, "nodes": nodes}}).encode())


def shaped(logprobs, a):
    n = logprobs.shape[0]
    x = logprobs[:, None] * a[None, :]
    x += 1
    return x.sum() / n + x.T[0].mean() * math.sqrt(n) + x[..., -1].view(-1).sum() + logprobs.size(0), {
        "custom/n:sum": n,
        "custom/tail:mean": x[1:].sum(),
    }


def joined(logprobs, a):
    both = torch.stack([logprobs, a])
    best = torch.max(both, dim=0)
    return torch.cat([both, both]).sum(dim=0).max() + best.values.sum() + (torch.arange(a.numel()) * logprobs).sum(), {}


def functional(logprobs, a):
    pulled = F.softplus(logprobs) + F.logsigmoid(a) + F.relu(a) + torch.special.expit(a)
    apart = F.mse_loss(logprobs, a, reduction="sum") + F.huber_loss(logprobs, a) + F.smooth_l1_loss(logprobs, a)
    return pulled.sum() + apart + (F.softmax(logprobs, dim=0) * F.log_softmax(a, -1)).sum(), {}


def compared(logprobs, a):
    inside = (~(a > 0) & (a <= 1) | (a == 2) ^ (a != 3)).to(logprobs.dtype)
    kept = torch.where(a > 0, logprobs, torch.zeros_like(logprobs))
    return (inside * logprobs).sum() + kept.sum() + logprobs[a > 0].sum(), {"custom/inside:mean": inside.mean()}


def arithmetic(logprobs, a):
    weight = 1.0 / (logprobs**2 + 1) - a // 1 % 2
    bounded = torch.clamp(logprobs, None, 1.0) + logprobs.clamp(min=-1.0) + torch.clamp(a, max=float("inf"))
    return (-weight + abs(a) - (2 - bounded).double().expm1().log1p()).sum().float(), {}


def sequence_level(logprobs, a):
    ratio = torch.exp((logprobs - a).mean())
    clipped = torch.minimum(ratio * a.sum(), torch.clamp(ratio, 0.8, 1.2) * a.sum())
    return -clipped + 0.1 * torch.logsumexp(logprobs, 0) + logprobs.std() - F.logsigmoid(logprobs.sum()), {}


@pytest.mark.parametrize("fn", [shaped, joined, functional, compared, arithmetic, sequence_level])
def test_a_loss_that_somebody_writes_has_the_value_gradient_and_metrics_of_its_code(fn):
    handle, upload = encoded(fn, RANKS)
    a = np.array([1.0, -1.0, 0.5], dtype=np.float32)
    ours, theirs = (torch.tensor([-1.0, -0.5, -2.0], requires_grad=True) for _ in range(2))
    value, metrics = read_custom_loss(upload).evaluate(ours, {"a": a, "not read": a})
    expected, expected_metrics = handle.graph(theirs, torch.tensor(a))
    value.backward()
    expected.backward()

    assert value.item() == expected.item()
    assert ours.grad.abs().sum() > 0
    assert torch.equal(ours.grad, theirs.grad)
    assert metrics == {name: float(torch.as_tensor(metric).detach()) for name, metric in expected_metrics.items()}


@pytest.mark.parametrize("loss", POLICY_LOSSES, ids=lambda loss: f"{loss.kind}-{loss.form}-{loss.divergence}")
def test_the_plan_s_losses_have_the_numbers_of_their_code(loss):
    _, upload = encoded(token_loss(loss), INPUT_RANKS)
    rng = np.random.default_rng(5)
    current, sampler = rng.uniform(-3, -0.1, (2, 200)).astype(np.float32)
    advantages, mask = rng.choice([-1.0, 0.5, 0.0], 200).astype(np.float32), (np.arange(200) > 20).astype(np.float32)
    ours, theirs = (torch.tensor(current, requires_grad=True) for _ in range(2))
    inputs = {"sampler_logprobs": sampler, "advantages": advantages, "mask": mask}
    value, metrics = read_custom_loss(upload).evaluate(ours, inputs)
    expected, counts = token_loss(loss)(theirs, *(torch.tensor(each) for each in inputs.values()))
    value.backward()
    expected.backward()

    assert value.item() == expected.item()
    assert torch.equal(ours.grad, theirs.grad)
    assert metrics == {name: count.item() for name, count in counts.items()}
    assert metrics["custom/hidden:sum"] > 0


def node(op, name, target, *args, **kwargs):
    return {"op": op, "name": name, "target": target, "args": list(args), "kwargs": kwargs}


def call(name, target, *args, **kwargs):
    return node("call_function", name, target, *args, **kwargs)


def method(name, target, *args, **kwargs):
    return node("call_method", name, target, *args, **kwargs)


def ref(name):
    return {"ref": name}


def output(loss="sum", metrics=None):
    return node("output", "output", "output", {"tuple": [ref(loss), {"dict": metrics or {}}]})


P, A = node("placeholder", "logprobs", "logprobs"), node("placeholder", "a", "a")
SUM = method("sum", "sum", ref("logprobs"))
X = ref("logprobs")
DEEP = json.loads("[" * 150 + "]" * 150)

REFUSED = {
    "a function that is not listed": (
        [P, A, call("x", "torch.load", "f"), SUM, output()],
        "'x': function 'torch.load'",
    ),
    "a function of another module": ([P, A, call("x", "os.system", "id"), output("x")], "not served; allowed: oper"),
    "eval": ([P, A, call("x", "eval", "1"), output("x")], "function 'eval'"),
    "a random number": ([P, A, call("x", "torch.rand_like", X), output("x")], "torch.rand_like"),
    "a method that is not listed": ([P, A, method("x", "register_hook", X), output("x")], "method 'register_hook'"),
    "a method that writes": ([P, A, method("x", "clamp_", X, 0), output("x")], "method 'clamp_'"),
    "a dunder": ([P, A, method("x", "__reduce__", X), output("x")], "method '__reduce__'"),
    "an argument that is written to": (
        [P, A, call("x", "torch.add", X, X, out=X), SUM, output()],
        "torch.add with out",
    ),
    "a module": ([P, A, node("call_module", "x", "linear", X), SUM, output()], "call_module 'linear'"),
    "an attribute of the module": ([P, A, node("get_attr", "x", "weights"), SUM, output()], "get_attr 'weights'"),
    "an attribute that is not listed": ([P, A, call("x", "getattr", X, "__class__"), SUM, output()], "__class__"),
    "a reference to what comes later": ([P, A, call("x", "torch.exp", ref("sum")), SUM, output()], "come before"),
    "a reference to itself": ([P, A, call("x", "torch.exp", ref("x")), SUM, output()], "refers to 'x'"),
    "a reference to nothing": ([P, A, SUM, output("never")], "refers to 'never'"),
    "a reference in a slice": ([P, A, call("x", "operator.getitem", X, {"slice": [ref("y"), None, None]})], "'y'"),
    "a name given twice": ([P, A, SUM, SUM, output()], "'sum': the name is given twice"),
    "no nodes": ([], "takes []"),
    "no output": ([P, A, SUM], "no output"),
    "an output in the middle": ([P, A, SUM, output(), call("x", "torch.exp", X)], "must be the last"),
    "a bare loss": ([P, A, SUM, node("output", "output", "output", ref("sum"))], "must be (loss, metrics)"),
    "a constant for a loss": (
        [P, A, node("output", "o", "output", {"tuple": [1.0, {"dict": {}}]})],
        "result of a node",
    ),
    "metrics in a list": ([P, A, SUM, node("output", "o", "output", {"tuple": [ref("sum"), []]})], "must be a dict"),
    "a metric of another name": ([P, A, SUM, output(metrics={"loss:sum": ref("sum")})], "custom/<name>"),
    "a constant for a metric": ([P, A, SUM, output(metrics={"custom/x:sum": 1.0})], "custom/<name>"),
    "inputs that it does not declare": ([P, SUM, output()], "declared inputs are ['logprobs', 'a']"),
    "another device": ([P, A, method("x", "to", X, {"device": "meta"}), SUM, output()], "is not served"),
    "another device as text": ([P, A, method("x", "to", X, "cuda"), SUM, output()], "is not served"),
    "an element type that is not listed": (
        [P, A, method("x", "to", X, {"dtype": "complex64"}), SUM, output()],
        "dtype",
    ),
    "an object of another kind": ([P, A, call("x", "torch.exp", {"pickle": "x"}), SUM, output()], "pickle"),
    "an object of two keys": ([P, A, call("x", "torch.exp", {"ref": "a", "x": 1}), SUM, output()], "is not served"),
    "a number of forty digits": ([P, A, call("x", "torch.add", X, 10**40), SUM, output()], "too large"),
    "too many nodes": (
        [P, A, *(call(f"x{i}", "torch.exp", X) for i in range(MAX_NODES)), SUM, output()],
        "at most 1000",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_allowed_is_refused_with_the_node_and_the_reason(case):
    nodes, words = REFUSED[case]
    with pytest.raises(UserFault, match=r"create_custom_loss 'mine': ") as caught:
        read_custom_loss(request(nodes))
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ([], "the first must be logprobs"),
        ([{"name": "a", "rank": 1}], "the first must be logprobs"),
        ([{"name": "logprobs", "rank": 0}], "rank 1 or 2"),
        ([{"name": "logprobs", "rank": 1}] * 2, "each once"),
        ([{"name": "logprobs", "rank": 1}, *({"name": f"x{i}", "rank": 1} for i in range(16))], "at most 16"),
        ([{"name": "logprobs", "rank": 1}, {"name": "../x", "rank": 1}], "lowercase"),
    ],
)
def test_inputs_that_cannot_be_are_refused(inputs, words):
    nodes = [node("placeholder", f"p{i}", each["name"]) for i, each in enumerate(inputs)]
    with pytest.raises(UserFault) as caught:
        read_custom_loss(request([*nodes, SUM, output()], inputs))
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "JSON"),
        (b"[]", "CreateCustomLoss"),
        (b'{"session_id": "s", "custom_loss_seq_id": 0, "name": "n", "inputs": []}', "graph: Field required"),
        (
            json.dumps({"graph": {"nodes": [call("x", "torch.exp", [DEEP, DEEP])]}}).replace(
                "[]", "[" * 200 + "]" * 200
            ),
            "",
        ),
    ],
)
def test_a_body_that_is_no_upload_is_refused(body, words):
    with pytest.raises(UserFault) as caught:
        parse(CreateCustomLoss, body if isinstance(body, bytes) else body.encode())
    assert words in caught.value.message


def number(name, *args):
    return call(name, "operator.pow", *args)


FAILING = {
    "wrong arity": ([call("x", "torch.minimum", X)], "x", "node 'x' (torch.minimum) failed: TypeError"),
    "an unknown keyword": ([call("x", "torch.exp", X, power=2)], "x", "failed: TypeError"),
    "shapes that do not fit": ([call("x", "torch.add", X, ref("a"))], "x", "failed: RuntimeError"),
    "a loss a token": ([], "logprobs", "shape [3], torch.float32"),
    "a loss that is no tensor": ([method("x", "numel", X)], "x", "not int"),
    "a loss of whole numbers": ([method("y", "long", X), method("x", "sum", ref("y"))], "x", "shape [], torch.int64"),
    "a metric a token": ([SUM], "sum", "metric 'custom/x:sum' must be a scalar"),
    "a view of a trillion": ([method("x", "sum", X), method("y", "expand", ref("x"), 10**12)], "y", "goes beyond"),
    "a view of more than fits a number": (
        [method("x", "sum", X), method("y", "expand", ref("x"), 2**40, 2**40)], "y", "node 'y' (expand) failed",
    ),
    "a long range": ([call("x", "torch.arange", 10**12)], "x", "goes beyond"),
    "an outer product of outer products": (
        [
            call("r", "torch.arange", 2**20),
            method("c", "unsqueeze", ref("r"), 1),
            call("x", "operator.mul", ref("r"), ref("c")),
        ],
        "x", "node 'x' (operator.mul) goes beyond",
    ),
    "a power that could be endless": ([number("x", 10, 65)], "x", "at most 64"),
    "a power of a power": ([number("x", 10, 60)], "x", "63 bits"),
    "a text times a number": ([call("x", "operator.mul", "cpu", 10**9)], "x", "takes numbers, not a str"),
    "a list times a number": ([call("x", "operator.mul", [1], 10**9)], "x", "takes numbers, not a list"),
    "math of a tensor": ([method("y", "sum", X), call("x", "math.exp", ref("y"))], "x", "would lose its gradient"),
    "an index in a tuple": (
        [call("i", "torch.arange", 3), call("x", "operator.getitem", X, {"tuple": [ref("i")]})], "x", "torch.gather",
    ),
    "an attribute of a number": ([method("n", "numel", X), call("x", "getattr", ref("n"), "T")], "x", "'T' of a int"),
}  # fmt: skip


@pytest.mark.parametrize("case", FAILING)
def test_what_shows_only_on_data_names_the_node(case):
    calls, returned, words = FAILING[case]
    metrics = {"custom/x:sum": ref("logprobs")} if "metric" in case else {}
    loss = read_custom_loss(request([P, A, *calls, output(returned, metrics)]))
    with pytest.raises(UserFault) as caught:
        loss.evaluate(torch.tensor([-1.0, -2.0, -3.0]), {"a": np.ones(4, np.float32)})
    assert words in caught.value.message


def test_a_datum_must_have_what_the_loss_reads_at_its_rank():
    inputs = [{"name": "logprobs", "rank": 1}, {"name": "beta", "rank": 0}]
    beta = node("placeholder", "beta", "beta")
    loss = read_custom_loss(
        request([P, beta, SUM, call("x", "operator.mul", ref("sum"), ref("beta")), output("x")], inputs)
    )
    loss.check({"beta": np.ones(1, np.float32)})  # a scalar crosses the wire as a row of one
    value, _ = loss.evaluate(torch.tensor([-1.0, -2.0]), {"beta": np.full(1, 0.5, np.float32)})

    assert value.item() == -1.5
    with pytest.raises(UserFault, match="missing beta"):
        loss.check({})
    with pytest.raises(UserFault, match="beta has rank 1, the loss declared rank 0"):
        loss.check({"beta": np.ones(2, np.float32)})


@pytest.mark.parametrize(
    ("calls", "returned"),
    [
        ([method("d", "detach", X), method("x", "sum", ref("d"))], "x"),
        ([method("x", "sum", ref("a"))], "x"),
        ([call("d", "operator.floordiv", X, 2), method("x", "sum", ref("d"))], "x"),
    ],
)
def test_a_loss_without_a_gradient_says_so_and_names_the_datum(calls, returned):
    loss = read_custom_loss(request([P, A, *calls, output(returned)]))
    datum = Datum(np.arange(2), {"a": np.ones(2, np.float32)})
    with pytest.raises(UserFault, match="custom loss 'mine', datum 7: the loss has no gradient"):
        of_batch(loss, [torch.tensor([-1.0, -2.0], requires_grad=True)], [datum], 7)


def test_metrics_combine_over_data_as_their_names_say():
    assert combined([{"custom/x:sum": 1.0, "custom/y:mean": 1.0}, {"custom/x:sum": 2.0, "custom/y:mean": 4.0}]) == {
        "custom/x:sum": 3.0,
        "custom/y:mean": 2.5,
    }
    assert combined([]) == {}
