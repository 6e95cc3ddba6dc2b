"""The pieces of a run of a scenario, from which its result is counted up."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from learning.forecast.interval import Prediction
from learning.forecast.planner import Planner
from learning.training.engine import Trained
from market.equilibrium.solver import Equilibrium
from market.game.game import Game
from scenarios.players import as_played, divided
from scenarios.schema.loading import Scenario
from scenarios.tables.dataset import MarketData


@dataclass(frozen=True)
class Run:
    """What a run of a scenario comes to, piece by piece.

    Parameters
    ----------
    scenario: the scenario.
    data: the records of its owners.
    planner: the learner's protocol and forecast.
    game: the game of the owners, under the scenario's rules.
    equilibrium: where they came to rest.
    trained: the models trained there; None without training.
    """

    scenario: Scenario
    data: MarketData
    planner: Planner
    game: Game
    equilibrium: Equilibrium
    trained: Trained | None

    @property
    def epsilon(self) -> np.ndarray:
        """The privacy budgets that the owners settled on, (n_owners,)."""
        return self.equilibrium.epsilon

    @cached_property
    def playing(self) -> Game:
        """The game as those who choose see it: members of a union look at what all of them have."""
        return as_played(self.scenario, self.game)

    @cached_property
    def transfers(self) -> np.ndarray:
        """What each owner gets from its union, (n_owners,), money; below 0 where it gives."""
        return divided(self.scenario, self.game, self.epsilon)

    @cached_property
    def surplus(self) -> np.ndarray:
        """What each owner has in the end, (n_owners,), money."""
        return self.game.payoffs(self.epsilon) + self.transfers

    @cached_property
    def prediction(self) -> Prediction:
        """What may come of them: both models in every possible world."""
        return self.planner.predict(self.epsilon)

    @property
    def weights(self) -> np.ndarray:
        """How much each owner's answer counts there, (n_owners,)."""
        return self.planner.forecast.weights(self.epsilon)

    @property
    def asks(self) -> bool:
        """Whether anybody is asked anything there."""
        return bool(self.planner.forecast.plan(self.epsilon).asks and np.any(self.epsilon > 0))
