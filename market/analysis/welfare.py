"""What a market is worth to all who take part and to each, how unequally, and how much of it selfish choices leave."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from market.equilibrium.solver import solve
from market.equilibrium.starts import start_points
from market.game.deviations import Deviations
from market.game.game import Game
from market.game.owners import Owners
from market.policies.base import Policy

SLACK = 1e-9  # a surplus below the outside option, or a bill above the budget, by this part is rounding


def learner_surplus(game: Game, epsilon: np.ndarray) -> float:
    """The learner's gain over its outside option less what it pays: ``V (outside - psi) - sum of payments``.

    Parameters
    ----------
    epsilon : (n_owners,)

    Returns
    -------
    float, money
    """
    gain = game.value * (game.forecast.outside - game.fitness(epsilon))
    return float(gain - game.payments(epsilon).sum())


def welfare(game: Game, epsilon: np.ndarray) -> float:
    """Everybody's gain: ``V (outside - psi) + benefits - costs``; payments cancel, and taxes, which the treasury has.

    Parameters
    ----------
    game : Game
    epsilon : (n_owners,)

    Returns
    -------
    float, money
    """
    gain = game.value * (game.forecast.outside - game.fitness(epsilon))
    return float(gain + game.benefits(epsilon).sum() - game.costs(epsilon).sum() + taxes(game, epsilon).sum())


def taxes(game: Game, epsilon: np.ndarray) -> np.ndarray:
    """What each owner's cost holds of tax at a profile (n_owners,), money; 0 where nothing is taxed."""
    return game.owners.cost.tax(epsilon, game.owners.sizes)


