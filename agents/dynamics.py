"""A market over periods: owners join, leave and return, and spend of one budget in all periods.

The model orders the periods, owners decide whether they stay, the collector records. In each period
the owners present play the game of that period. The game, its settlement and the use of what was
sold are callables, so this module needs no records and no scenarios.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import mesa
import numpy as np

from agents.model import DataMarket
from agents.traders import Draws, MarketAgent, as_seed, read_column
from learning.privacy.laplace import Laplace
from learning.privacy.lifetime import Lifetime
from market.analysis.assessment import gain_by_coming_back
from market.analysis.regulation import cap_epsilon
from market.analysis.welfare import participation
from market.equilibrium.solver import Equilibrium
from market.game.game import Game

GameOf = Callable[[int, Sequence[np.ndarray]], Game]  # of the period and the earlier sales
Settle = Callable[[Game], Equilibrium]
Trade = Callable[[int, Game, Equilibrium], Any]  # of the period: trains, charges, counts


@dataclass(frozen=True)
class Period:
    """Outcome of one period; every column (n_owners,), of all owners, present or not.

    Parameters
    ----------
    number : the period, from 1.
    game : its game, with absent owners and remaining budgets taken into account.
    equilibrium : its settlement.
    present : whether each owner is in the market.
    joined, left : names of owners who joined or returned, and who left, as it began.
    sold : epsilon that its answers may spend; 0 where nothing was asked.
    total : epsilon spent with it, over all periods so far.
    remaining : epsilon that could still be sold after it; inf without a limit.
    surplus : each owner's surplus of it, money.
    outcome : result of its trade.
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


@dataclass(frozen=True)
class Turnover:
    """The coming and going of owners.

    Parameters
    ----------
    entry : (n_owners,), optional
        The period in which each joins, from 1; the first unless given; beyond the last, never.
    patience : int, optional
        Periods in a row below its outside option after which an owner leaves; none leaves unless
        given.
    returns : bool
        Whether owners who left may return.
    """

    entry: np.ndarray | None = None
    patience: int | None = None
    returns: bool = True


class Participant(MarketAgent):
    """One owner over all periods: the same agent, with one unique_id, leaves and returns.

    Parameters
    ----------
    model : MarketOverTime
    number : int, its place among the owners of the game
    """

    epsilon = read_column("last_period.sold", "Budget that it sold in the period.")
    total = read_column("last_period.total", "Budget that it has spent so far, over all periods.")
    remaining = read_column("last_period.remaining", "Budget that it could still sell.")
    payment = read_column("last_period.equilibrium.payments", "Money it was paid in the period.")
    surplus = read_column("last_period.surplus", "Its surplus of the period, money.")

    def __init__(self, model: Any, number: int) -> None:
        super().__init__(model, number)
        self.below = 0  # periods in a row below its outside option
        self.remove()  # until it joins

    @property
    def name(self) -> str:
        """Its name in the market."""
        return str(self.model.names[self.number])

    def join_market(self) -> None:
        """Join the market, or return to it, as the last in it."""
        self.below = 0
        self.model.register_agent(self)

    def wants_to_leave(self) -> bool:
        """Return whether it has been below its outside option for ``patience`` periods."""
        return self.model.patience is not None and self.below >= self.model.patience


