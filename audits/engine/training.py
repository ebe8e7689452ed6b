"""Training by step, as the rollouts and the loss tokens have it; figures of another tool are not among them."""

from dataclasses import dataclass

from audits.store.reader import Run, connect

_COLUMNS = (
    "arm, seed, step, mean_reward, completion_tokens, truncated_share, one_reward_share, sampled_surprisal, rollouts, "
    "loss_tokens"
)


@dataclass(frozen=True)
class TrainingStep:
    """One rollout step of one seed of an arm; a figure is None where its table was not logged for the step.

    Attributes:
        mean_reward: mean reward of the rollouts.
        completion_tokens: mean length of the rollouts, in tokens.
        truncated_share: share of the rollouts that ended at the token limit.
        one_reward_share: share of the groups in which every rollout got the same reward; they carry no gradient.
        sampled_surprisal: mean of -log of the sampled token's probability over the loss tokens, in nats.
        rollouts: completions of the step.
        loss_tokens: rows of the step in the token log, all updates together.
    """

    arm: str
    seed: int
    step: int
    mean_reward: float | None
    completion_tokens: float | None
    truncated_share: float | None
    one_reward_share: float | None
    sampled_surprisal: float | None
    rollouts: int | None
    loss_tokens: int | None


def training_steps(run: Run) -> tuple[TrainingStep, ...]:
    """Return every logged step, sorted by arm, seed and step; empty where neither rollouts nor tokens were logged.

    Raises:
        AuditError: a file of the run is damaged.
    """
    if not (run.has("rollouts") or run.has("tokens")):
        return ()
    with connect(run) as connection:
        rows = connection.execute(f"SELECT {_COLUMNS} FROM training_steps ORDER BY arm, seed, step").fetchall()
    return tuple(TrainingStep(*row) for row in rows)
