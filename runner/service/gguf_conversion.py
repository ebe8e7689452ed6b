"""From a GGUF file to a Hugging Face model folder: Llama networks with a GPT-2 style tokenizer.

transformers reads GGUF files too, but the tokenizer that it makes of this family is wrong: ids outside the
embedding, the end-of-text of another model, digits not split. Weights are dequantised to float16.
Layout of the query and key matrices: ggml-org/llama.cpp, convert_hf_to_gguf.py at a38b884c, lines 1402-1408.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.errors import AuditError

CONTROL_TOKEN = 3
"""GGUF's mark of a token that stands for itself and is never part of a text, such as an end of turn."""

Weights = npt.NDArray[np.float16]

_BLOCK_NAMES = {
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
_OUTER_NAMES = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}


def convert(gguf_file: Path, folder: Path) -> None:
    """Write the model of a GGUF file into an existing folder, as configuration, weights and tokenizer.

    Raises:
        AuditError: If the file is damaged, or holds another kind of network or tokenizer.
    """
    from gguf import GGUFReader
    from safetensors.numpy import save_file

    try:
        reader = GGUFReader(gguf_file)
        fields = {name: field.contents() for name, field in reader.fields.items()}
        _require(fields, gguf_file)
        tensors = dict(_tensors(reader.tensors, fields["llama.attention.head_count"], _key_heads(fields)))
        config = _config(fields, tied="lm_head.weight" not in tensors)
        _require_whole(tensors, config)
        tokenizer, tokenizer_config = _tokenizer(fields)
    except (ValueError, IndexError, KeyError, TypeError, EOFError) as error:
        # The reader of the gguf package meets a cut or changed file with whichever of these comes first.
        reason = f"{type(error).__name__}: {error}"
        raise AuditError(f"{gguf_file}: cannot be read as a GGUF model ({reason}). Fetch the file again") from error
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    tokenizer.save(str(folder / "tokenizer.json"))
    _write(folder / "config.json", config)
    _write(folder / "generation_config.json", {key: config[key] for key in ("bos_token_id", "eos_token_id")})
    _write(folder / "tokenizer_config.json", tokenizer_config)


def _require(fields: Mapping[str, Any], gguf_file: Path) -> None:
    for field, known in {
        "general.architecture": "llama",
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
    }.items():
        if fields.get(field) != known:
            raise AuditError(f"{gguf_file}: {field} is {fields.get(field)!r}; only {known!r} can be converted")


def _key_heads(fields: Mapping[str, Any]) -> int:
    return int(fields.get("llama.attention.head_count_kv", fields["llama.attention.head_count"]))


def _tensors(found: list[Any], heads: int, key_heads: int) -> Iterator[tuple[str, Weights]]:
    from gguf.quants import dequantize

    for tensor in found:
        values = dequantize(tensor.data, tensor.tensor_type)
        if ".attn_q." in tensor.name:
            values = _split_halves(values, heads)
        elif ".attn_k." in tensor.name:
            values = _split_halves(values, key_heads)
        weights = np.ascontiguousarray(values, dtype=np.float16)
        if not np.isfinite(weights).all():
            raise ValueError(f"{tensor.name} holds numbers that are not finite in float16")
        yield _name_of(tensor.name), weights


def _split_halves(values: npt.NDArray[Any], heads: int) -> npt.NDArray[Any]:
    """Undo GGUF's row order: it puts what one rotary angle turns side by side, Hugging Face half a head apart."""
    pairs = values.shape[0] // heads // 2
    return values.reshape(heads, pairs, 2, *values.shape[1:]).swapaxes(1, 2).reshape(values.shape)


def _name_of(name: str) -> str:
    if name in _OUTER_NAMES:
        return _OUTER_NAMES[name]
    _, block, part, kind = name.split(".")
    return f"model.layers.{int(block)}.{_BLOCK_NAMES[part]}.{kind}"


def _config(fields: Mapping[str, Any], *, tied: bool) -> dict[str, Any]:
    heads = int(fields["llama.attention.head_count"])
    hidden = int(fields["llama.embedding_length"])
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "dtype": "float16",
        "vocab_size": len(fields["tokenizer.ggml.tokens"]),
        "hidden_size": hidden,
        "intermediate_size": int(fields["llama.feed_forward_length"]),
        "num_hidden_layers": int(fields["llama.block_count"]),
        "num_attention_heads": heads,
        "num_key_value_heads": _key_heads(fields),
        "head_dim": int(fields.get("llama.rope.dimension_count", hidden // heads)),
        "max_position_embeddings": int(fields["llama.context_length"]),
        "rms_norm_eps": _single(fields["llama.attention.layer_norm_rms_epsilon"]),
        "rope_theta": _single(fields["llama.rope.freq_base"]),
        "hidden_act": "silu",
        "tie_word_embeddings": tied,
        "bos_token_id": int(fields["tokenizer.ggml.bos_token_id"]),
        "eos_token_id": int(fields["tokenizer.ggml.eos_token_id"]),
        "pad_token_id": int(fields["tokenizer.ggml.padding_token_id"]),
    }


def _single(value: float) -> float:
    """Return the short decimal that a float32 was written from: 1e-05, not 9.999999747378752e-06."""
    return float(str(np.float32(value)))


def _require_whole(tensors: Mapping[str, Weights], config: Mapping[str, Any]) -> None:
    blocks = range(config["num_hidden_layers"])
    expected = {f"model.layers.{block}.{part}.weight" for block in blocks for part in _BLOCK_NAMES.values()}
    expected |= {"model.embed_tokens.weight", "model.norm.weight"}
    if missing := sorted(expected - tensors.keys()):
        raise ValueError(f"{len(missing)} tensors are missing, the first is {missing[0]}")
    rows = tensors["model.embed_tokens.weight"].shape[0]
    if rows != config["vocab_size"]:
        raise ValueError(f"the embedding has {rows} rows for {config['vocab_size']} tokens")


def _tokenizer(fields: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the byte-level BPE tokenizer that splits off every digit, and its Hugging Face settings."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    tokens = list(fields["tokenizer.ggml.tokens"])
    merges = [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE(vocab={token: index for index, token in enumerate(tokens)}, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    kinds = fields["tokenizer.ggml.token_type"]
    special = [token for token, kind in zip(tokens, kinds, strict=True) if kind == CONTROL_TOKEN]
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    names = {"bos": "bos_token", "eos": "eos_token", "padding": "pad_token", "unknown": "unk_token"}
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": int(fields["llama.context_length"]),
        "clean_up_tokenization_spaces": False,
        "chat_template": fields["tokenizer.chat_template"],
        **{name: tokens[int(fields[f"tokenizer.ggml.{key}_token_id"])] for key, name in names.items()},
    }
    return tokenizer, config


def _write(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n", encoding="utf-8")
