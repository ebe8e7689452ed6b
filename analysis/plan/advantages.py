"""The blocks of a plan that say where advantages come from, and how they are measured."""

from typing import Literal

from pydantic import Field

from analysis.plan.part import Count, PlanPart, Positive, Share

Capacity = Literal["none", "small", "medium", "large"]


class Critic(PlanPart):
    """What estimates the value of a state, from the policy's own hidden states."""

    capacity: Capacity = Field(
        description="none: the batch's mean reward (REINFORCE); small: an MLP of two layers; medium: one linear head; "
        "large: a deep MLP (docs/critics.md)"
    )
    learning_rate: Positive = Field(description="of the critic's own AdamW; without effect for none")
    epochs: Count = Field(description="passes over each batch's states")
    value_clip: Positive | None = Field(
        default=None, description="how far a value may move from the one before the epochs; null: freely"
    )


class Advantage(PlanPart):
    """Advantages of tokens by generalised advantage estimation: a reward at the end, a critic's values before it."""

    critic: Critic
    discount: Share = Field(default=1.0, description="gamma")
    decay: Share = Field(default=1.0, description="lambda; below 1 a constant error of the critic reaches the update")
    normalization: Literal["none", "mean", "z_score"] = Field(
        description="what is taken from a batch's advantages before the update: their mean, or mean and scale"
    )


class AdvantageMeasurement(PlanPart):
    """How a critic's advantages are compared with Monte Carlo estimates from fresh rollouts of the same states."""

    every_steps: Count = Field(description="rollout steps between two measurements; step 0 is the first")
    states: Count = Field(description="tokens of a batch, drawn by the arm's seed")
    rollouts: int = Field(ge=2, description="fresh completions of a state; their spread gives the standard error")
