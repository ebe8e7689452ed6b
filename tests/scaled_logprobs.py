"""Log-probabilities of one model at two temperatures: what a sampler that scales its logits returns."""

import numpy as np
from made_logprobs import Sequences

VOCABULARY = 50


def scaled_sequences(temperature: float, step: int = 0, *, n_rollouts: int = 60, length: int = 12) -> Sequences:
    """Return the sampler's values at a temperature and the trainer's at 1, of tokens drawn at that temperature."""
    rng = np.random.default_rng(step)
    sharpness = rng.uniform(0.6, 5, (n_rollouts, length, 1))
    logits = rng.normal(size=(n_rollouts, length, VOCABULARY)) * sharpness
    sampler, current = _log_softmax(logits / temperature), _log_softmax(logits)
    drawn = (sampler + rng.gumbel(size=sampler.shape)).argmax(axis=-1)[..., None]
    return {
        "sampler": np.take_along_axis(sampler, drawn, -1)[..., 0],
        "current": np.take_along_axis(current, drawn, -1)[..., 0],
    }


def _log_softmax(logits: np.ndarray) -> np.ndarray:
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
