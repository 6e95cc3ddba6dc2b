"""A market that repeats: owners join, leave and come back, and what they sell adds up against a budget for all periods.

The model orders the periods, owners decide whether they stay, the collector records. In each period those present play the
game of that period; what it is, how it settles and what is done with what was sold are callables, so that nothing here knows
of records or scenarios.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import mesa
import numpy as np

from agents.draws import Draws, as_seed
from agents.model import DataMarket
from agents.owner import MarketAgent
from learning.privacy.laplace import Laplace
from learning.privacy.lifetime import Lifetime
from market.analysis.assessment import gain_by_coming_back
from market.analysis.regulation import cap_epsilon
from market.analysis.welfare import participation
from market.equilibrium.solver import Equilibrium
from market.game.game import Game

GameOf = Callable[
    [int, Sequence[np.ndarray]], Game
]  # (period from 1, what was sold in each before (n_owners,)) -> its game
Settle = Callable[[Game], Equilibrium]
Trade = Callable[[int, Game, Equilibrium], Any]  # (period, game, where it settled): trains, charges, counts


@dataclass(frozen=True)
class Period:
    """What happened in one period; every column (n_owners,), of all owners, whoever is in the market.

    Parameters
    ----------
    number : the period, from 1.
    game : its game, absent owners and what is left of budgets counted.
    equilibrium : where it settled.
    present : whether each is in the market.
    joined, left : names of those who came, or came back, and who left, as it began.
    sold : epsilon that its answers may spend; 0 where nothing was asked.
    total : epsilon spent with it, over all periods so far.
    remaining : epsilon that could still be sold after it; inf without a limit.
    surplus : money each has of it.
    outcome : what was made of it.
    """

    number: int
    game: Game = field(repr=False)
    equilibrium: Equilibrium = field(repr=False)
    present: np.ndarray
    joined: tuple[str, ...]
    left: tuple[str, ...]
    sold: np.ndarray
    total: np.ndarray
    remaining: np.ndarray
    surplus: np.ndarray
    outcome: Any = field(default=None, repr=False)


class Participant(MarketAgent):
    """One owner over all periods; the same agent, with the same unique_id, leaves the model and comes back.

    Parameters
    ----------
    model : MarketOverTime
    number : int
        Its place among the owners of the game.
    """

    def __init__(self, model: Any, number: int) -> None:
        super().__init__(model)
        self.number, self.below = number, 0
        self.remove()  # until it joins

    @property
    def name(self) -> str:
        """The owner's name."""
        return self.model.names[self.number]

    @property
    def epsilon(self) -> float:
        """What it sold in the period."""
        return self._of("sold")

    @property
    def total(self) -> float:
        """What it has spent so far, over all periods."""
        return self._of("total")

    @property
    def remaining(self) -> float:
        """What it could still sell; inf without a limit."""
        return self._of("remaining")

    @property
    def payment(self) -> float:
        """Money it was paid in the period."""
        return float(self.model.history[-1].equilibrium.payments[self.number])

    @property
    def surplus(self) -> float:
        """Money it had of the period."""
        return self._of("surplus")

    def come(self) -> None:
        """Join the market, or come back to it, as the last in it."""
        self.below = 0
        self.model.register_agent(self)

    def go(self) -> None:
        """Leave the market."""
        self.remove()

    def leaves(self) -> bool:
        """Whether it has been below its outside option for so long that it goes."""
        return self.model.patience is not None and self.below >= self.model.patience

    def look_back(self, content: bool) -> None:
        """Count the periods in a row in which it had less than its outside option."""
        self.below = 0 if content else self.below + 1

    def _of(self, column: str) -> float:
        return float(getattr(self.model.history[-1], column)[self.number])


