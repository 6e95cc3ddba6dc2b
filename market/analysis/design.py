"""The learner's problem: which policy to offer, when the owners answer with an equilibrium."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.stats import qmc

from market.analysis.welfare import learner_surplus
from market.equilibrium.solver import Equilibrium, certify, solve
from market.game.game import Game

GOLDEN = (np.sqrt(5) - 1) / 2
SLACK = 1e-9  # a surplus below the outside option, or a bill above the budget, by this part is rounding
NEAR = 1e-5  # an equilibrium moved by less than this part of the upper ends is still the same one
PRECISE = 1e-8  # a bracket this narrow, relative, has found the parameter: the objective is flat beyond

Family = Callable[[Any], Any]


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


@dataclass(frozen=True)
class Design:
    """A policy and what comes of it.

    Attributes
    ----------
    parameters : (d,), what the policy was made of
    policy : the policy
    equilibrium : Equilibrium, how the owners answer
    fitness : float, relative fitness psi of the model
    spending : float, money the learner pays
    surplus : float, money the learner gains over its outside option, less what it pays
    participation : Participation
    """

    parameters: np.ndarray
    policy: Any
    equilibrium: Equilibrium
    fitness: float
    spending: float
    surplus: float
    participation: Participation

    @property
    def feasible(self) -> bool:
        """Certified, individually rational for all and within the budget."""
        return self.equilibrium.converged and self.participation.feasible

    @property
    def violation(self) -> float:
        """How far from feasible, 0 where it is: parts of the bill by which budget and owners are missed."""
        size = np.abs(self.participation.surplus).sum() + abs(self.spending) + 1e-300
        missing = np.where(self.participation.rational, 0.0, -self.participation.surplus).sum()
        over = 0.0 if self.participation.within_budget else self.spending - self.participation.budget
        return float((missing + over) / size) + (0.0 if self.equilibrium.converged else 1.0)


def answer(
    game: Game,
    family: Family,
    parameters: Any,
    *,
    rng: np.random.Generator,
    budget: float = np.inf,
    starts: int = 3,
    hopeful: bool = False,
) -> Design:
    """What the owners make of a policy.

    Parameters
    ----------
    game : Game, its own policy set aside
    family : callable(parameters) -> policy
    parameters : float or (d,)
    budget : float, money
    starts : int, starts of the equilibrium search
    hopeful : bool
        Of several equilibria the learner counts on the one worst for itself, or with ``hopeful`` on the best.

    Returns
    -------
    Design
    """
    offered = replace(game, policy=family(parameters))
    found = solve(offered, rng=rng, starts=starts)
    choices = [_sharpened(offered, one) for one in (found, *found.others)]
    surpluses = [learner_surplus(offered, one.epsilon) for one in choices]
    at = int(np.argmax(surpluses) if hopeful else np.argmin(surpluses))
    epsilon = choices[at].epsilon
    part = participation(offered, epsilon, budget=budget)
    given = np.atleast_1d(np.asarray(parameters, dtype=float))
    fitness = offered.fitness(epsilon)
    return Design(given, offered.policy, choices[at], fitness, part.spending, surpluses[at], part)


def _sharpened(game: Game, found: Equilibrium) -> Equilibrium:
    """The same equilibrium to more digits, owners having responded to it once more.

    A certificate forgives an owner a millionth of its interval where its surplus is flat; but the learner's gain there is
    not flat, and a search over policies would go where the forgiveness favours it.
    """
    if not found.converged:
        return found
    again = certify(game, game.best_responses(found.epsilon))
    near = np.abs(again.epsilon - found.epsilon) <= NEAR * game.owners.epsilon_max
    if not (again.converged and near.all()):
        return found
    return replace(
        found,
        epsilon=again.epsilon,
        payments=again.payments,
        regret=again.regret,
        relative_regret=again.relative_regret,
    )


def best_policy(
    game: Game,
    family: Family,
    low: Any,
    high: Any,
    *,
    rng: np.random.Generator,
    budget: float = np.inf,
    aim: str = "surplus",
    points: int = 25,
    starts: int = 3,
    hopeful: bool = False,
) -> Design:
    """The parameters that are best for the learner among those that are feasible, the owners in equilibrium.

    ``max V (outside - psi(epsilon*)) - sum of payments`` subject to the budget and to every owner's individual
    rationality. The objective may jump where the owners' equilibrium does: one parameter is searched on a grid of
    equal ratios whose best cells are narrowed by golden section, several by Nelder and Mead's simplex in logarithms
    from the best of a low-discrepancy set.

    Parameters
    ----------
    game : Game, its own policy set aside
    family : callable(parameters) -> policy
        Given a float where low and high are floats, else an array (d,).
    low, high : float or (d,), above 0
    rng : numpy.random.Generator
        Drawn from once, so that every policy is judged by the same starts.
    budget : float, money
    aim : "surplus" (the learner's) or "fitness" (the best model)
    points : int, grid points; of a low-discrepancy set with several parameters
    starts, hopeful : as in `answer`

    Returns
    -------
    Design
        The best feasible one; where none is, the one nearest to feasible, with ``feasible`` False.

    Raises
    ------
    ValueError
        Bounds not 0 < low < high, an unknown aim, or fewer than 3 points.

    Source: Stackelberg's leader.

    Two owners with cost epsilon^2, price p per unit: each sells p/2; V g 2 (2/p)^2 + p^2 is least at p^4 = 8 V g.

    >>> from market.costs.functions import Quadratic
    >>> from market.game.owners import Owners
    >>> from market.policies.posted import Posted
    >>> class Law:
    ...     outside = 1.0
    ...     def terms(self, epsilon):
    ...         return np.where(epsilon > 0, np.maximum(epsilon, 1e-9) ** -2.0, 0.0)[..., None]
    ...     def excess(self, sums):
    ...         return 0.01 * sums[..., 0]
    >>> owners = Owners(("A", "B"), 1, 0.01, 100.0, Quadratic(2.0))
    >>> best = best_policy(Game(owners, None, Law(), 200.0), Posted, 0.1, 50.0, rng=np.random.default_rng(0))
    >>> round(float(best.parameters[0]), 5), best.feasible
    (2.0, True)
    """
    if not (np.all(np.asarray(low) > 0) and np.all(np.asarray(low) < np.asarray(high))):
        raise ValueError(f"bounds must satisfy 0 < low < high; found {low} and {high}")
    if aim not in ("surplus", "fitness"):
        raise ValueError(f"aim must be surplus or fitness; found {aim!r}")
    if points < 3:
        raise ValueError(f"points must be at least 3; found {points}")
    seed = int(rng.integers(2**63))
    tried: list[Design] = []

    def try_(parameters: Any) -> tuple[float, float]:
        fresh = np.random.default_rng(seed)
        design = answer(game, family, parameters, rng=fresh, budget=budget, starts=starts, hopeful=hopeful)
        tried.append(design)
        return _rank(design, aim)

    if np.ndim(low) == 0:
        _one(try_, float(low), float(high), points)
    else:
        _several(try_, np.asarray(low, dtype=float), np.asarray(high, dtype=float), points, np.random.default_rng(seed))
    return max(tried, key=lambda design: _rank(design, aim))


def _rank(design: Design, aim: str) -> tuple[float, float]:
    """What designs are ordered by: first how near to feasible, then the aim."""
    return -design.violation, design.surplus if aim == "surplus" else -design.fitness


def _one(try_: Callable[[float], tuple[float, float]], low: float, high: float, points: int) -> None:
    grid = np.geomspace(low, high, points)
    ranks = [try_(float(at)) for at in grid]
    order = sorted(range(points), key=lambda at: ranks[at], reverse=True)
    peaks = [at for at in order if all(ranks[at] >= ranks[near] for near in (at - 1, at + 1) if 0 <= near < points)]
    for at in peaks[:3]:
        left, right = np.log(grid[max(at - 1, 0)]), np.log(grid[min(at + 1, points - 1)])
        inner, outer = right - GOLDEN * (right - left), left + GOLDEN * (right - left)
        rank_inner, rank_outer = try_(float(np.exp(inner))), try_(float(np.exp(outer)))
        while right - left > PRECISE:
            if rank_inner >= rank_outer:
                right, outer, rank_outer = outer, inner, rank_inner
                inner = right - GOLDEN * (right - left)
                rank_inner = try_(float(np.exp(inner)))
            else:
                left, inner, rank_inner = inner, outer, rank_outer
                outer = left + GOLDEN * (right - left)
                rank_outer = try_(float(np.exp(outer)))


def _several(
    try_: Callable[[np.ndarray], tuple[float, float]],
    low: np.ndarray,
    high: np.ndarray,
    points: int,
    rng: np.random.Generator,
) -> None:
    base, span = np.log(low), np.log(high / low)
    spread = qmc.Halton(len(low), rng=rng).random(points)
    ranks = [try_(np.exp(base + span * part)) for part in spread]
    worst = min(rank[1] for rank in ranks)
    scale = max(rank[1] for rank in ranks) - worst + 1e-12 * abs(worst) + 1e-300

    def loss(part: np.ndarray) -> float:
        missed, value = try_(np.exp(base + span * np.clip(part, 0, 1)))
        return -(value - worst) / scale if missed == 0 else 2 - missed  # every infeasible one is worse

    for at in sorted(range(points), key=lambda at: ranks[at], reverse=True)[:2]:
        start, step, least = spread[at], 0.15, np.inf
        for _ in range(4):  # a simplex may fall flat on the edge of what is feasible: started afresh, smaller
            corners = np.vstack([start, start + np.diag(np.where(start + step <= 1, step, -step))])
            options = {"initial_simplex": corners, "xatol": 1e-7, "fatol": 1e-12, "maxfev": 120 * len(low)}
            end = minimize(loss, start, method="Nelder-Mead", options=options)
            gained, least = least - end.fun, end.fun
            start, step = np.clip(end.x, 0, 1), step / 8
            if gained < 1e-9:
                break


@dataclass(frozen=True)
class Frontier:
    """What a model costs: one row per parameter or learner's value swept.

    Attributes
    ----------
    parameter : (m,) or (m, d), of the policy
    value : (m,), money per unit of relative fitness to the learner
    spending, fitness, surplus : (m,), money paid, psi, the learner's surplus
    epsilon : (m, n_owners)
    feasible : (m,), bool
    """

    parameter: np.ndarray
    value: np.ndarray
    spending: np.ndarray
    fitness: np.ndarray
    surplus: np.ndarray
    epsilon: np.ndarray
    feasible: np.ndarray

    @property
    def efficient(self) -> np.ndarray:
        """Feasible rows with no other that pays no more for a better model (m,), bool."""
        order = np.lexsort((self.fitness, self.spending))
        best, efficient = np.inf, np.zeros(len(order), dtype=bool)
        for at in order:
            if self.feasible[at] and self.fitness[at] < best:
                best, efficient[at] = self.fitness[at], True
        return efficient


def frontier(
    game: Game,
    family: Family,
    parameters: Sequence[Any] | np.ndarray,
    *,
    rng: np.random.Generator,
    budget: float = np.inf,
    starts: int = 3,
    hopeful: bool = False,
) -> Frontier:
    """Payment against fitness as a policy's parameter sweeps over ``parameters`` (m,) or (m, d).

    The rest as in `answer`; every policy is judged by the same starts.
    """
    seed = int(rng.integers(2**63))
    rows = [
        answer(game, family, at, rng=np.random.default_rng(seed), budget=budget, starts=starts, hopeful=hopeful)
        for at in parameters
    ]
    return _frontier(rows, np.full(len(rows), game.value))


def value_frontier(
    game: Game,
    family: Family,
    low: Any,
    high: Any,
    values: Sequence[float] | np.ndarray,
    *,
    rng: np.random.Generator,
    **search: Any,
) -> Frontier:
    """Payment against fitness as the learner's value sweeps over ``values`` (m,), the best policy for each.

    The rest as in `best_policy`. A learner that values fitness more never buys a worse model.
    """
    seed = int(rng.integers(2**63))
    worth = np.asarray(values, dtype=float)
    rows = [
        best_policy(replace(game, value=float(v)), family, low, high, rng=np.random.default_rng(seed), **search)
        for v in worth
    ]
    return _frontier(rows, worth)


def _frontier(rows: list[Design], values: np.ndarray) -> Frontier:
    parameters = np.array([row.parameters for row in rows])
    return Frontier(
        parameters[:, 0] if parameters.shape[1] == 1 else parameters,
        values,
        np.array([row.spending for row in rows]),
        np.array([row.fitness for row in rows]),
        np.array([row.surplus for row in rows]),
        np.array([row.equilibrium.epsilon for row in rows]),
        np.array([row.feasible for row in rows]),
    )


def compare_at_spending(
    game: Game,
    families: Mapping[str, tuple[Family, Any, Any]],
    spending: float,
    *,
    rng: np.random.Generator,
    **search: Any,
) -> dict[str, Design]:
    """The best model that each policy buys for the same money.

    Parameters
    ----------
    game : Game, its own policy set aside
    families : name -> (family, low, high) as in `best_policy`
    spending : float, money the learner may pay at most; ``Design.spending`` says what it does pay
    **search : as in `best_policy`

    Returns
    -------
    dict of Design, in the order given
    """
    seed = int(rng.integers(2**63))
    return {
        name: best_policy(game, *family, rng=np.random.default_rng(seed), budget=spending, aim="fitness", **search)
        for name, family in families.items()
    }
