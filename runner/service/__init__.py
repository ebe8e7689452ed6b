"""A Tinker-compatible service on loopback: any local Hugging Face causal model, LoRA, one worker thread.

A request's numbers are a function of the request and the weights alone: one sampling request is one batch,
the split of a training request depends on that request, everything is float32 on one thread.

What to know:
    `SamplingClient.get_tokenizer` of SDK 0.38 looks only at the base model's name. It works offline where the
    client named the base model by its absolute folder, which the service accepts beside its name;
    `TrainingClient.get_tokenizer` always works.
    Runs and sampling sessions live as long as the server; saved checkpoints outlive it. `ttl_seconds` is not
    enforced. The last 16 unnamed sampler snapshots of a run are kept.
    Not served, and refused when asked for: images and audio, full fine-tuning, the losses gspo,
    stable_reinforce and uploaded custom ones, inflight sampling clients, and log-probabilities of other
    prompt tokens than the prompt's own.
"""
