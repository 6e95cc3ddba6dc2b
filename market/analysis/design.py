"""The learner's problem: which policy to post, when the owners respond with an equilibrium (a Stackelberg game)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import scipy

from market.analysis.refusal import at_refusal
from market.analysis.welfare import Participation, learner_surplus, participation
from market.equilibrium.solver import Equilibrium, certify, merge, solve
from market.equilibrium.starts import entry_points
from market.equilibrium.stopping import upper_ends
from market.game.game import Game

GOLDEN = (np.sqrt(5) - 1) / 2
NEAR = 1e-5  # an equilibrium moved by less than this part of the upper ends is still the same one
PRECISE = 1e-6  # a bracket this narrow, relative, has found the parameter: the objective is flat beyond

COARSE = 0.05  # a later bracket is narrowed no further, relative, where an earlier one holds a better policy
ENTRIES = 4  # every so many policies of a survey are also started from sets of owners who share
ALIKE = 1e-2  # equilibria of policies next to each other within this part of the upper ends are on one branch
CHECKS = 4  # times that the best policy is judged from everywhere, and the search repeated where it does not hold
BRANCHES = 2  # surveyed policies nearest to a new one, from whose equilibria its own are sought

MakePolicy = Callable[[Any], Any]


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
    equilibria : tuple of (n_owners,), every equilibrium found, this one among them
    bound : bool, whether owners take part though they lose by it, so that the learner need not mind
    at_refusal : bool, whether the learner pays there for a model no better than its own (`market.analysis.refusal`)
    """

    parameters: np.ndarray
    policy: Any
    equilibrium: Equilibrium
    fitness: float
    spending: float
    surplus: float
    participation: Participation
    equilibria: tuple[np.ndarray, ...] = ()
    bound: bool = False
    at_refusal: bool = False

    @property
    def feasible(self) -> bool:
        """Certified, within the budget, individually rational unless owners are bound, and off the edge of refusal."""
        part = self.participation
        willing = part.within_budget if self.bound else part.feasible
        return self.equilibrium.converged and willing and not self.at_refusal

    @property
    def violation(self) -> float:
        """How far from feasible, 0 where it is: parts of the bill by which budget and owners are missed."""
        size = np.abs(self.participation.surplus).sum() + abs(self.spending) + 1e-300
        unwilling = ~self.participation.rational & (not self.bound)
        missing = np.where(unwilling, -self.participation.surplus, 0.0).sum()
        over = 0.0 if self.participation.within_budget else self.spending - self.participation.budget
        return float((missing + over) / size) + float(not self.equilibrium.converged) + float(self.at_refusal)


