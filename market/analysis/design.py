"""The learner's problem: which policy to post, when the owners respond with an equilibrium (a Stackelberg game)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.stats import qmc

from market.analysis.welfare import Participation, learner_surplus, participation
from market.equilibrium.solver import Equilibrium, certify, solve
from market.game.game import Game

GOLDEN = (np.sqrt(5) - 1) / 2
NEAR = 1e-5  # an equilibrium moved by less than this part of the upper ends is still the same one
PRECISE = 1e-8  # a bracket this narrow, relative, has found the parameter: the objective is flat beyond

MakePolicy = Callable[[Any], Any]
Attempt = Callable[[Any], tuple[float, float]]  # tries parameters; gives what designs are ranked by


@dataclass(frozen=True)
class Family:
    """Policies that differ in their parameters.

    Parameters
    ----------
    make : callable(parameters) -> policy
        Given a float where ``low`` and ``high`` are floats, else an array (d,).
    low, high : float or (d,), above 0
        The range of the parameters, searched in equal ratios.

    Raises
    ------
    ValueError
        Bounds not 0 < low < high.
    """

    make: MakePolicy
    low: Any
    high: Any

    def __post_init__(self) -> None:
        if not (np.all(np.asarray(self.low) > 0) and np.all(np.asarray(self.low) < np.asarray(self.high))):
            raise ValueError(f"bounds must satisfy 0 < low < high; found {self.low} and {self.high}")


@dataclass(frozen=True)
class Design:
    """A policy and what comes of it.

    Attributes
    ----------
    parameters : (d,), what the policy was made of
    policy : the policy
    equilibrium : Equilibrium, how the owners respond
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


def evaluate(
    game: Game,
    make: MakePolicy,
    parameters: Any,
    *,
    rng: np.random.Generator,
    budget: float = np.inf,
    starts: int = 3,
    optimistic: bool = False,
) -> Design:
    """What comes of a policy once the owners have responded.

    Parameters
    ----------
    game : Game, its own policy set aside
    make : callable(parameters) -> policy
    parameters : float or (d,)
    budget : float, money
    starts : int, starts of the equilibrium search
    optimistic : bool
        Of several equilibria the learner counts on the one worst for itself, or on the best (optimistic).

    Returns
    -------
    Design
    """
    offered = replace(game, policy=make(parameters))
    found = solve(offered, rng=rng, starts=starts)
    choices = [_refined(offered, one) for one in (found, *found.others)]
    surpluses = [learner_surplus(offered, one.epsilon) for one in choices]
    at = int(np.argmax(surpluses) if optimistic else np.argmin(surpluses))
    part = participation(offered, choices[at].epsilon, budget=budget)
    given = np.atleast_1d(np.asarray(parameters, dtype=float))
    fitness = offered.fitness(choices[at].epsilon)
    return Design(given, offered.policy, choices[at], fitness, part.spending, surpluses[at], part)


def _refined(game: Game, found: Equilibrium) -> Equilibrium:
    """The same equilibrium to more digits, owners having responded to it once more.

    A certificate allows an owner a millionth of its interval where its surplus is flat; but the learner's gain there is
    not flat, and a search over policies would exploit what the certificate allows.
    """
    if not found.converged:
        return found
    now = certify(game, game.best_responses(found.epsilon))
    near = np.abs(now.epsilon - found.epsilon) <= NEAR * game.owners.epsilon_max
    if not (now.converged and near.all()):
        return found
    return replace(
        found, epsilon=now.epsilon, payments=now.payments, regret=now.regret, relative_regret=now.relative_regret
    )


def best_policy(
    game: Game, family: Family, *, rng: np.random.Generator, aim: str = "surplus", points: int = 25, **search: Any
) -> Design:
    """The parameters that are best for the learner among those that are feasible, the owners in equilibrium.

    ``max V (outside - psi(epsilon*)) - sum of payments`` subject to the budget and to every owner's individual
    rationality. The objective may jump where the owners' equilibrium does: one parameter is searched on a grid of
    equal ratios whose best cells are narrowed by golden section, several by Nelder and Mead's simplex in logarithms
    from the best of a low-discrepancy set.

    Parameters
    ----------
    game : Game, its own policy set aside
    family : Family
    rng : numpy.random.Generator
        Drawn from once, so that every policy is judged by the same starts.
    aim : "surplus" (the learner's) or "fitness" (the best model)
    points : int, grid points; of a low-discrepancy set with several parameters
    **search : budget, starts and optimistic, as in `evaluate`

    Returns
    -------
    Design
        The best feasible one; where none is, the one nearest to feasible, with ``feasible`` False.

    Raises
    ------
    ValueError
        An unknown aim, or fewer than 3 points.

    Source: von Stackelberg (1934), the leader's problem.

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
    >>> best = best_policy(Game(owners, None, Law(), 200.0), Family(Posted, 0.1, 50.0), rng=np.random.default_rng(0))
    >>> round(float(best.parameters[0]), 5), best.feasible
    (2.0, True)
    """
    if aim not in ("surplus", "fitness"):
        raise ValueError(f"aim must be surplus or fitness; found {aim!r}")
    if points < 3:
        raise ValueError(f"points must be at least 3; found {points}")
    seed = int(rng.integers(2**63))
    tried: list[Design] = []

    def attempt(parameters: Any) -> tuple[float, float]:
        tried.append(evaluate(game, family.make, parameters, rng=np.random.default_rng(seed), **search))
        return _rank(tried[-1], aim)

    if np.ndim(family.low) == 0:
        _grid_and_golden_section(attempt, float(family.low), float(family.high), points)
    else:
        _nelder_mead(attempt, family, points, np.random.default_rng(seed))
    return max(tried, key=lambda design: _rank(design, aim))


