"""A Tinker-compatible service on loopback: any local Hugging Face causal model, LoRA, one worker thread.

On the CPU a request's numbers are a function of the request and the weights alone: one sampling request is one
batch, the split of a training request depends on that request, everything is float32 on one thread. On a GPU
waiting sampling requests share a batch: the same seeds draw with the same numbers, the last bits may differ.
With a bfloat16 base the difference is no matter of last bits: on SmolLM2 a trained log-probability stood up to
0.5 nats from the sampled one before any update (7e-5 in float32), so ratios and masks start with that noise.

What to know:
    `SamplingClient.get_tokenizer` of SDK 0.38 looks only at the base model's name. It works offline where the
    client named the base model by its absolute folder, which the service accepts beside its name;
    `TrainingClient.get_tokenizer` always works.
    A loss that `ServiceClient.create_custom_loss` traced is uploaded and run here, by an interpreter of a graph that
    calls listed operations alone (`custom_losses/operations.py`), for the session that created it. It is given each
    datum apart, on the CPU, as the SDK gives it to a loss that it runs itself: both have the same numbers.
    Saved checkpoints, sessions, their uploaded losses and their sampling sessions on named weights outlive the
    service, however it ends. A training run does not: its optimiser steps are in memory, so a client goes on from
    the last saved state. The last 16 unnamed sampler snapshots of a run are kept, in memory.
    Not served, and refused when asked for: images and audio, full fine-tuning, the losses gspo and
    stable_reinforce (and what they need recorded), inflight sampling clients.
"""
