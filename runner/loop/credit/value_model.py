"""A critic in training: values of states before the update, then epochs towards the batch's returns."""

import io
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from analysis.losses.value import value_loss
from analysis.plan.advantages import Critic
from runner.loop.credit.critics import build_critic, parameter_count

if TYPE_CHECKING:
    import torch

_MINIBATCH = 256


class ValueModel:
    """A critic with its optimiser, on hidden states of one width.

    Args:
        settings: capacity and training.
        hidden_size: numbers of one hidden state.
        seed: of its weights and of the order of its minibatches.
    """

    def __init__(self, settings: Critic, hidden_size: int, seed: int) -> None:
        self.settings, self.hidden_size = settings, hidden_size
        self._network = build_critic(settings.capacity, hidden_size, seed)
        self._order = np.random.default_rng(seed)
        self._optimizer = self._fresh_optimizer()

    @property
    def parameters(self) -> int:
        """How many numbers are trained."""
        return parameter_count(self._network)

    def values(self, states: NDArray[np.float32]) -> NDArray[np.float64] | None:
        """Return the value of each state, shape (n,); None where there is no network.

        Args:
            states: shape (n, hidden_size).
        """
        import torch

        if self._network is None:
            return None
        with torch.no_grad():
            return np.asarray(self._network(torch.from_numpy(states)).squeeze(-1).numpy(), np.float64)

    def fit(self, states: NDArray[np.float32], returns: NDArray[np.float64]) -> None:
        """Train on one batch of states.

        Args:
            states: shape (n, hidden_size).
            returns: what their values should be, shape (n,).
        """
        import torch

        if self._network is None or self._optimizer is None or not len(states):
            return
        inputs, targets = torch.from_numpy(states), torch.from_numpy(returns.astype(np.float32))
        with torch.no_grad():
            before = self._network(inputs).squeeze(-1)
        for _ in range(self.settings.epochs):
            for members in np.array_split(self._order.permutation(len(states)), -(-len(states) // _MINIBATCH)):
                part = torch.from_numpy(members)
                loss = value_loss(
                    self._network(inputs[part]).squeeze(-1), targets[part], before[part], self.settings.value_clip
                )
                self._optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]  # torch ships no type for it
                self._optimizer.step()

    def saved(self) -> bytes:
        """Return weights, optimiser state and the state of the minibatches' order."""
        import torch

        held: dict[str, Any] = {"order": self._order.bit_generator.state}
        if self._network is not None and self._optimizer is not None:
            held |= {"network": self._network.state_dict(), "optimizer": self._optimizer.state_dict()}
        content = io.BytesIO()
        torch.save(held, content)
        return content.getvalue()

    def restore(self, content: bytes) -> None:
        """Take up what `saved` returned; nothing in it is executed."""
        import torch

        held = torch.load(io.BytesIO(content), weights_only=True)
        self._order.bit_generator.state = held["order"]
        if self._network is not None and self._optimizer is not None:
            self._network.load_state_dict(held["network"])
            self._optimizer.load_state_dict(held["optimizer"])

    def _fresh_optimizer(self) -> "torch.optim.Optimizer | None":
        import torch

        if self._network is None:
            return None
        return torch.optim.AdamW(self._network.parameters(), lr=self.settings.learning_rate, weight_decay=0.0)
