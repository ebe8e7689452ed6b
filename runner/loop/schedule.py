"""What is drawn when: the order of the training problems and the seed of every request.

Everything random comes from the arm's seed, so two arms with one seed see the same problems in the same order and
send the same seeds; what then differs between them is the loss.
"""

from hashlib import sha256

import numpy as np
from numpy.typing import NDArray


def training_order(n_problems: int, groups_per_batch: int, steps: int, seed: int | None) -> NDArray[np.int64]:
    """Return which problem each group of each step samples from.

    None is drawn twice before all were drawn once. With a seed each pass over the problems is a fresh permutation.

    Args:
        n_problems: problems of the training split, at least 1.
        groups_per_batch: groups a step.
        steps: rollout steps.
        seed: the arm's seed; None: every pass takes the problems in the order in which the task gives them.

    Returns:
        Indices into the training split, shape (steps, groups_per_batch).
    """
    wanted = steps * groups_per_batch
    passes = -(-wanted // n_problems)
    drawn = [
        np.arange(n_problems) if seed is None else np.random.default_rng([seed, number]).permutation(n_problems)
        for number in range(passes)
    ]
    return np.concatenate(drawn)[:wanted].reshape(steps, groups_per_batch)


def request_seed(seed: int, purpose: str, step: int, index: int) -> int:
    """Return the seed of one sampling request, 0 <= seed < 2^31.

    Args:
        seed: the arm's seed.
        purpose: `rollout` or `eval`: the two never share a seed.
        step: the rollout step, 0-based; -1 for an evaluation.
        index: the prompt's place in the step or in the evaluation.
    """
    digest = sha256(f"{purpose}:{seed}:{step}:{index}".encode("ascii")).digest()
    return int.from_bytes(digest[:4]) >> 1
