"""Learners who compete in price: each in turn posts what pays it best, and the owners respond."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from learning.errors import InputError
from market.columns import as_parameter
from market.competition.allocation import even_split
from market.competition.market import Competition
from market.competition.solver import play
from market.equilibrium.stopping import PlayRules
from market.game.search import ROUNDING

# All owners respond at once; where they have not come to rest by then, one after another.
QUICK = PlayRules(damping=1.0, max_rounds=20)
PATIENT = PlayRules(damping=1.0, max_rounds=300)

Places = tuple[int, ...]  # of the learners' prices on the grid


@dataclass(frozen=True)
class PriceCompetition:
    """Prices from which no learner gains by moving to another of the grid; only if ``converged``.

    Attributes
    ----------
    prices, surplus, regret : (n_learners,)
        The prices; each learner's gain over its outside option less what it pays; what it could still gain by
        another price of the grid, owners responding, money.
    epsilon, payments : (n_owners, n_learners), the owners' responses
    reason : "certified", "cycle found", "not converged", or "owners did not settle" (at some prices looked at)
    trajectory : tuple of (n_learners,) prices, one after each round, the start first
    """

    prices: np.ndarray
    surplus: np.ndarray
    regret: np.ndarray
    epsilon: np.ndarray
    payments: np.ndarray
    reason: str
    trajectory: tuple[np.ndarray, ...]

    @property
    def converged(self) -> bool:
        """Whether the prices are certified."""
        return self.reason == "certified"


def compete(
    market: Competition, prices: Any, *, parameter: str = "price", start: Any = None, max_rounds: int = 100
) -> PriceCompetition:
    """Best responses in prices, learners in their order, each choosing from one grid.

    A learner keeps its price unless another is better, and of equally good better ones takes the lowest. Owners respond
    from their least budgets, so that every price profile has one outcome; who is indifferent between learners
    then sells to the one named first. On a grid with steps of h learners overbid by steps: known limits hold to
    within one.

    Parameters
    ----------
    market : Competition
        Each learner's policy is a record with one number named by ``parameter``; the number itself is replaced.
    prices : (m,), the grid, rising, not negative
    parameter : str
        "price" of a posted price, or "budget" of a contest, "share" of the marginal policy.
    start : (n_learners,), optional
        Prices of the grid to start from; the lowest without it.
    max_rounds : int

    Returns
    -------
    PriceCompetition
        Never raises for non-convergence: where prices come back to where they were it says so, as they do when
        learners have captive owners and fight over the others (Edgeworth's cycle).

    Raises
    ------
    InputError
        A grid that does not rise, or a start that is not on it.
    TypeError
        A policy without that parameter.

    Source: Bertrand; Edgeworth.

    One learner is a monopsonist; two of equal value bid the price up to it:

    >>> from market.competition.market import Learner
    >>> from market.costs.functions import Quadratic
    >>> from market.game.owners import Owners
    >>> from market.policies.posted import Posted
    >>> from market.externalities.public_good import Precision
    >>> owners = Owners(("A", "B"), 1, 0.0, 50.0, Quadratic(1.0))
    >>> law = Precision(prior=0.1)
    >>> for names in ("x", "xy"):
    ...     learners = [Learner(name, Posted(0.0), law, 10.0) for name in names]
    ...     print(compete(Competition(owners, learners), range(13)).prices.tolist())
    [1.0]
    [7.0, 7.0]
    """
    grid = as_parameter("prices", prices)
    if grid.ndim != 1 or np.any(np.diff(grid) <= 0):
        raise InputError("prices", "must be a list of rising numbers", grid.tolist())
    outcomes, n_learners = _Outcomes(market, grid, parameter), len(market.learners)
    first = np.repeat(grid[:1], n_learners) if start is None else as_parameter("start", start)
    if first.shape != (n_learners,) or not np.isin(first, grid).all():
        raise InputError("start", f"must be {n_learners} prices of the grid", first.tolist())
    at: Places = tuple(int(place) for place in np.searchsorted(grid, first))
    path, reason = [at], "not converged"
    while reason == "not converged" and len(path) <= max_rounds:
        for j in range(len(at)):
            at = outcomes.best_response(at, j)
        reason = "certified" if at == path[-1] else "cycle found" if at in path else reason
        path.append(at)
    profile, surplus, _ = outcomes.at(at)
    regret = np.array([outcomes.surpluses(at, j).max() for j in range(len(at))]) - surplus
    regret = np.where(regret > ROUNDING * np.abs(surplus), regret, 0.0)
    if reason == "certified" and not all(settled for _, _, settled in outcomes.known.values()):
        reason = "owners did not settle"
    prices, paid = grid[np.array(path)], outcomes.market_at(at).payments(profile)
    return PriceCompetition(prices[-1], surplus, regret, profile, paid, reason, tuple(prices))


class _Outcomes:
    """How owners respond to prices on a grid, each outcome looked for once."""

    def __init__(self, market: Competition, prices: np.ndarray, parameter: str) -> None:
        for learner in market.learners:
            if not hasattr(learner.policy, parameter):
                raise TypeError(f"the policy of {learner.name} must have a {parameter}; found {learner.policy!r}")
        self.market, self.prices, self.parameter = market, prices, parameter
        self.known: dict[Places, tuple[np.ndarray, np.ndarray, bool]] = {}

    def market_at(self, at: Places) -> Competition:
        """The market at prices in these places of the grid."""
        changes = ({self.parameter: float(price)} for price in self.prices[list(at)])
        pairs = zip(self.market.learners, changes, strict=True)
        learners = tuple(replace(one, policy=replace(one.policy, **change)) for one, change in pairs)
        return replace(self.market, learners=learners)

    def at(self, at: Places) -> tuple[np.ndarray, np.ndarray, bool]:
        """The owners' profile, the learners' surplus, and whether the owners came to rest."""
        if at not in self.known:
            market = self.market_at(at)
            least = market.owners.epsilon_min[:, None] * even_split(market.links)
            path = play(market, least, "simultaneous", QUICK)
            if path.end != "rest":
                path = play(market, least, "sequential", PATIENT)
            self.known[at] = path.epsilon, market.learner_surplus(path.epsilon), path.end == "rest"
        return self.known[at]

    def surpluses(self, at: Places, j: int) -> np.ndarray:
        """Learner j's surplus at each price of the grid (m,), the others' prices as they are."""
        return np.array([self.at((*at[:j], place, *at[j + 1 :]))[1][j] for place in range(len(self.prices))])

    def best_response(self, at: Places, j: int) -> Places:
        """The places once learner j has responded: unchanged if none is better for it, else the lowest of the best."""
        gains = self.surpluses(at, j)
        enough = gains.max() - ROUNDING * np.abs(gains).max()
        return at if gains[at[j]] >= enough else (*at[:j], int(np.argmax(gains >= enough)), *at[j + 1 :])
