"""Owners whose decision is a report: a mechanism bought from round by round, while they learn what cost to report."""

from __future__ import annotations

from collections.abc import Callable
from operator import methodcaller
from typing import Any

import mesa
import numpy as np

from agents.draws import Draws
from agents.owner import MarketAgent
from market.procurement.certificate import REPORTS
from market.procurement.cost_laws import CostLaw
from market.procurement.mechanism import ProcurementMechanism
from market.procurement.mechanisms import surplus_of
from market.procurement.played import ROUNDS, Learning, Played, settled
from market.procurement.strategies import ReportingGame, Strategy


class ReportingOwner(MarketAgent):
    """An owner who draws a cost each round, reports one, sells and is paid; its state is its row of the market's columns.

    Parameters
    ----------
    model : ReportingMarket
    number : int, its place among the owners
    """

    def __init__(self, model: Any, number: int) -> None:
        super().__init__(model)
        self.number = number

    def of(self, column: str) -> float:
        """Its own number in a column of the market."""
        return float(getattr(self.model, column)[self.number])

    def choose(self) -> None:
        """Report what the strategy that all owners have learned so far says of its cost."""
        market = self.model
        report = market.learning.strategy.report(market.costs[self.number], market.mixing[self.number])
        market.reports[self.number] = float(report)


class ReportingMarket(mesa.Model):
    """A mechanism that buys from the same owners round after round, at costs drawn anew, while they learn what to report.

    Owners are alike but for their costs, and learn alike: from what happened to owners like them in markets drawn for the
    round (`market.procurement.played.Learning`). So one strategy serves all, and no owner learns another's cost.

    Parameters
    ----------
    mechanism : ProcurementMechanism
    law : CostLaw, of the owners' costs, which all know
    n_owners : int
    seed : int
        An owner more at the end changes no other owner's costs.
    learning : str, a name in `market.procurement.report_learning.LEARNING`
    start : Strategy, optional
        What they begin with; the truth unless given.
    max_rounds : int

    Attributes
    ----------
    costs, reports, epsilon, payments, surplus : (n_owners,), of the last round
    learning : Learning, with the strategy they go by
    owners : list of ReportingOwner

    >>> from market.procurement.cost_laws import Uniform
    >>> from market.procurement.offers import PostedPrice
    >>> market = ReportingMarket(PostedPrice(3.0, 0.6, 1.0), Uniform(), 3, seed=1)
    >>> found = market.run(searched=100_000)
    >>> found.learning, found.rounds, found.certificate.loss, (market.reports == market.costs).all().item()
    ('best_response', 3, 0.0, True)
    """

    def __init__(
        self,
        mechanism: ProcurementMechanism,
        law: CostLaw,
        n_owners: int,
        *,
        seed: int = 0,
        learning: str = "best_response",
        start: Strategy | None = None,
        max_rounds: int = ROUNDS,
    ) -> None:
        super().__init__(seed=seed)
        self.game, self.max_rounds, self.number = ReportingGame(mechanism, law, n_owners), max_rounds, seed
        self.learning = Learning(self.game, seed=seed, learning=learning, start=start)
        self.way, self.draws = learning, Draws(seed)
        self.costs, self.mixing, self.reports, self.epsilon, self.payments, self.surplus = np.zeros((6, n_owners))
        self.owners = [ReportingOwner(self, number) for number in range(n_owners)]
        self.datacollector = mesa.DataCollector(
            model_reporters=MODEL_REPORTERS, agenttype_reporters={ReportingOwner: OWNER_REPORTERS}
        )

    def step(self) -> None:
        """One round: costs are drawn, owners report, the mechanism settles, and owners learn."""
        law, mechanism = self.game.law, self.game.mechanism
        levels, self.mixing = self.draws.uniform("costs", self.steps, len(self.owners), 2).T
        self.costs = law.quantile(levels)
        for owner in self.owners:
            owner.choose()
        streams = self.learning.streams
        chances = mechanism.draw(len(self.owners), rng=streams.rng("market", self.steps))
        self.epsilon, self.payments = mechanism.settle(self.reports, chances)
        self.surplus = surplus_of(self.epsilon, self.payments, self.costs)
        self.datacollector.collect(self)
        self.learning.turn()
        self.running = not self.learning.at_rest and self.steps < self.max_rounds

    def run(self, searched: int = REPORTS) -> Played:
        """Rounds until nobody moves, or as many as there may be; what was learned, with its certificate.

        Parameters
        ----------
        searched : int, optional
            Reports settled for the certificate, at most.
        """
        self.run_model()
        return settled([(self.way, self.learning)], searched=searched)


# Functions, never names: for a name it does not know, Mesa's collector records None without a word.
MODEL_REPORTERS: dict[str, Callable[[ReportingMarket], float]] = {
    "round": lambda market: market.steps,
    "spend": lambda market: float(market.payments.sum()),
    "markup": lambda market: float(market.reports.sum() - market.costs.sum()) / market.game.n_owners,
}
COLUMNS = {"cost": "costs", "report": "reports", "epsilon": "epsilon", "payment": "payments", "surplus": "surplus"}
OWNER_REPORTERS = {name: methodcaller("of", column) for name, column in COLUMNS.items()}
