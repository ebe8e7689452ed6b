"""What is saved comes back to the bit, and AdamW does what its parameters say."""

import pytest

torch = pytest.importorskip("torch", reason="the training extra is not installed")
pytest.importorskip("tinker", reason="the training extra is not installed")
import numpy as np  # noqa: E402

from runner.service.checkpoints import CheckpointStore  # noqa: E402
from runner.service.faults import UserFault  # noqa: E402
from runner.service.lora import LoraSpec  # noqa: E402
from runner.service.requests import AdamParams  # noqa: E402
from runner.service.training import TrainingRun  # noqa: E402
from runner.service.wire import Datum, ForwardBackward  # noqa: E402

SPEC = LoraSpec(4)
PATH = "tinker://00000000-0000-0000-0000-000000000000:train:0/weights/here"
PARAMS = AdamParams(learning_rate=0.01, beta1=0.9, beta2=0.95, eps=1e-8, weight_decay=0.1, grad_clip_norm=0.5)
DATA = [Datum(np.arange(1, 7), {"target_tokens": np.arange(2, 8), "weights": np.ones(6, dtype=np.float32)})]
LEARN = ForwardBackward("m", 1, "cross_entropy", {}, False, DATA, b"")


def trained(base, steps):
    run = TrainingRun(base, SPEC, base.switch.new_adapter(SPEC, seed=1))
    for _ in range(steps):
        run.forward_backward(LEARN)
        run.optim_step(PARAMS)
    return run


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("steps", [0, 3])
def test_parameters_and_moments_come_back_to_the_bit(base, tmp_path, steps):
    run = trained(base, steps)
    store = CheckpointStore(tmp_path)
    store.save(PATH, base, SPEC, run.adapter(), run.moments(), overwrite=False)
    back = TrainingRun(base, SPEC, store.load_adapter(PATH), store.load_moments(PATH))

    assert same(back.adapter(), run.adapter())
    assert same(back.moments(), run.moments())
    assert len(run.moments()) == (3 * len(run.parameters) if steps else 0)
    for each in (run, back):
        each.forward_backward(LEARN)
        each.optim_step(PARAMS)
    assert same(back.adapter(), run.adapter())
    assert same(back.moments(), run.moments())


def test_a_name_is_written_once_unless_overwriting_is_asked_for(base, tmp_path):
    store = CheckpointStore(tmp_path)
    old, new = trained(base, 1), trained(base, 2)
    store.save(PATH, base, SPEC, old.adapter(), None, overwrite=False)
    with pytest.raises(UserFault, match="exists"):
        store.save(PATH, base, SPEC, new.adapter(), None, overwrite=False)
    assert same(store.load_adapter(PATH), old.adapter())
    store.save(PATH, base, SPEC, new.adapter(), new.moments(), overwrite=True)

    assert same(store.load_adapter(PATH), new.adapter())
    assert store.describe(PATH).has_optimizer
    assert [path.name for path in (tmp_path / "checkpoints").rglob("*") if path.name.startswith(".")] == []


@pytest.mark.parametrize("name", ["..", ".hidden", "a/b", "", "x" * 129, "a b"])
def test_a_name_cannot_leave_its_folder(tmp_path, name):
    with pytest.raises(UserFault, match="no checkpoint path"):
        CheckpointStore(tmp_path).exists(PATH.replace("here", name))


def test_adamw_follows_its_formula_with_clipping_and_decay(base):
    """Loshchilov and Hutter (arXiv:1711.05101), algorithm 2, computed here in float64 beside the run."""
    run = TrainingRun(base, SPEC, base.switch.new_adapter(SPEC, seed=1))
    first = {name: torch.zeros_like(value, dtype=torch.float64) for name, value in run.parameters.items()}
    second = {name: torch.zeros_like(value, dtype=torch.float64) for name, value in run.parameters.items()}
    for step in (1, 2, 3):
        run.forward_backward(LEARN)
        before = {name: value.double() for name, value in run.adapter().items()}
        gradients = {name: value.double().clone() for name, value in run.gradients().items()}
        norm = torch.sqrt(sum((value**2).sum() for value in gradients.values()))
        reported = run.optim_step(PARAMS)

        assert reported == pytest.approx(norm.item(), rel=1e-5)
        shrink = min(1.0, PARAMS.grad_clip_norm / norm.item())
        for name, gradient in gradients.items():
            clipped = gradient * shrink
            first[name] = PARAMS.beta1 * first[name] + (1 - PARAMS.beta1) * clipped
            second[name] = PARAMS.beta2 * second[name] + (1 - PARAMS.beta2) * clipped**2
            mean = first[name] / (1 - PARAMS.beta1**step)
            root = torch.sqrt(second[name] / (1 - PARAMS.beta2**step)) + PARAMS.eps
            decayed = before[name] * (1 - PARAMS.learning_rate * PARAMS.weight_decay)
            expected = decayed - PARAMS.learning_rate * mean / root
            torch.testing.assert_close(run.adapter()[name].double(), expected, atol=2e-5, rtol=0)


def test_a_fresh_adapter_is_the_base_model_and_its_seed_is_everything(base):
    tokens = torch.tensor([[1, 2, 3]])
    one, same_seed, other = (base.switch.new_adapter(SPEC, seed) for seed in (1, 1, 2))
    without_head = base.switch.new_adapter(LoraSpec(4, train_unembed=False), 1)
    with torch.no_grad():
        plain = base.network(input_ids=tokens).logits
        with base.switch.attached(one, SPEC):
            adapted = base.network(input_ids=tokens).logits
        again = base.network(input_ids=tokens).logits

    assert torch.equal(plain, adapted)
    assert torch.equal(plain, again)
    assert same(one, same_seed)
    assert not same(one, other)
    assert set(one) - set(without_head) == {"lm_head.lora_a", "lm_head.lora_b"}
    assert all(torch.equal(value, one[name]) for name, value in without_head.items())