def _rank(design: Design, aim: str) -> tuple[float, float]:
    """What designs are ordered by: first how near to feasible, then the aim."""
    return -design.violation, design.surplus if aim == "surplus" else -design.fitness


def _grid_and_golden_section(attempt: Attempt, low: float, high: float, points: int) -> None:
    """Try one parameter on a grid of equal ratios, then narrow its best cells."""

    @cache
    def rank(log: float) -> tuple[float, float]:
        return attempt(float(np.exp(log)))

    grid = np.geomspace(low, high, points)
    ranks = [attempt(float(at)) for at in grid]
    order = sorted(range(points), key=lambda at: ranks[at], reverse=True)
    peaks = [at for at in order if all(ranks[at] >= ranks[near] for near in (at - 1, at + 1) if 0 <= near < points)]
    for at in peaks[:3]:
        left, right = np.log(grid[max(at - 1, 0)]), np.log(grid[min(at + 1, points - 1)])
        inner, outer = right - GOLDEN * (right - left), left + GOLDEN * (right - left)
        while True:
            falls = rank(inner) >= rank(outer)
            if right - left <= PRECISE:
                break
            if falls:
                right, outer = outer, inner
                inner = right - GOLDEN * (right - left)
            else:
                left, inner = inner, outer
                outer = left + GOLDEN * (right - left)


def _nelder_mead(attempt: Attempt, family: Family, points: int, rng: np.random.Generator) -> None:
    """Try several parameters on a low-discrepancy set, then by a simplex from its best, in logarithms."""
    low, high = np.asarray(family.low, dtype=float), np.asarray(family.high, dtype=float)
    base, span = np.log(low), np.log(high / low)
    spread = qmc.Halton(len(low), rng=rng).random(points)
    ranks = [attempt(np.exp(base + span * part)) for part in spread]
    worst = min(rank[1] for rank in ranks)
    scale = max(rank[1] for rank in ranks) - worst + 1e-12 * abs(worst) + 1e-300

    def loss(part: np.ndarray) -> float:
        missed, value = attempt(np.exp(base + span * np.clip(part, 0, 1)))
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


def compare_at_spending(
    game: Game, families: Mapping[str, Family], spending: float, *, rng: np.random.Generator, **search: Any
) -> dict[str, Design]:
    """The best model that each policy buys for the same money.

    Parameters
    ----------
    game : Game, its own policy set aside
    families : dict of Family by name
    spending : float, money the learner may pay at most; ``Design.spending`` says what it does pay
    **search : as in `best_policy`

    Returns
    -------
    dict of Design, in the order given
    """
    seed = int(rng.integers(2**63))
    return {
        name: best_policy(game, family, rng=np.random.default_rng(seed), budget=spending, aim="fitness", **search)
        for name, family in families.items()
    }


@dataclass(frozen=True)
class Frontier:
    """What a model costs: one row per value of the parameter swept.

    Attributes
    ----------
    parameter : (m,) or (m, d), of the policy
    spending, fitness, surplus : (m,), money paid, psi, the learner's surplus
    epsilon : (m, n_owners)
    feasible : (m,), bool
    """

    parameter: np.ndarray
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
    game: Game, make: MakePolicy, parameters: Sequence[Any] | np.ndarray, *, rng: np.random.Generator, **search: Any
) -> Frontier:
    """Payment against fitness as a policy's parameter sweeps over ``parameters`` (m,) or (m, d).

    ``search`` is budget, starts and optimistic, as in `evaluate`; every policy is judged by the
    same starts.
    """
    seed = int(rng.integers(2**63))
    rows = [evaluate(game, make, at, rng=np.random.default_rng(seed), **search) for at in parameters]
    columns = [(row.spending, row.fitness, row.surplus, row.equilibrium.epsilon, row.feasible) for row in rows]
    swept = np.array([row.parameters for row in rows])
    swept = swept[:, 0] if swept.shape[1] == 1 else swept
    return Frontier(swept, *(np.array(column) for column in zip(*columns, strict=True)))
