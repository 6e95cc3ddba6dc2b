"""The learner: posts a policy, forecasts, pays, then trains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from agents.owner import MarketAgent

Train = Callable[[np.ndarray], object]  # at budgets (n_owners,), to whatever it made; records stay behind it


class Learner(MarketAgent):
    """Who buys privacy budgets and trains with them.

    Parameters
    ----------
    model : DataMarket
    train : callable(epsilon), optional
        Called once the market has ended, with a copy of its budgets.

    Attributes
    ----------
    trained : object
        What ``train`` gave back; None before.
    """

    def __init__(self, model: Any, train: Train | None = None) -> None:
        super().__init__(model)
        self._train = train
        self.trained: object = None

    def post(self, policy: Any) -> None:
        """Replace the posted policy; the market opens again from where it stands."""
        self.model.open(policy)

    def forecast(self) -> float:
        """Relative fitness it expects of the model that the present budgets buy."""
        return self.model.game.fitness(self.model.epsilon)

    def pay(self) -> np.ndarray:
        """Money that the posted policy owes each owner at the present budgets (n_owners,)."""
        return self.model.game.payments(self.model.epsilon)

    def train(self) -> object:
        """Train at the present budgets, if there is something to train with, and keep what comes out."""
        if self._train is not None:
            self.trained = self._train(self.model.epsilon.copy())
        return self.trained