class MarketOverTime(mesa.Model):
    """Owners who play a game again and again, join it, leave it, and spend of one budget.

    A step is a period. As it begins, owners whose period of entry it is join; an owner with less
    than its outside option (0) in ``patience`` periods in a row leaves; and an owner that has left
    returns where that would pay, with the others as in the last period. Then those present settle,
    each selling at most its remaining budget, and the others sell nothing.

    Parameters
    ----------
    game : Game, or callable(period, sold) -> Game
        Of all owners, present or not; the same in all periods, or made for each.
    periods : int
    turnover : Turnover, optional
    lifetime : Lifetime, optional
        The total budget of each, and its accounting; no limit unless given.
    settle : callable(game) -> Equilibrium, optional
        The settlement of a period; that of a `DataMarket` unless given.
    trade : callable(period, game, equilibrium), optional
        The use of what is sold, before it counts as spent; its result is kept. Nothing is counted
        if it raises.
    rng : int or numpy.random.Generator
        For the `DataMarket` of every period; nothing else is drawn.

    Attributes
    ----------
    history : list of Period
    everyone : list of Participant, of all owners; ``agents`` holds those in the market

    Raises
    ------
    ValueError
        For no period, a patience below 1, or periods of entry that do not fit the owners.

    Source: free entry and exit as in Hopenhayn (1992), with myopic owners; budgets over time as a
        privacy filter, Rogers et al., Privacy Odometers and Filters (2016), here of budgets that
        are known before any answer.

    >>> from market.costs.functions import Linear
    >>> from market.game.owners import Owners
    >>> from market.policies.proportional import Proportional
    >>> owners = Owners(("A", "B"), 1, 0.0, 20.0, Linear([1.0, 2.0]))
    >>> game = Game(owners, Proportional(9.0, "epsilon"), None, 0.0)
    >>> spend = Lifetime(Laplace(), np.array([5.0, 5.0]))
    >>> periods = MarketOverTime(game, periods=3, lifetime=spend, rng=1).run()
    >>> [one.sold.round(6).tolist() for one in periods]
    [[2.0, 1.0], [2.0, 1.0], [1.0, 1.12132]]
    """

    def __init__(
        self,
        game: Game | GameOf,
        *,
        periods: int,
        rng: int | np.random.Generator,
        turnover: Turnover = Turnover(),
        lifetime: Lifetime | None = None,
        settle: Settle | None = None,
        trade: Trade | None = None,
    ) -> None:
        patience = turnover.patience
        if periods < 1 or (patience is not None and patience < 1):
            raise ValueError(
                f"periods and patience must be at least 1; found {periods} and {patience}"
            )
        seed = as_seed(rng)
        super().__init__(rng=seed)
        self.periods = periods
        self.patience = patience
        self.returns = turnover.returns
        self.game_of: GameOf = game if callable(game) else lambda period, sold: game
        self.names = self.game_of(1, ()).owners.names
        count = len(self.names)
        entry = turnover.entry
        self.entry = np.ones(count, dtype=int) if entry is None else np.asarray(entry)
        if self.entry.shape != (count,):
            found = self.entry.tolist()
            raise ValueError(f"entry must be {count} periods, one per owner; found {found}")
        self.lifetime = lifetime or Lifetime(Laplace(), np.full(count, np.inf))
        self.settle: Settle = settle or (lambda now: DataMarket(now, rng=seed).run())
        self.trade: Trade = trade or (lambda period, now, found: None)
        self.history: list[Period] = []
        self.everyone = [Participant(self, number) for number in range(count)]
        self.datacollector = mesa.DataCollector(
            model_reporters=MODEL_REPORTERS, agent_reporters=OWNER_REPORTERS
        )

    @property
    def last_period(self) -> Period:
        """The last period."""
        return self.history[-1]

    @property
    def is_present(self) -> np.ndarray:
        """True for each owner in the market (n_owners,)."""
        return np.array([owner in self.agents for owner in self.everyone])

    @property
    def sold_so_far(self) -> np.ndarray:
        """Epsilon that was sold in each period so far, (periods, n_owners)."""
        return np.array([one.sold for one in self.history]).reshape(-1, len(self.names))

    def step(self) -> None:
        """Play a period: owners leave and join, those present settle, and sales are traded."""
        number = len(self.history) + 1
        before = self.sold_so_far
        game = self.game_of(number, tuple(before))
        most = self.lifetime.most(before, self.periods - len(before))
        left, joined = self._turn_over(_cap_budgets(game, most))
        now = _cap_budgets(game, np.where(self.is_present, most, 0.0))
        found = self.settle(now)
        outcome = self.trade(number, now, found)
        sold = found.epsilon if now.asks(found.epsilon) else np.zeros_like(found.epsilon)
        spent = np.vstack([before, sold])
        part = participation(now, found.epsilon)
        period = Period(
            number,
            now,
            found,
            self.is_present,
            joined,
            left,
            sold,
            self.lifetime.total(spent),
            self.lifetime.most(spent, max(self.periods - number, 1)),
            part.surplus,
            outcome,
        )
        self.history.append(period)
        for owner in self.agents:
            owner.below = 0 if part.rational[owner.number] else owner.below + 1
        self.running = number < self.periods
        self.datacollector.collect(self)

    def run(self) -> list[Period]:
        """Play all remaining periods."""
        self.run_model()
        return self.history

    def _turn_over(self, game: Game) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Let owners leave, join and return as a period begins; returns who left and who joined."""
        number = len(self.history) + 1
        out = [owner for owner in self.everyone if owner not in self.agents]
        leaving = [owner for owner in self.agents if owner.wants_to_leave()]
        for owner in leaving:
            owner.remove()
        gain = self._gain_by_return(game, [owner.number for owner in out])
        joining = [
            owner for owner in out if self.entry[owner.number] == number or gain[owner.number] > 0
        ]
        for owner in joining:
            owner.join_market()
        return tuple(owner.name for owner in leaving), tuple(owner.name for owner in joining)

    def _gain_by_return(self, game: Game, out: Sequence[int]) -> np.ndarray:
        """Gain of each owner that left by a return alone, money (n_owners,); else 0."""
        gain = np.zeros(len(self.names))
        gone = [number for number in out if self.entry[number] <= len(self.history)]
        if gone and self.returns:
            last = np.where(self.is_present, self.last_period.sold, 0.0)
            low = np.where(last > 0, game.owners.epsilon_min, 0.0)
            as_before = np.clip(last, low, game.owners.epsilon_max)
            gain[gone] = gain_by_coming_back(game, as_before, np.array(gone))[1]
        return gain


def _cap_budgets(game: Game, most: np.ndarray) -> Game:
    """Cap the budgets of a game at ``most`` (n_owners,); the game itself where no cap binds."""
    binding = most < game.owners.epsilon_max
    return cap_epsilon(game, np.minimum(most, game.owners.epsilon_max)) if binding.any() else game


def draw_arrivals(rate: float, n_owners: int, *, seed: int) -> np.ndarray:
    """Draw the period in which each owner joins, by a Poisson clock of its own, (n_owners,).

    Parameters
    ----------
    rate : float
        Strokes of the clock per period, above 0; the owner joins in the period of the first stroke,
        counted from the second period on.
    n_owners : int
    seed : int

    >>> few, many = (draw_arrivals(0.5, count, seed=1).tolist() for count in (2, 4))
    >>> few == many[:2], min(many) >= 2
    (True, True)
    """
    waiting = -np.log1p(-Draws(seed).draw_uniform("arrivals", 0, n_owners)[:, 0]) / rate
    return 2 + np.floor(np.minimum(waiting, 2.0**40)).astype(int)


# Functions, never names: Mesa's collector records None for a name that it does not know.
MODEL_REPORTERS: dict[str, Callable[[MarketOverTime], float]] = {
    "period": lambda market: market.last_period.number,
    "present": lambda market: len(market.agents),
    "fitness": lambda market: market.last_period.game.fitness(
        market.last_period.equilibrium.epsilon
    ),
    "total_payments": lambda market: float(market.last_period.equilibrium.payments.sum()),
}
OWNER_REPORTERS = {
    name: attrgetter(name)
    for name in ("name", "epsilon", "total", "remaining", "payment", "surplus", "below")
}
