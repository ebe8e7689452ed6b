"""A Tinker-compatible service on loopback: any local Hugging Face causal model, LoRA, one worker thread."""
