"""A random tiny model made on the spot, the service in a process of its own, and the unmodified SDK."""

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ["TINKER_TELEMETRY"] = "0"
os.environ["TINKER_API_KEY"] = "tml-local"
os.environ["OMP_WAIT_POLICY"] = "PASSIVE"


@pytest.fixture(scope="session")
def random_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama of 2 layers with random weights and one token a byte."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    from runner.service.models.build_tiny_addition import build_tokenizer

    folder = tmp_path_factory.mktemp("random-model")
    tokenizer = build_tokenizer()
    config = LlamaConfig(
        vocab_size=264,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
        eos_token_id=tokenizer.eos_token_id,
        initializer_range=0.5,
    )
    torch.set_num_threads(1)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def base(random_model: Path) -> Any:
    """The random model, loaded in this process."""
    from runner.service.base_models import load_base_model

    return load_base_model("random", random_model)


@pytest.fixture(scope="session")
def state_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the service keeps its checkpoints."""
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="session")
def service(random_model: Path, state_dir: Path) -> Iterator[Any]:
    """The service over the random model, in a child process."""
    from runner.service.process import EmbeddedService

    with EmbeddedService({"random": random_model}, state_dir, state_dir / "service.log") as running:
        yield running


@pytest.fixture
def sdk_leftovers() -> Iterator[None]:
    """Collect what the SDK leaves open, so that its warnings fall in the test that made them."""
    yield
    gc.collect()


@pytest.fixture
def client(service: Any, sdk_leftovers: None) -> Iterator[Any]:
    """A session of the SDK with the service."""
    import tinker

    session = tinker.ServiceClient(base_url=service.url)
    yield session
    session.close("success").result(timeout=30)


@pytest.fixture
def datum() -> Callable[..., Any]:
    """Makes data for the SDK: tokens, their targets, and named float inputs."""
    import numpy as np
    from tinker import types

    def make(tokens: list[int], **inputs: list[float]) -> Any:
        arrays: dict[str, Any] = {name: np.array(values, dtype=np.float32) for name, values in inputs.items()}
        arrays["target_tokens"] = np.array(tokens[1:], dtype=np.int64)
        return types.Datum(model_input=types.ModelInput.from_ints(tokens[:-1]), loss_fn_inputs=arrays)

    return make
