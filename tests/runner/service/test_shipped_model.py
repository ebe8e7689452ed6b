"""The shipped model is what its README says, and the split that it was trained on is symmetric."""

import re
from hashlib import sha256

import pytest

torch = pytest.importorskip("torch", reason="the training extra is not installed")
pytest.importorskip("tinker", reason="the training extra is not installed")

from runner.loop.tasks.addition import split_of  # noqa: E402
from runner.service.base_models import load_base_model  # noqa: E402
from runner.service.catalogue import SHIPPED_MODELS  # noqa: E402
from runner.service.models.build_tiny_addition import accuracy, pairs_of  # noqa: E402

FOLDER = SHIPPED_MODELS["tiny-addition"]
README = (FOLDER / "README.md").read_text(encoding="utf-8")


def test_the_weights_are_those_that_the_readme_names():
    digest = sha256((FOLDER / "model.safetensors").read_bytes()).hexdigest()
    assert digest in README


@pytest.mark.parametrize("split", ["validation", "test"])
def test_accuracy_is_as_stated(split):
    base = load_base_model("tiny-addition", FOLDER)
    row = re.search(rf"\| {split} \| (\d+) \| ([\d.]+) \| ([\d.]+) \|", README)
    assert row is not None
    measured = accuracy(base.network, base.tokenizer, split)

    assert measured.pairs == int(row[1])
    # One item may fall the other way where two tokens are all but equal on another machine.
    assert measured.greedy == pytest.approx(float(row[2]), abs=1.5 / measured.pairs + 0.0005)
    assert measured.sampled == pytest.approx(float(row[3]), abs=0.001)


def test_a_sum_and_its_mirror_image_are_in_one_split():
    assert all(split_of(a, b) == split_of(b, a) for a in range(100) for b in range(a))
    counts = {split: len(pairs_of(split, both_orders=False)) for split in ("train", "validation", "test")}
    assert counts == {"train": 4372, "validation": 203, "test": 475}
    with pytest.raises(ValueError, match="not for 100\\+1"):
        split_of(100, 1)
