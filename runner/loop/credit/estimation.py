"""The credit of a batch's tokens, as an arm's plan says it: by group means, or by its critic."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.advantages.generalized import generalized_advantages
from analysis.advantages.normalized import normalized
from analysis.plan.advantages import Advantage
from runner.loop.backend import Backend
from runner.loop.credit.hidden_states import hidden_states
from runner.loop.credit.value_model import ValueModel
from runner.loop.policy import Policy
from runner.loop.sampling import RolloutBatch

Rows = tuple[NDArray[np.float64], ...]


@dataclass(frozen=True)
class Credit:
    """The advantages of one batch, one array a rollout with a number a token.

    Attributes:
        advantages: what the loss is multiplied with.
        raw: before the normalisation.
        values: the critic's value before each token, from before it was trained on this batch; None without a critic.
    """

    advantages: Rows
    raw: Rows
    values: Rows | None = None


def group_credit(batch: RolloutBatch) -> Credit:
    """Return the reward minus the group's mean, the same for each token of a rollout."""
    spread = tuple(
        np.full(len(sample.token_ids), advantage)
        for sample, advantage in zip(batch.samples, batch.advantages, strict=True)
    )
    return Credit(spread, spread)


class CriticCredit:
    """Credit by generalised advantage estimation with a critic that learns from each batch.

    Args:
        settings: of the plan.
        seed: the arm's.
    """

    def __init__(self, settings: Advantage, seed: int) -> None:
        self._settings, self._seed = settings, seed
        self._model: ValueModel | None = None

    def credit(self, backend: Backend, policy: Policy, batch: RolloutBatch) -> Credit:
        """Return the batch's credit, then train the critic towards its returns.

        Raises:
            AuditError: the service does not answer hidden states, or failed.
        """
        lengths = [len(sample.token_ids) for sample in batch.samples]
        rewards = np.array([sample.grade.reward for sample in batch.samples])
        states = hidden_states(backend, policy, batch.samples)
        laid_out = np.concatenate([part for part in states if len(part)])
        model = self._taken_up(laid_out.shape[1])
        values = model.values(laid_out)
        if values is None:
            values = np.full(len(laid_out), rewards.mean())
        found = generalized_advantages(
            rewards, values, lengths, discount=self._settings.discount, decay=self._settings.decay
        )
        model.fit(laid_out, found.returns)
        used = normalized(found.advantages, self._settings.normalization)
        return Credit(*(_by_rollout(column, lengths) for column in (used, found.advantages, values)))

    @property
    def described(self) -> dict[str, Any]:
        """What `run.json` keeps of the critic; empty before the first batch."""
        if self._model is None:
            return {}
        return {
            "capacity": self._settings.critic.capacity,
            "parameters": self._model.parameters,
            "hidden_size": self._model.hidden_size,
        }

    def saved(self) -> tuple[int, bytes] | None:
        """Return the hidden states' width and the critic's state; None before the first batch."""
        return None if self._model is None else (self._model.hidden_size, self._model.saved())

    def restore(self, hidden_size: int, content: bytes) -> None:
        """Take up a critic as `saved` gave it."""
        self._model = ValueModel(self._settings.critic, hidden_size, self._seed)
        self._model.restore(content)

    def _taken_up(self, hidden_size: int) -> ValueModel:
        if self._model is None:
            self._model = ValueModel(self._settings.critic, hidden_size, self._seed)
        return self._model


def _by_rollout(column: NDArray[np.float64], lengths: list[int]) -> Rows:
    return tuple(np.split(column, np.cumsum(lengths)[:-1]))
