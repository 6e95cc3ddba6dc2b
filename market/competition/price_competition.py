"""Learners who compete in price: each in turn posts what pays it best, and the owners answer."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from learning.errors import InputError
from market.columns import as_parameter
from market.competition.market import Competition, walk
from market.game.search import ROUNDING

ROUNDS = 300  # of the owners' answers to prices, at most
QUICK = 20  # rounds in which all owners answer at once; where they have not settled by then, one after another
TOLERANCE = 1e-9  # owners who move by less of their upper ends have settled

Places = tuple[int, ...]  # of the learners' prices on the menu


@dataclass(frozen=True)
class PriceCompetition:
    """Prices from which no learner gains by moving to another of its menu; only if ``converged``.

    Attributes
    ----------
    prices, surplus, regret : (n_learners,)
        The prices; each learner's gain over its outside option less what it pays; what it could still gain by
        another price of the menu, owners answering, money.
    epsilon, payments : (n_owners, n_learners), the owners' answer
    converged : bool
    reason : "certified", "cycle found", "not converged", or "owners did not settle" (at some prices looked at)
    rounds : int, in which each learner had its turn
    trajectory : tuple of (n_learners,) prices, one after each round, the start first
    """

    prices: np.ndarray
    surplus: np.ndarray
    regret: np.ndarray
    epsilon: np.ndarray
    payments: np.ndarray
    converged: bool
    reason: str
    rounds: int
    trajectory: tuple[np.ndarray, ...]


def compete(
    market: Competition, plan_set: Any, *, parameter: str = "price", start: Any = None, max_rounds: int = 100
) -> PriceCompetition:
    """Best replies in prices, learners in their order, each choosing from one rising menu.

    A learner keeps its price unless another is better, and of equally good better ones takes the lowest. Owners answer
    from their least budgets, so that every price profile has one answer; who is indifferent between learners
    then sells to the one named first. On a menu with steps of h learners overbid by steps: known limits hold to
    within one.

    Parameters
    ----------
    market : Competition
        Each learner's policy is a record with one number named by ``parameter``; the number itself is replaced.
    plan_set : (m,), rising, not negative
    parameter : str
        "price" of a posted price, or "budget" of a contest, "share" of the marginal policy.
    start : (n_learners,), optional
        Prices of the menu to start from; the lowest without it.
    max_rounds : int

    Returns
    -------
    PriceCompetition
        Never raises for non-convergence: where prices come back to where they were it says so, as they do when
        learners have captive owners and fight over the others (Edgeworth's cycle).

    Raises
    ------
    InputError
        A menu that does not rise, or a start that is not on it.
    TypeError
        A policy without that parameter.

    Source: Bertrand; Edgeworth.

    One learner is a monopsonist; two of equal value bid the price up to it:

    >>> from market.competition.market import Learner
    >>> from market.costs.functions import Quadratic
    >>> from market.game.owners import Owners
    >>> from market.policies.payments import Posted
    >>> from market.externalities.public_good import Precision
    >>> owners = Owners(("A", "B"), 1, 0.0, 50.0, Quadratic(1.0))
    >>> law = Precision(prior=0.1)
    >>> for names in ("x", "xy"):
    ...     learners = [Learner(name, Posted(0.0), law, 10.0) for name in names]
    ...     print(compete(Competition(owners, learners), range(13)).prices.tolist())
    [1.0]
    [7.0, 7.0]
    """
    prices = as_parameter("menu", plan_set)
    if prices.ndim != 1 or np.any(np.diff(prices) <= 0):
        raise InputError("menu", "must be a list of rising prices", prices.tolist())
    answers = _Answers(market, prices, parameter)
    at = _places(prices, start, len(market.learners))
    path, reason = [at], "not converged"
    for _ in range(max_rounds):
        for j in range(len(at)):
            at = answers.reply(at, j)
        path.append(at)
        if at == path[-2]:
            reason = "certified"
            break
        if at in path[:-1]:
            reason = "cycle found"
            break
    profile, surplus, _ = answers.at(at)
    regret = np.array([answers.surpluses(at, j).max() for j in range(len(at))]) - surplus
    regret = np.where(regret > ROUNDING * np.abs(surplus), regret, 0.0)
    if reason == "certified" and not answers.settled:
        reason = "owners did not settle"
    trajectory = tuple(prices[list(places)] for places in path)
    paid = answers.market_at(at).payments(profile)
    final = prices[list(at)]
    converged = reason == "certified"
    return PriceCompetition(final, surplus, regret, profile, paid, converged, reason, len(path) - 1, trajectory)


class _Answers:
    """The owners' answer to prices on a menu, each looked for once."""

    def __init__(self, market: Competition, prices: np.ndarray, parameter: str) -> None:
        for learner in market.learners:
            fields = dataclasses.fields(learner.policy) if dataclasses.is_dataclass(learner.policy) else ()
            if parameter not in [field.name for field in fields]:
                raise TypeError(f"the policy of {learner.name} must have a {parameter}; found {learner.policy!r}")
        self.market, self.prices, self.parameter = market, prices, parameter
        self.known: dict[Places, tuple[np.ndarray, np.ndarray, bool]] = {}

    def market_at(self, at: Places) -> Competition:
        """The market at prices in these places of the menu."""
        pairs = zip(self.market.learners, at, strict=True)
        posted = [(one, {self.parameter: float(self.prices[place])}) for one, place in pairs]
        learners = tuple(replace(one, policy=replace(one.policy, **change)) for one, change in posted)
        return replace(self.market, learners=learners)

    def at(self, at: Places) -> tuple[np.ndarray, np.ndarray, bool]:
        """The owners' profile, the learners' surplus, and whether the owners came to rest."""
        if at not in self.known:
            market = self.market_at(at)
            share = market.links / np.maximum(market.links.sum(axis=1), 1)[:, None]
            least = market.owners.epsilon_min[:, None] * share
            profile, _, end = walk(market, least, "simultaneous", TOLERANCE, QUICK, 1.0)
            if end != "rest":
                profile, _, end = walk(market, least, "sequential", TOLERANCE, ROUNDS, 1.0)
            self.known[at] = profile, market.learner_surplus(profile), end == "rest"
        return self.known[at]

    @property
    def settled(self) -> bool:
        """Whether the owners came to rest at all prices looked at."""
        return all(settled for _, _, settled in self.known.values())

    def surpluses(self, at: Places, j: int) -> np.ndarray:
        """Learner j's surplus at each price of the menu (m,), the others' prices as they are."""
        return np.array([self.at((*at[:j], place, *at[j + 1 :]))[1][j] for place in range(len(self.prices))])

    def reply(self, at: Places, j: int) -> Places:
        """The places once learner j has replied: unchanged if none is better for it, else the lowest of the best."""
        gains = self.surpluses(at, j)
        enough = gains.max() - ROUNDING * np.abs(gains).max()
        return at if gains[at[j]] >= enough else (*at[:j], int(np.argmax(gains >= enough)), *at[j + 1 :])


def _places(prices: np.ndarray, start: Any, n_learners: int) -> Places:
    """Where on the menu the learners start."""
    if start is None:
        return (0,) * n_learners
    wanted = as_parameter("start", start)
    if wanted.shape != (n_learners,) or not np.isin(wanted, prices).all():
        raise InputError("start", f"must be {n_learners} prices of the menu", wanted.tolist())
    return tuple(int(place) for place in np.searchsorted(prices, wanted))