class MarketOverTime(mesa.Model):
    """Owners who play a game again and again, join it, leave it, and spend of one budget in all of it.

    A step is a period. As it begins, owners whose period it is join; who had less than its outside option (0) in ``patience``
    periods in a row leaves; and who has left comes back where that would pay, the others as they were in the last period.
    Then those present settle, each selling at most what is left to it, and the others sell nothing.

    Parameters
    ----------
    game : Game, or callable(period, sold) -> Game
        Of all owners, whoever is present, in each period; the same in all of them, or made for each.
    periods : int
    entry : (n_owners,), optional
        The period in which each joins, from 1; beyond the last, it never does. All are there from the first unless given.
    patience : int, optional
        Periods in a row below its outside option after which an owner leaves; nobody leaves unless given.
    returns : bool
        Whether who has left may come back.
    lifetime : Lifetime, optional
        What each may spend in all, and how it is counted; no limit unless given.
    settle : callable(game) -> Equilibrium, optional
        Where a period settles; that of a `DataMarket` unless given.
    trade : callable(period, game, equilibrium), optional
        What is done with what is sold, before it counts as spent; what it returns is kept. Nothing is counted if it raises.
    rng : int or numpy.random.Generator
        Given to the `DataMarket` of every period; nothing else is drawn.

    Attributes
    ----------
    history : list of Period
    everyone : list of Participant, of all owners, those not in the market too; ``agents`` holds those who are

    Raises
    ------
    ValueError
        No period, a patience below 1, or periods of entry that do not fit the owners.

    Source: free entry and exit as in Hopenhayn (1992), with myopic owners; budgets over time as a privacy filter, Rogers et
    al., Privacy Odometers and Filters (2016), here of budgets that are known before any answer.

    >>> from market.costs.functions import Linear
    >>> from market.game.owners import Owners
    >>> from market.policies.proportional import Proportional
    >>> game = Game(Owners(("A", "B"), 1, 0.0, 20.0, Linear([1.0, 2.0])), Proportional(9.0, "epsilon"), None, 0.0)
    >>> spend = Lifetime(Laplace(), np.array([5.0, 5.0]))
    >>> told = MarketOverTime(game, periods=3, lifetime=spend, rng=1).run()
    >>> [one.sold.round(6).tolist() for one in told]
    [[2.0, 1.0], [2.0, 1.0], [1.0, 1.12132]]
    """

    def __init__(
        self,
        game: Game | GameOf,
        *,
        periods: int,
        rng: int | np.random.Generator,
        entry: np.ndarray | None = None,
        patience: int | None = None,
        returns: bool = True,
        lifetime: Lifetime | None = None,
        settle: Settle | None = None,
        trade: Trade | None = None,
    ) -> None:
        if periods < 1 or (patience is not None and patience < 1):
            raise ValueError(f"periods and patience must be at least 1; found {periods} and {patience}")
        seed = as_seed(rng)
        super().__init__(rng=seed)
        self.periods, self.patience, self.returns = periods, patience, returns
        self.game_of: GameOf = game if callable(game) else lambda period, sold: game
        self.names = self.game_of(1, ()).owners.names
        count = len(self.names)
        self.entry = np.ones(count, dtype=int) if entry is None else np.asarray(entry)
        if self.entry.shape != (count,):
            raise ValueError(f"entry must be {count} periods, one per owner; found {self.entry.tolist()}")
        self.lifetime = lifetime or Lifetime(Laplace(), np.full(count, np.inf))
        self.settle: Settle = settle or (lambda now: DataMarket(now, rng=seed).run())
        self.trade: Trade = trade or (lambda period, now, found: None)
        self.history: list[Period] = []
        self.everyone = [Participant(self, number) for number in range(count)]
        self.datacollector = mesa.DataCollector(model_reporters=MODEL_REPORTERS, agent_reporters=OWNER_REPORTERS)

    @property
    def present(self) -> np.ndarray:
        """Whether each owner is in the market (n_owners,)."""
        return np.array([owner in self.agents for owner in self.everyone])

    @property
    def sold(self) -> np.ndarray:
        """Epsilon that was sold in each period so far, (periods, n_owners)."""
        return np.array([one.sold for one in self.history]).reshape(-1, len(self.names))

    def step(self) -> None:
        """One period: owners leave and come, those present settle, what is sold is traded and counted."""
        number, before = len(self.history) + 1, self.sold
        game, most = self.game_of(number, tuple(before)), self.lifetime.most(before, self.periods - len(before))
        left, joined = self._turn_over(_at_most(game, most))
        now = _at_most(game, np.where(self.present, most, 0.0))
        found = self.settle(now)
        outcome = self.trade(number, now, found)
        sold = found.epsilon if now.asks(found.epsilon) else np.zeros_like(found.epsilon)
        spent = np.vstack([before, sold])
        rest = self.lifetime.most(spent, max(self.periods - number, 1))
        total, part = self.lifetime.total(spent), participation(now, found.epsilon)
        made = (number, now, found, self.present, joined, left, sold, total, rest, part.surplus, outcome)
        self.history.append(Period(*made))
        for owner in self.agents:
            owner.look_back(bool(part.rational[owner.number]))
        self.running = number < self.periods
        self.datacollector.collect(self)

    def run(self) -> list[Period]:
        """All periods that are left."""
        self.run_model()
        return self.history

    def _turn_over(self, game: Game) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Who leaves as the next period begins, and who joins or comes back, by name."""
        out = [owner for owner in self.everyone if owner not in self.agents]
        leaving = [owner for owner in self.agents if owner.leaves()]
        for owner in leaving:
            owner.go()
        number, gain = len(self.history) + 1, self._by_coming_back(game, [owner.number for owner in out])
        coming = [owner for owner in out if self.entry[owner.number] == number or gain[owner.number] > 0]
        for owner in coming:
            owner.come()
        return tuple(owner.name for owner in leaving), tuple(owner.name for owner in coming)

    def _by_coming_back(self, game: Game, out: Sequence[int]) -> np.ndarray:
        """Money that each who had left would have by coming back alone, the others as they were, (n_owners,); else 0."""
        gain, gone = np.zeros(len(self.names)), [number for number in out if self.entry[number] <= len(self.history)]
        if gone and self.returns:
            last = np.where(self.present, self.history[-1].sold, 0.0)
            as_before = np.clip(last, np.where(last > 0, game.owners.epsilon_min, 0.0), game.owners.epsilon_max)
            gain[gone] = gain_by_coming_back(game, as_before, np.array(gone))[1]
        return gain


def _at_most(game: Game, most: np.ndarray) -> Game:
    """The game in which nobody may sell more (n_owners,); itself where nobody could."""
    held_back = most < game.owners.epsilon_max
    return cap_epsilon(game, np.minimum(most, game.owners.epsilon_max)) if held_back.any() else game


def arrivals(rate: float, n_owners: int, *, seed: int) -> np.ndarray:
    """The period in which each of some owners joins that come one by one, each by a Poisson clock of its own, (n_owners,).

    Parameters
    ----------
    rate : float
        How often the clock strikes in a period, above 0; the first stroke falls into the period in which the owner joins,
        counted from the second on.
    n_owners : int
    seed : int

    >>> few, many = (arrivals(0.5, count, seed=1).tolist() for count in (2, 4))
    >>> few == many[:2], min(many) >= 2
    (True, True)
    """
    waiting = -np.log1p(-Draws(seed).uniform("arrivals", 0, n_owners)[:, 0]) / rate
    return 2 + np.floor(np.minimum(waiting, 2.0**40)).astype(int)


# Functions, never names: for a name it does not know, Mesa's collector records None without a word.
MODEL_REPORTERS: dict[str, Callable[[MarketOverTime], float]] = {
    "period": lambda market: market.history[-1].number,
    "present": lambda market: len(market.agents),
    "fitness": lambda market: market.history[-1].game.fitness(market.history[-1].equilibrium.epsilon),
    "total_payments": lambda market: float(market.history[-1].equilibrium.payments.sum()),
}
OWNER_REPORTERS = {
    name: attrgetter(name) for name in ("name", "epsilon", "total", "remaining", "payment", "surplus", "below")
}
