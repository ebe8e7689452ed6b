"""Make the shipped model `tiny-addition`: a small Qwen3 that adds two numbers and often forgets the carry.

Run it as `python -m runner.service.models.build_tiny_addition`. It needs no network and about half a minute
on one core, and on the same machine with the same torch it writes the same bytes every time. The flaw is
made on purpose: where the units carry, the training answer drops the carry seven times in ten. The base
model therefore fails in one shared, mendable way, and reinforcement learning has something to teach it.
"""

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch  # noqa: TID253 (a script, imported by nothing)
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from runner.loop.tasks.addition import OPERAND_LIMIT, Split, split_of

FOLDER = Path(__file__).parent / "tiny_addition"
SPECIAL_TOKENS = ("<pad>", "<bos>", "<eos>")
VOCABULARY_SIZE = 264  # 256 bytes and 3 special tokens, padded to a multiple of 8
STEPS = 750
WARMUP_STEPS = 50
BATCH = 128
LEARNING_RATE = 3e-3
FLOOR = 0.1  # the cosine schedule ends at this share of the learning rate
CARRY_DROP_PROBABILITY = 0.7
SEED = 0
IGNORED = -100  # the label that torch's cross entropy leaves out


@dataclass(frozen=True)
class Accuracy:
    """How often the model writes the right sum and then stops, over one ordering of each unordered pair."""

    pairs: int
    greedy: float
    sampled: float


def build_tokenizer() -> Any:
    """Return the tokenizer: one token a byte, so that every text can be encoded and no merge hides a digit."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {symbol: index for index, symbol in enumerate([*alphabet, *SPECIAL_TOKENS])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    pad, bos, eos = SPECIAL_TOKENS
    fast: Any = PreTrainedTokenizerFast  # transformers' constructors are not typed
    return fast(tokenizer_object=tokenizer, pad_token=pad, bos_token=bos, eos_token=eos)


def build_network(tokenizer: Any) -> Any:
    """Return the untrained network, initialised from torch's global seed."""
    make_config: Any = Qwen3Config
    make_network: Any = Qwen3ForCausalLM
    return make_network(
        make_config(
            vocab_size=VOCABULARY_SIZE,
            hidden_size=64,
            intermediate_size=256,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            head_dim=16,
            max_position_embeddings=256,
            tie_word_embeddings=True,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
    )


def pairs_of(split: Split, *, both_orders: bool) -> list[tuple[int, int]]:
    """List the pairs of a split: each unordered pair once, or in both orders."""
    low_first = [(a, b) for a in range(OPERAND_LIMIT) for b in range(a, OPERAND_LIMIT) if split_of(a, b) == split]
    return low_first + [(b, a) for a, b in low_first if a != b] if both_orders else low_first


def example(tokenizer: Any, pair: tuple[int, int], *, drop_carry: bool) -> tuple[list[int], list[int]]:
    """Return the tokens of a solved sum and the label of each position; only the answer is learned."""
    first, second = pair
    carries = first % 10 + second % 10 >= 10
    total = first + second - (10 if carries and drop_carry else 0)
    prompt = tokenizer.encode(f"{first}+{second}=")
    answer = [*tokenizer.encode(str(total)), tokenizer.eos_token_id]
    return prompt + answer, [IGNORED] * len(prompt) + answer


def padded(rows: Sequence[Sequence[int]], filler: int) -> torch.Tensor:
    """Return the rows as one tensor of shape [rows, longest], padded on the right."""
    width = max(map(len, rows))
    return torch.tensor([[*row, *[filler] * (width - len(row))] for row in rows])


def learning_rate_at(step: int) -> float:
    """Return the learning rate of a step, counted from 0: linear warm-up, then a cosine down to the floor."""
    if step < WARMUP_STEPS:
        return LEARNING_RATE * (step + 1) / WARMUP_STEPS
    progress = (step - WARMUP_STEPS) / max(1, STEPS - WARMUP_STEPS)
    return LEARNING_RATE * (FLOOR + (1 - FLOOR) * 0.5 * (1 + math.cos(math.pi * progress)))


def train(network: Any, tokenizer: Any) -> None:
    """Train the network in place on the train pairs alone, in both orders."""
    pairs = pairs_of("train", both_orders=True)
    generator = torch.Generator().manual_seed(SEED)
    optimizer = torch.optim.AdamW(network.parameters(), lr=LEARNING_RATE, betas=(0.9, 0.98), weight_decay=0.01)
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate_at(step)
        chosen = torch.randint(len(pairs), (BATCH,), generator=generator).tolist()
        drops = (torch.rand(BATCH, generator=generator) < CARRY_DROP_PROBABILITY).tolist()
        rows = [example(tokenizer, pairs[index], drop_carry=drop) for index, drop in zip(chosen, drops, strict=True)]
        tokens = padded([row for row, _ in rows], tokenizer.pad_token_id)
        labels = padded([label for _, label in rows], IGNORED)
        logits = network(input_ids=tokens, use_cache=False).logits[:, :-1]
        loss = torch.nn.functional.cross_entropy(
            logits.reshape(-1, VOCABULARY_SIZE), labels[:, 1:].reshape(-1), ignore_index=IGNORED
        )
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        if (step + 1) % 100 == 0:
            print(f"step {step + 1}: loss {loss.item():.4f}")


def accuracy(network: Any, tokenizer: Any, split: Split) -> Accuracy:
    """Measure one split by teacher forcing.

    Given the right prefix, greedy decoding writes the right answer exactly if every answer token is the
    argmax, and sampling at temperature 1 writes it with the product of the tokens' probabilities.
    """
    rows = [example(tokenizer, pair, drop_carry=False) for pair in pairs_of(split, both_orders=False)]
    tokens = padded([row for row, _ in rows], tokenizer.pad_token_id)
    labels = padded([label for _, label in rows], IGNORED)[:, 1:]
    with torch.no_grad():
        logprobs = torch.log_softmax(network(input_ids=tokens, use_cache=False).logits[:, :-1], dim=-1)
    answered = labels != IGNORED
    right = (logprobs.argmax(dim=-1) == labels) | ~answered
    gathered = logprobs.gather(-1, labels.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    sampled = torch.where(answered, gathered, 0.0).sum(dim=-1).exp()
    return Accuracy(len(rows), right.all(dim=-1).float().mean().item(), sampled.mean().item())


def save(network: Any, tokenizer: Any, folder: Path) -> None:
    """Write the folder: weights as float16, which halves the file, and a tokenizer any transformers reads."""
    network.half().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    settings_path = folder / "tokenizer_config.json"
    settings = json.loads(settings_path.read_text(encoding="utf-8"))
    settings["tokenizer_class"] = "PreTrainedTokenizerFast"  # transformers 4 does not know the name 5 writes
    settings_path.write_text(json.dumps(settings, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def main() -> None:
    """Build the model, write it and print what was measured on the weights as written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder to write (default: the shipped one)")
    folder: Path = parser.parse_args().out
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    tokenizer = build_tokenizer()
    network = build_network(tokenizer)
    train(network, tokenizer)
    save(network, tokenizer, folder)
    network.float()  # the float16 weights again, as the service will read them
    digest = sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    print(json.dumps({"sha256": digest, "parameters": network.num_parameters()}))
    splits: tuple[Split, ...] = ("train", "validation", "test")
    for split in splits:
        print(split, accuracy(network, tokenizer, split))


if __name__ == "__main__":
    main()
