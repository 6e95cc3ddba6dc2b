"""Owners whose decision is a report of their cost, learned over rounds of a mechanism."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

import mesa
import numpy as np

from agents.traders import Draws, MarketAgent, read_column
from market.procurement.cost_laws import CostLaw
from market.procurement.mechanism import ProcurementMechanism, surplus_of
from market.procurement.played import ROUNDS, Learning, Played, select_played
from market.procurement.strategies import REPORTS, ReportingGame


class ReportingOwner(MarketAgent):
    """An owner who draws a cost each round, reports one, sells and is paid."""

    cost = read_column("costs", "Its cost in the round.")
    report = read_column("reports", "Its reported cost.")
    epsilon = read_column("epsilon", "Its budget sold.")
    payment = read_column("payments", "Its payment.")
    surplus = read_column("surplus", "Its surplus.")

    def choose(self) -> None:
        """Report by the strategy that all owners have learned so far."""
        market = self.model
        cost = market.costs[self.number]
        report = market.learning.strategy.report(cost, market.mixing[self.number])
        market.reports[self.number] = float(report)


class ReportingMarket(mesa.Model):
    """A mechanism that buys from the same owners every round, while they learn to report.

    Owners differ in their costs alone, drawn anew in each round, and learn from the outcomes of
    similar owners in markets drawn for the round (`market.procurement.played.Learning`). So one
    strategy serves all, and no owner learns another's cost.

    Parameters
    ----------
    mechanism : ProcurementMechanism
    law : CostLaw, of the owners' costs, which all know
    n_owners : int
    seed : int
        One more owner at the end changes no other owner's costs.
    max_rounds : int

    Attributes
    ----------
    costs, reports, epsilon, payments, surplus : (n_owners,), of the last round
    learning : Learning, with the strategy in use
    owners : list of ReportingOwner

    >>> from market.procurement.cost_laws import Uniform
    >>> from market.procurement.offers import PostedPrice
    >>> market = ReportingMarket(PostedPrice(3.0, 0.6, 1.0), Uniform(), 3, seed=1)
    >>> found = market.run(searched=100_000)
    >>> found.learning, found.rounds, found.certificate.loss
    ('best_response', 3, 0.0)
    >>> (market.reports == market.costs).all().item()
    True
    """

    def __init__(
        self,
        mechanism: ProcurementMechanism,
        law: CostLaw,
        n_owners: int,
        *,
        seed: int = 0,
        max_rounds: int = ROUNDS,
    ) -> None:
        super().__init__(seed=seed)
        self.game = ReportingGame(mechanism, law, n_owners)
        self.max_rounds = max_rounds
        self.learning = Learning(self.game, seed=seed)
        self.draws = Draws(seed)
        self.costs, self.mixing, self.reports, self.epsilon, self.payments, self.surplus = np.zeros(
            (6, n_owners)
        )
        self.owners = [ReportingOwner(self, number) for number in range(n_owners)]
        self.datacollector = mesa.DataCollector(
            model_reporters=MODEL_REPORTERS, agenttype_reporters={ReportingOwner: OWNER_REPORTERS}
        )

    def step(self) -> None:
        """Play a round: draw costs, report, settle, and learn."""
        mechanism = self.game.mechanism
        levels, self.mixing = self.draws.draw_uniform("costs", self.steps, len(self.owners), 2).T
        self.costs = self.game.law.quantile(levels)
        for owner in self.owners:
            owner.choose()
        rng = self.learning.streams.rng("market", self.steps)
        chances = mechanism.draw(len(self.owners), rng=rng)
        self.epsilon, self.payments = mechanism.settle(self.reports, chances)
        self.surplus = surplus_of(self.epsilon, self.payments, self.costs)
        self.datacollector.collect(self)
        self.learning.play_round()
        self.running = not self.learning.at_rest and self.steps < self.max_rounds

    def run(self, searched: int = REPORTS) -> Played:
        """Play until no owner moves or ``max_rounds``; return the strategy and its certificate.

        Parameters
        ----------
        searched : int, optional
            Largest number of reports settled for the certificate.
        """
        self.run_model()
        return select_played([("best_response", self.learning)], searched=searched)


# Functions, never names: Mesa's collector records None for a name that it does not know.
MODEL_REPORTERS: dict[str, Callable[[ReportingMarket], float]] = {
    "round": lambda market: market.steps,
    "spend": lambda market: float(market.payments.sum()),
    "markup": lambda market: (
        float(market.reports.sum() - market.costs.sum()) / market.game.n_owners
    ),
}
OWNER_COLUMNS = ("cost", "report", "epsilon", "payment", "surplus")
OWNER_REPORTERS = {name: attrgetter(name) for name in OWNER_COLUMNS}
