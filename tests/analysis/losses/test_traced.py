"""The torch losses: equal to the reference, differentiable as stated, and traceable by the SDK."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from analysis.divergences import binary_kl, binary_tv, topk_kl, topk_tv
from analysis.losses import build_loss, reference_losses, token_loss
from analysis.losses.traced import INPUT_RANKS
from analysis.plan.model import Loss

torch = pytest.importorskip("torch")

SHARED = {"anchor": "sampler", "reduction": "token_sum"}
LOSSES = [
    Loss(kind="ratio_clip", form="ratio", eps=0.2, truncation=None, **SHARED),
    Loss(kind="ratio_clip", form="ratio", eps=0.2, truncation=3.0, **SHARED),
    *(
        Loss(kind="divergence_mask", form=form, divergence=divergence, delta=delta, truncation=truncation, **SHARED)
        for form in ("ratio", "score")
        for divergence, delta in (("binary_tv", 0.15), ("binary_kl", 0.05))
        for truncation in (None, 3.0)
    ),
    Loss(kind="ratio_clip", form="ratio", eps=0.2, truncation=None, kl_coefficient=0.3, **SHARED),
]


def _name(loss):
    return f"{loss.divergence or loss.kind}-{loss.form}-{loss.truncation}"


LOGPROBS = hnp.arrays(np.float32, 9, elements=st.floats(-10.0, -0.0009765625, width=32))
ADVANTAGES = hnp.arrays(np.float32, 9, elements=st.sampled_from([-1.0, -0.25, 0.0, 0.5]))


def _evaluate(loss, current, sampler, advantage, mask=None):
    leaf = torch.tensor(np.asarray(current), requires_grad=True)
    mask = np.ones(len(current), np.float32) if mask is None else mask
    total, counts = token_loss(loss)(leaf, *(torch.tensor(np.asarray(x)) for x in (sampler, advantage, mask)))
    total.backward()
    return total.item(), leaf.grad.numpy(), {name: value.item() for name, value in counts.items()}


@pytest.mark.parametrize("loss", LOSSES, ids=_name)
@settings(max_examples=40)
@given(current=LOGPROBS, sampler=LOGPROBS, advantage=ADVANTAGES)
def test_value_gradient_and_hidden_count_equal_the_reference(loss, current, sampler, advantage):
    expected = reference_losses(loss, current, sampler, advantage)
    total, gradient, counts = _evaluate(loss, current, sampler, advantage)
    assert total == pytest.approx(expected.total, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(gradient, expected.gradient, rtol=1e-6)
    assert (gradient[~expected.keep] == 0.0).all() or loss.kl_coefficient is not None
    assert counts["custom/hidden:sum"] == (~expected.keep).sum()
    assert counts["custom/loss_tokens:sum"] == len(current)


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if loss.form == "ratio" and loss.truncation is None])
def test_the_gradient_is_the_derivative_of_the_value(loss):
    rng = np.random.default_rng(3)
    current, sampler = rng.uniform(-4, -0.1, 40), rng.uniform(-4, -0.1, 40)
    advantage = rng.choice([-1.0, 0.5, 0.0], 40)
    _, gradient, _ = _evaluate(loss, current, sampler, advantage)
    step = 1e-6
    for index in range(40):
        moved = np.zeros(40)
        moved[index] = step
        above = reference_losses(loss, current + moved, sampler, advantage).total
        below = reference_losses(loss, current - moved, sampler, advantage).total
        assert (above - below) / (2 * step) == pytest.approx(gradient[index], rel=1e-5, abs=1e-7)


def test_positions_outside_the_mask_have_neither_value_nor_gradient():
    loss = LOSSES[2]
    current, sampler = np.array([-2.0, -3.0, -0.55, -1.6, -0.9, -2.5]), np.array([0, 0, -0.7, -1.2, -0.1, -4.0])
    advantage, mask = np.array([0.7, -0.3, 1, -1, -1, 1]), np.array([0, 0, 1, 1, 1, 1.0])
    total, gradient, counts = _evaluate(loss, current, sampler, advantage, mask)
    expected = reference_losses(loss, current[2:], sampler[2:], advantage[2:])
    assert total == pytest.approx(expected.total)
    assert (gradient[:2] == 0.0).all()
    assert counts == {"custom/loss_tokens:sum": 4.0, "custom/hidden:sum": float((~expected.keep).sum())}


@pytest.mark.parametrize("loss", LOSSES, ids=_name)
def test_the_sdk_traces_and_encodes_every_loss(loss):
    custom_loss = pytest.importorskip("tinker.lib.public_interfaces.custom_loss")
    handle = custom_loss.trace_loss(token_loss(loss), INPUT_RANKS, "session")
    graph = custom_loss.encode_graph(handle)
    assert len(graph.nodes) > 10
    rng = np.random.default_rng(5)
    current, sampler = (torch.tensor(rng.uniform(-3, -0.1, 50), dtype=torch.float32) for _ in range(2))
    advantage, mask = torch.tensor(rng.choice([-1.0, 0.5, 0.0], 50)), torch.ones(50)
    traced, _ = handle.graph(current, sampler, advantage, mask)
    direct, _ = token_loss(loss)(current, sampler, advantage, mask)
    assert traced.item() == direct.item()


def test_torch_fx_alone_traces_the_losses():
    import torch.fx

    for loss in LOSSES:
        assert torch.fx.symbolic_trace(token_loss(loss)).code


def test_the_custom_loss_sums_over_data_and_reaches_every_leaf():
    loss = LOSSES[2]
    rng = np.random.default_rng(1)
    data, leaves, parts = [], [], []
    for length in (3, 1, 5):
        current, sampler = rng.uniform(-3, -0.1, (2, length)).astype(np.float32)
        advantage = rng.choice([-1.0, 0.5], length).astype(np.float32)
        columns = {"sampler_logprobs": sampler, "advantages": advantage, "mask": np.ones(length, np.float32)}
        tensors = {name: SimpleNamespace(to_torch=lambda x=x: torch.tensor(x)) for name, x in columns.items()}
        data.append(SimpleNamespace(loss_fn_inputs=tensors))
        leaves.append(torch.tensor(current, requires_grad=True))
        parts.append(reference_losses(loss, current, sampler, advantage))
    total, counts = build_loss(loss)(data, leaves)
    total.backward()
    assert total.item() == pytest.approx(sum(part.total for part in parts))
    for leaf, part in zip(leaves, parts, strict=True):
        np.testing.assert_allclose(leaf.grad.numpy(), part.gradient, rtol=1e-6)
    assert counts["custom/loss_tokens:sum"] == 9.0


@pytest.mark.parametrize("divergence", ["binary_tv", "binary_kl"])
def test_a_divergence_of_exactly_delta_is_kept(divergence):
    current, sampler, advantage = np.array([-0.25]), np.array([-1.0]), np.array([1.0])
    at = {"binary_tv": binary_tv, "binary_kl": binary_kl}[divergence](sampler, current)[0]
    for delta, kept in ((at, True), (np.nextafter(at, 0.0), False)):
        loss = Loss(kind="divergence_mask", form="ratio", divergence=divergence, delta=delta, truncation=None, **SHARED)
        assert bool(reference_losses(loss, current, sampler, advantage).keep[0]) is kept
        # One ulp apart: torch's exp and numpy's are compared at a distance that both resolve.
        apart = loss.model_copy(update={"delta": delta * (1 + 1e-12 if kept else 1 - 1e-12)})
        assert _evaluate(apart, current, sampler, advantage)[2]["custom/hidden:sum"] == (0.0 if kept else 1.0)


def test_a_ratio_of_exactly_one_plus_eps_is_not_clipped():
    loss = Loss(kind="ratio_clip", form="ratio", eps=np.exp(0.5) - 1.0, truncation=None, **SHARED)
    assert 1.0 + loss.eps == np.exp(0.5)
    assert reference_losses(loss, [-0.5], [-1.0], [1.0]).keep[0]


TOPK = [
    Loss(kind="divergence_mask", form=form, divergence=divergence, delta=0.4, top_k=2, truncation=None, **SHARED)
    for form in ("ratio", "score")
    for divergence in ("topk_tv", "topk_kl")
]


def _topk_data(rng, n=400):
    """Return one datum of n loss tokens with three candidates each, and log pi of the candidates."""
    sampler, current = (np.log(rng.dirichlet(np.ones(5), n)[:, :3]).astype(np.float32) for _ in range(2))
    listed = np.ones((n, 3), np.float32)
    listed[::2, 2] = 0.0
    columns = {
        "sampler_logprobs": sampler[:, 0],
        "advantages": rng.choice([-1.0, 0.0, 0.5], n).astype(np.float32),
        "mask": np.ones(n, np.float32),
        "candidate_logprobs": sampler,
        "candidate_listed": listed,
    }
    inputs = {
        name: SimpleNamespace(to_torch=lambda a=array: torch.tensor(a), to_numpy=lambda a=array: a)
        for name, array in columns.items()
    }
    return SimpleNamespace(loss_fn_inputs=inputs), columns, current


@pytest.mark.parametrize("loss", TOPK, ids=_name)
def test_a_topk_loss_takes_its_divergence_from_the_candidates_and_its_gradient_from_the_sampled_token(loss):
    datum, columns, current = _topk_data(np.random.default_rng(5))
    measure = topk_tv if loss.divergence == "topk_tv" else topk_kl
    divergence = measure(columns["candidate_logprobs"], current, columns["candidate_listed"] > 0)
    expected = reference_losses(
        loss, current[:, 0], columns["sampler_logprobs"], columns["advantages"], divergence=divergence
    )
    leaf = torch.tensor(current, requires_grad=True)
    total, counts = build_loss(loss)([datum], [leaf])
    total.backward()
    assert total.item() == pytest.approx(expected.total, rel=1e-9)
    np.testing.assert_allclose(leaf.grad[:, 0], expected.gradient, rtol=1e-6)
    assert not leaf.grad[:, 1:].any()
    assert 0 < counts["custom/hidden:sum"] == (~expected.keep).sum() < (columns["advantages"] != 0).sum()


@pytest.mark.parametrize("loss", TOPK, ids=_name)
def test_a_topk_loss_is_traceable_with_its_divergences_as_an_input(loss):
    custom_loss = pytest.importorskip("tinker.lib.public_interfaces.custom_loss")
    assert custom_loss.trace_loss(token_loss(loss), {**INPUT_RANKS, "divergences": 1}, "session")


def test_a_topk_divergence_must_be_given_and_a_binary_one_must_not():
    tokens = ([-0.5], [-1.0], [1.0])
    for loss, divergence in ((TOPK[0], None), (LOSSES[-2], [0.3])):
        with pytest.raises(ValueError, match="a top-k divergence is given with the tokens"):
            reference_losses(loss, *tokens, divergence=divergence)