def evaluate(
    game: Game,
    make: MakePolicy,
    parameters: Any,
    *,
    rng: np.random.Generator,
    budget: float = np.inf,
    starts: int = 3,
    optimistic: bool = False,
    bound: bool = False,
    also: Sequence[np.ndarray] = (),
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
    bound : bool
        Whether owners take part though they lose by it; otherwise what they would leave is not feasible.
    also : profiles (n_owners,) to start from besides

    Returns
    -------
    Design
    """
    offered = replace(game, policy=make(parameters))
    searches = [solve(offered, rng=rng, starts=starts)] if starts else []
    searches += [solve(offered, rng=rng, starts=1, start=origin) for origin in also]
    found = merge([one for search in searches for one in (search, *search.others)], upper_ends(game.owners))
    choices = [_refined(offered, one) for one in (found, *found.others)]
    surpluses = [learner_surplus(offered, one.epsilon) for one in choices]
    at = int(np.argmax(surpluses) if optimistic else np.argmin(surpluses))
    part = participation(offered, choices[at].epsilon, budget=budget)
    given = np.atleast_1d(np.asarray(parameters, dtype=float))
    fitness = offered.fitness(choices[at].epsilon)
    everywhere = tuple(one.epsilon for one in choices)
    edge = at_refusal(offered, choices[at].epsilon)
    return Design(
        given, offered.policy, choices[at], fitness, part.spending, surpluses[at], part, everywhere, bound, edge
    )


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
    **search : budget, starts, optimistic and bound, as in `evaluate`

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
    return explore(game, family, rng=rng, aim=aim, points=points, **search).best


def explore(
    game: Game,
    family: Family,
    *,
    rng: np.random.Generator,
    aim: str = "surplus",
    points: int = 25,
    precision: float = PRECISE,
    **search: Any,
) -> Study:
    """All that `best_policy` tries on its way, with the same parameters; the best of it is ``Study.best``.

    Parameters
    ----------
    precision : float, how near a single parameter is found, relative
    """
    if aim not in ("surplus", "fitness"):
        raise ValueError(f"aim must be surplus or fitness; found {aim!r}")
    if points < 3:
        raise ValueError(f"points must be at least 3; found {points}")
    single = np.ndim(family.low) == 0
    study = Study(game, family.make, aim, single, int(rng.integers(2**63)), search, precision=precision)
    low, high = np.asarray(family.low, dtype=float), np.asarray(family.high, dtype=float)
    if single:
        study.survey([float(at) for at in np.geomspace(low, high, points)])
    else:
        spread = scipy.stats.qmc.Halton(len(low), rng=np.random.default_rng(study.seed)).random(points)
        study.survey([low * (high / low) ** part for part in spread])
    for _ in range(CHECKS):
        if single:
            _golden_section(study)
        else:
            _nelder_mead(study, low, high)
        if study.holds():
            break
    return study


@dataclass
class Study:
    """The policies tried, each by the same starts and by the equilibria of policies like it.

    Attributes
    ----------
    game, make, aim : as in `best_policy`
    single : bool, whether parameters are one number
    seed : int, of the starts
    search : budget, starts and optimistic, as in `evaluate`
    tried : list of Design
    surveyed : list of Design, those that were started from everywhere
    precision : float, how near a single parameter is found, relative
    """

    game: Game
    make: MakePolicy
    aim: str
    single: bool
    seed: int
    search: Mapping[str, Any]
    tried: list[Design] = field(default_factory=list)
    surveyed: list[Design] = field(default_factory=list)
    precision: float = PRECISE

    @property
    def best(self) -> Design:
        """The best policy that was surveyed."""
        return max(self.surveyed, key=self.rank)

    def survey(self, policies: Sequence[Any]) -> None:
        """Try policies from everywhere, and from the equilibria of those surveyed next to them, there and back."""
        for number, parameters in enumerate(policies):
            entries = entry_points(self.game) if number % ENTRIES == 0 else []
            self.surveyed.append(self._evaluate(parameters, [*self.nearby(parameters), *entries]))
        for at in range(len(self.surveyed) - 2, -1, -1):
            here, after = self.surveyed[at], self.surveyed[at + 1]
            if len(after.equilibria) > len(here.equilibria):
                self.surveyed[at] = self._evaluate(self.given(here), [*here.equilibria, *after.equilibria], starts=0)
        self.tried = list(self.surveyed)

    def holds(self) -> bool:
        """Whether the best policy tried is as good once its equilibria are sought from everywhere; it is surveyed by that.

        Where it is not, only what was surveyed counts as tried: the rest was judged without the equilibria found now.
        """
        best = max(self.tried, key=self.rank)
        also = [*best.equilibria, *self.nearby(self.given(best)), *entry_points(self.game)]
        checked = self._evaluate(self.given(best), also)
        self.surveyed = [one for one in self.surveyed if not np.array_equal(one.parameters, best.parameters)] + [
            checked
        ]
        (missed, value), (missed_now, now) = self.rank(best), self.rank(checked)
        self.tried = list(self.surveyed)
        return missed_now >= missed and now >= value - NEAR * abs(value)

    def attempt(self, parameters: Any) -> tuple[float, float]:
        """Try parameters from the equilibria of the surveyed policies next to them; gives their rank."""
        return self.rank(self._evaluate(parameters, self.nearby(parameters), starts=0))

    def nearby(self, parameters: Any) -> list[np.ndarray]:
        """Equilibria of the surveyed policies nearest in logarithms, those alike once."""
        apart = [float(np.abs(np.log(one.parameters / parameters)).max()) for one in self.surveyed]
        found: list[np.ndarray] = []
        for near in np.argsort(apart, kind="stable")[:BRANCHES]:
            width = ALIKE * upper_ends(self.game.owners)
            for epsilon in self.surveyed[near].equilibria:
                if all((np.abs(epsilon - other) > width).any() for other in found):
                    found.append(epsilon)
        return found

    def given(self, design: Design) -> Any:
        """The parameters of a design as ``make`` takes them."""
        return float(design.parameters[0]) if self.single else design.parameters

    def rank(self, design: Design) -> tuple[float, float]:
        """What designs are ordered by: first how near to feasible, then the aim."""
        return -design.violation, design.surplus if self.aim == "surplus" else -design.fitness

    def _evaluate(self, parameters: Any, also: Sequence[np.ndarray], **changes: Any) -> Design:
        options = {**self.search, **changes, "also": also}
        self.tried.append(evaluate(self.game, self.make, parameters, rng=np.random.default_rng(self.seed), **options))
        return self.tried[-1]


def _golden_section(study: Study) -> None:
    """Narrow the best cells between the policies surveyed, of one parameter."""

    @cache
    def rank(log: float) -> tuple[float, float]:
        return study.attempt(float(np.exp(log)))

    surveyed = sorted(study.surveyed, key=lambda design: float(design.parameters[0]))
    grid, ranks = [float(design.parameters[0]) for design in surveyed], [study.rank(design) for design in surveyed]
    points = len(grid)
    order = sorted(range(points), key=lambda at: ranks[at], reverse=True)
    peaks = [at for at in order if all(ranks[at] >= ranks[near] for near in (at - 1, at + 1) if 0 <= near < points)]
    best = (-np.inf, -np.inf)  # of the brackets before
    for at in peaks[:3]:
        left, right = np.log(grid[max(at - 1, 0)]), np.log(grid[min(at + 1, points - 1)])
        inner, outer = right - GOLDEN * (right - left), left + GOLDEN * (right - left)
        while True:
            falls = rank(inner) >= rank(outer)
            here = max(rank(inner), rank(outer))
            if right - left <= (COARSE if here < best else study.precision):
                best = max(best, here)
                break
            if falls:
                right, outer = outer, inner
                inner = right - GOLDEN * (right - left)
            else:
                left, inner = inner, outer
                outer = left + GOLDEN * (right - left)


def _nelder_mead(study: Study, low: np.ndarray, high: np.ndarray) -> None:
    """A simplex from the best policies surveyed, of several parameters, in logarithms."""
    base, span = np.log(low), np.log(high / low)
    spread = [(np.log(design.parameters) - base) / span for design in study.surveyed]
    ranks = [study.rank(design) for design in study.surveyed]
    worst = min(rank[1] for rank in ranks)
    scale = max(rank[1] for rank in ranks) - worst + 1e-12 * abs(worst) + 1e-300

    def loss(part: np.ndarray) -> float:
        missed, value = study.attempt(np.exp(base + span * np.clip(part, 0, 1)))
        return -(value - worst) / scale if missed == 0 else 2 - missed  # every infeasible one is worse

    for at in sorted(range(len(ranks)), key=lambda at: ranks[at], reverse=True)[:2]:
        start, step, least = spread[at], 0.15, np.inf
        for _ in range(4):  # a simplex may fall flat on the edge of what is feasible: started afresh, smaller
            corners = np.vstack([start, start + np.diag(np.where(start + step <= 1, step, -step))])
            options = {"initial_simplex": corners, "xatol": 1e-7, "fatol": 1e-12, "maxfev": 120 * len(low)}
            end = scipy.optimize.minimize(loss, start, method="Nelder-Mead", options=options)
            gained, least = least - end.fun, end.fun
            start, step = np.clip(end.x, 0, 1), step / 8
            if gained < 1e-9:
                break
