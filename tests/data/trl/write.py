"""Trains a random model of two layers for three steps with TRL's GRPOTrainer, which logs its completions.

`pip install trl accelerate`, then `python tests/data/trl/write.py`.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

QUESTIONS = {"What is 1+1?": "2", "What is 2+3?": "5", "What is 4+4?": "8", "What is 9-3?": "6"}


def length_reward(completions, **_):
    """A shorter completion is better."""
    return [-len(_text(completion)) / 100 for completion in completions]


def digit_reward(completions, solution, log_extra=None, **_):
    """Share of characters that are digits; logs the solution beside the completion."""
    if log_extra is not None:
        log_extra("solution", list(solution))
    texts = [_text(completion) for completion in completions]
    return [sum(character.isdigit() for character in text) / max(1, len(text)) for text in texts]


def train(folder, *, conversation=False, rewards=(digit_reward, length_reward), **settings):
    """Write completions and the trainer's state under a folder.

    Args:
        folder: where.
        conversation: whether prompts are messages.
        rewards: reward functions.
        settings: further settings of GRPOConfig.
    """
    import torch
    from datasets import Dataset
    from transformers import LlamaConfig, LlamaForCausalLM
    from trl import GRPOConfig, GRPOTrainer

    from runner.service.models.build_tiny_addition import build_tokenizer

    tokenizer = build_tokenizer()
    tokenizer.pad_token = tokenizer.eos_token
    tokenizer.chat_template = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=264, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=128, eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id, initializer_range=0.5,
        )
    )  # fmt: skip
    prompts = [[{"role": "user", "content": text}] if conversation else text for text in QUESTIONS]
    arguments = GRPOConfig(
        output_dir=str(folder), per_device_train_batch_size=4, num_generations=2, max_completion_length=8,
        max_steps=3, logging_steps=1, log_completions=True, report_to=[], save_strategy="no", use_cpu=True, seed=1,
        learning_rate=1e-3, **settings,
    )  # fmt: skip
    trainer = GRPOTrainer(
        model=model, reward_funcs=list(rewards), args=arguments, processing_class=tokenizer,
        train_dataset=Dataset.from_dict({"prompt": prompts, "solution": list(QUESTIONS.values())}),
    )  # fmt: skip
    trainer.train()
    trainer.save_state()


def _text(completion):
    return completion if isinstance(completion, str) else completion[0]["content"]


if __name__ == "__main__":
    os.environ["HF_HUB_OFFLINE"] = "1"
    sys.path.insert(0, str(Path(__file__).parents[3]))
    here = Path(__file__).parent
    for name, settings in {"text": {}, "conversation": {"conversation": True, "rewards": [digit_reward]}}.items():
        with tempfile.TemporaryDirectory() as folder:
            train(folder, **settings)
            shutil.copytree(Path(folder, "completions"), here / name / "completions", dirs_exist_ok=True)
            shutil.copy(Path(folder, "trainer_state.json"), here / name)
