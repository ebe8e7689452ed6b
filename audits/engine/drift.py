"""Drift of the policy from the sampler, by arm, seed, step and update."""

from dataclasses import dataclass


@dataclass(frozen=True)
class DriftRow:
    """One minibatch update of one step of one arm; shares are over its loss tokens.

    Attributes:
        masked_share: share masked by the treatment's divergence rule, None without such a loss in the plan.
        clip_share: share with a binding (sign-aware) ratio clip of the baseline's eps, None without such a loss.
        abs_p_q50: median of |p_current - p_sampler|.
        abs_p_q90: 90th percentile of |p_current - p_sampler|.
        abs_p_q99: 99th percentile of |p_current - p_sampler|.
        reward: mean reward of the step's rollouts, None where rollouts were not logged.
    """

    arm: str
    seed: int
    step: int
    update: int
    loss_tokens: int
    masked_share: float | None
    clip_share: float | None
    abs_p_q50: float
    abs_p_q90: float
    abs_p_q99: float
    reward: float | None