@dataclass(frozen=True)
class SocialPlanner(Policy):
    """The policy under which every owner's surplus is the whole market's welfare, up to what it cannot
    change.

    It pays the learner's gain and the other owners' benefits. Those are a sum over the distinct isolated
    models, of (benefit of who shares and has that model) * max(0, isolated - psi), so the policy is additive.
    """

    levels: tuple[float, ...]

    def terms(self, epsilon: np.ndarray, owners: Owners) -> np.ndarray:
        """Benefit of each owner that shares, in the place of its isolated model: (n_owners, ..., levels)."""
        benefit = owners.benefit[:, None] * (owners.isolated[:, None] == np.array(self.levels))
        between = (1,) * (epsilon.ndim - 1)
        return (epsilon > 0)[..., None] * benefit.reshape(len(owners), *between, len(self.levels))

    def payments(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """The learner's gain and the other owners' benefits (n_owners, m)."""
        fitness = deviations.fitness(epsilon)
        others = (deviations.others_policy * self._gains(fitness)).sum(axis=-1)
        return deviations.game.value * (deviations.game.forecast.outside - fitness) + others

    def slopes(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """Derivative of the payments (n_owners, m)."""
        gaining = (deviations.others_policy * (self._gains(deviations.fitness(epsilon)) > 0)).sum(axis=-1)
        return -(deviations.game.value + gaining) * deviations.fitness_slope(epsilon)

    def _gains(self, fitness: np.ndarray) -> np.ndarray:
        return np.maximum(np.array(self.levels) - fitness[..., None], 0.0)


def social_optimum(
    game: Game, *, rng: np.random.Generator, starts: int = 16, start: np.ndarray | None = None
) -> tuple[np.ndarray, float]:
    """The profile of most welfare found, and its welfare.

    Every owner in turn moves to raise welfare until none can: equilibria of the game under `SocialPlanner`, from
    many starts; the best of them and of the starts is returned. A lower bound on the optimum where that has
    many local peaks.

    Parameters
    ----------
    game : Game
    rng : numpy.random.Generator
    starts : int
    start : (n_owners,), optional
        A profile to improve on, such as an equilibrium.

    Returns
    -------
    epsilon (n_owners,), welfare (money)
    """
    owners = replace(game.owners, cost=game.owners.cost.untaxed)
    levels = tuple(np.unique(owners.isolated[owners.benefit > 0]).tolist())
    planned = Game(owners, SocialPlanner(levels), game.forecast, game.value)
    found = solve(planned, rng=rng, starts=starts, start=start)
    profiles = [found.epsilon, *(other.epsilon for other in found.others)]
    profiles += start_points(game, rng=rng, starts=starts, start=start)
    totals = [welfare(game, profile) for profile in profiles]
    best = int(np.argmax(totals))
    return profiles[best], totals[best]


def price_of_anarchy(game: Game, epsilon: np.ndarray, *, rng: np.random.Generator, starts: int = 16) -> float:
    """Optimal welfare over the welfare of a profile (n_owners,): 1 loses nothing.

    inf where a profile leaves no welfare (0 or less) though some could be had; 1 where there is none to be
    had.

    Source: Koutsoupias and Papadimitriou; for the marginal policy with share 1 it is 1 at the best
    equilibrium.
    """
    best, have = social_optimum(game, rng=rng, starts=starts, start=epsilon)[1], welfare(game, epsilon)
    return anarchy(best, have)


def anarchy(best: float, have: float) -> float:
    """The price of anarchy where a welfare of ``best`` could be had, and ``have`` is."""
    if best <= 0:
        return 1.0 if have >= best else np.inf
    return best / have if have > 0 else np.inf


@dataclass(frozen=True)
class Participation:
    """Who is better off taking part than not, and whether the learner can pay.

    Attributes
    ----------
    outside : (n_owners,), money an owner has without the market: 0, since surplus is counted over its own model
    surplus : (n_owners,), money it has in the market
    rational : (n_owners,), bool, whether that is no less
    spending : float, money the learner pays in all
    budget : float, money
    within_budget : bool

    Source: Wu, MRes thesis, Def. 3 (individual rationality).
    """

    outside: np.ndarray
    surplus: np.ndarray
    rational: np.ndarray
    spending: float
    budget: float
    within_budget: bool

    @property
    def feasible(self) -> bool:
        """Whether nobody would rather leave and the bill can be paid."""
        return bool(self.rational.all()) and self.within_budget


def participation(game: Game, epsilon: np.ndarray, *, budget: float = np.inf) -> Participation:
    """Individual rationality of each owner at a profile (n_owners,), and the learner's bill against its budget.

    >>> from market.costs.functions import Linear
    >>> from market.game.owners import Owners
    >>> from market.policies.posted import Posted
    >>> owners = Owners(("A", "B"), 1, 1.0, 2.0, Linear([1.0, 3.0]))
    >>> part = participation(Game(owners, Posted(2.0), None, 0.0), np.array([2.0, 1.0]), budget=5.0)
    >>> part.surplus.tolist(), part.rational.tolist(), part.spending, part.within_budget
    ([2.0, -1.0], [True, False], 6.0, False)
    """
    payments, costs = game.payments(epsilon), game.costs(epsilon)
    surplus = game.payoffs(epsilon)
    outside = np.zeros(len(epsilon))
    rational = surplus >= outside - SLACK * (np.abs(payments) + np.abs(costs))
    spending = float(payments.sum())
    return Participation(outside, surplus, rational, spending, budget, spending <= budget + SLACK * abs(budget))


def gini(values: np.ndarray) -> float:
    """Gini coefficient: ``sum_ij |x_i - x_j| / (2 N sum x)``, half the mean difference over the mean.

    0 where all have the same; (N - 1)/N where one has all. Where some lose money it may exceed 1.

    Parameters
    ----------
    values : (n,), money

    Returns
    -------
    float; 0 where nobody has anything, nan where the total is not above 0 otherwise.

    Source: Gini, Variabilita e mutabilita (1912), by the ranks of the sorted values.

    >>> gini(np.array([2.0, 2.0, 2.0])), gini(np.array([0.0, 0.0, 3.0, 0.0]))
    (0.0, 0.75)
    """
    ordered = np.sort(np.asarray(values, dtype=float).ravel())
    if not ordered.size:
        raise ValueError("values must hold at least one number; found none")
    if not ordered.any():
        return 0.0
    total, count = ordered.sum(), len(ordered)
    if total <= 0:
        return float("nan")
    return float(max(0.0, (2 * np.arange(1, count + 1) - count - 1) @ ordered / (count * total)))
