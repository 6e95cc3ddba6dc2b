"""Owners who sell to several learners: budgets add up, and privacy is lost to the sum.

An owner's choice is a row of budgets, one for each learner it is linked to. Learners meet only through owners: what
one buys makes an owner dearer, or cheaper, to the next.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from learning.errors import InputError
from market.competition.allocation import Choice
from market.equilibrium.stopping import RETURN, moved
from market.game.game import Game, relative
from market.game.owners import Owners

CERTIFIED = 1e-8  # largest relative regret of an equilibrium
NEARLY = 1e-6  # budgets below this part of an owner's upper end are given up at once by who wants none
SAME = 1e-6  # equilibria closer than this part of every owner's upper end are one


@dataclass(frozen=True)
class Learner:
    """One who buys: its policy, its forecast (None where no payoff depends on the model) and its value for fitness."""

    name: str
    policy: Any
    forecast: Any = None
    value: float = 0.0


@dataclass(frozen=True)
class Competition:
    """Owners, several learners, and who may sell to whom.

    Owner i's surplus is ``sum over learners j of (payment_ij + benefit_ij) - cost_i(sum over j of epsilon_ij)``. By basic
    composition the budgets spent on one record add up, whoever they are spent with. The owner's interval bounds
    that sum. A policy sees its own learner's column only; one that pays by cost takes the column for all there is.

    Parameters
    ----------
    owners : Owners
    learners : tuple of Learner
    links : bool (n_owners, n_learners), optional
        Who may sell to whom; everybody to everybody without it.

    Raises
    ------
    InputError
        No learner, two of one name, links of another shape, or an owner that must share but has no link.

    >>> from market.costs.functions import Quadratic
    >>> from market.policies.payments import Proportional
    >>> owners = Owners(("A", "B"), 1, 0.0, 10.0, Quadratic(1.0))
    >>> contests = (Learner("one", Proportional(9.0, "epsilon")), Learner("two", Proportional(27.0, "epsilon")))
    >>> found = solve_competition(Competition(owners, contests), rng=np.random.default_rng(0))
    >>> found.epsilon.round(6).tolist(), found.costs.round(6).tolist()  # 3^2/2 for the sum, not 0.75^2/2 + 2.25^2/2
    ([[0.75, 2.25], [0.75, 2.25]], [4.5, 4.5])
    """

    owners: Owners
    learners: tuple[Learner, ...]
    links: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "learners", tuple(self.learners))
        names = [learner.name for learner in self.learners]
        if not names:
            raise InputError("learners", "a market needs at least one learner", "none")
        if len(set(names)) < len(names):
            raise InputError("learners", "each needs a name of its own", names)
        shape = (len(self.owners), len(names))
        links = np.ones(shape, dtype=bool) if self.links is None else np.array(self.links)
        if links.shape != shape or not np.isin(links, (0, 1)).all():
            found = f"{links.dtype} of shape {links.shape}"
            raise InputError("links", f"must be true or false for {shape[0]} owners and {shape[1]} learners", found)
        links = links.astype(bool)
        links.flags.writeable = False
        object.__setattr__(self, "links", links)
        stuck = ~links.any(axis=1) & (self.owners.epsilon_min > 0)
        if stuck.any():
            found = self.owners.names[int(np.argmax(stuck))]
            raise InputError("links", "an owner that must share needs a learner to share with", found)
        _ = self.games  # refuses a policy whose columns do not fit

    @cached_property
    def games(self) -> tuple[Game, ...]:
        """One market for each learner, in which an owner's interval is what this learner alone could be given."""
        alone = self.links.sum(axis=1) == 1  # who has one learner owes it the whole of its least budget
        made = []
        for j, learner in enumerate(self.learners):
            least = np.where(alone & self.links[:, j], self.owners.epsilon_min, 0.0)
            people = replace(self.owners, epsilon_min=least, epsilon_max=self.owners.epsilon_max * self.links[:, j])
            made.append(Game(people, learner.policy, learner.forecast, learner.value))
        return tuple(made)

    def payments(self, epsilon: np.ndarray) -> np.ndarray:
        """Money each learner pays each owner at a profile, both (n_owners, n_learners)."""
        profile = self.profile(epsilon)
        paid = np.stack([game.payments(profile[:, j]) for j, game in enumerate(self.games)], axis=1)
        return np.where(self.links, paid, 0.0)

    def benefits(self, epsilon: np.ndarray) -> np.ndarray:
        """Money each learner's model is worth to each owner at a profile, both (n_owners, n_learners)."""
        profile = self.profile(epsilon)
        return np.stack([game.benefits(profile[:, j]) for j, game in enumerate(self.games)], axis=1)

    def costs(self, epsilon: np.ndarray) -> np.ndarray:
        """Money each owner loses (n_owners,): the cost of its sum, once, and its fixed cost, once."""
        return self.owners.costs(self.profile(epsilon).sum(axis=1))

    def payoffs(self, epsilon: np.ndarray) -> np.ndarray:
        """Surplus of each owner at a profile (n_owners, n_learners): (n_owners,)."""
        return (self.payments(epsilon) + self.benefits(epsilon)).sum(axis=1) - self.costs(epsilon)

    def learner_surplus(self, epsilon: np.ndarray) -> np.ndarray:
        """Each learner's gain over its outside option less what it pays at a profile: (n_learners,)."""
        profile = self.profile(epsilon)
        gains = [g.value * (g.forecast.outside - g.fitness(profile[:, j])) for j, g in enumerate(self.games)]
        return np.array(gains) - self.payments(profile).sum(axis=0)

    def best_responses(self, epsilon: np.ndarray, owners: np.ndarray | None = None) -> np.ndarray:
        """The row of budgets (n, n_learners) that maximises each owner's surplus, the others as they are.

        Line searches over each learner's budget and over transfers between two learners, each global, from where
        the owner stands and from the best split on a grid. Who is indifferent shares less, and with the learner
        named first.
        """
        return Choice.of(self, self.profile(epsilon), owners).best()

    def certificate(self, epsilon: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Regret and its scale, (n_owners,) each, as `market.game.game.Game.certificate`, by another search.

        Low-discrepancy splits over every set of learners, and a climb without slopes from the best of them.
        """
        profile = self.profile(epsilon)
        return Choice.of(self, profile).certificate(profile)

    def profile(self, epsilon: np.ndarray) -> np.ndarray:
        """A profile (n_owners, n_learners) as floats.

        Raises
        ------
        ValueError
            Another shape, or a budget where there is no link.
        """
        profile = np.asarray(epsilon, dtype=float)
        if profile.shape != self.links.shape:
            raise ValueError(f"epsilon must have shape {self.links.shape}; found {profile.shape}")
        if np.any(profile[~self.links] != 0):
            raise ValueError("epsilon must be 0 where an owner and a learner are not linked")
        return profile


@dataclass(frozen=True)
class CompetitionEquilibrium:
    """A profile of budgets with its certificate; an equilibrium only if ``converged``.

    Attributes
    ----------
    epsilon, payments : (n_owners, n_learners)
    costs : (n_owners,), of each owner's sum of budgets, money
    regret : (n_owners,), money each owner could still gain by changing its row alone
    relative_regret : (n_owners,), the same as a part of what it has at stake
    converged : bool, no relative regret above 1e-8
    reason : "certified", "several", "cycle found" or "not converged"
    iterations : int, rounds from the start that led here
    method : "sequential" or "simultaneous"
    others : tuple of CompetitionEquilibrium, the other equilibria found
    """

    epsilon: np.ndarray
    payments: np.ndarray
    costs: np.ndarray
    regret: np.ndarray
    relative_regret: np.ndarray
    converged: bool
    reason: str
    iterations: int
    method: str
    others: tuple[CompetitionEquilibrium, ...] = ()


def solve_competition(
    market: Competition,
    *,
    rng: np.random.Generator,
    method: str = "sequential",
    start: np.ndarray | None = None,
    starts: int = 4,
    tol: float = 1e-9,
    max_rounds: int = 300,
    damping: float = 0.5,
) -> CompetitionEquilibrium:
    """Equilibria of owners who sell to several learners, from several starts, each certified.

    Parameters
    ----------
    market : Competition
    rng : numpy.random.Generator
        Draws starts beyond the first three.
    method : str
        "sequential": owners choose their rows one after another, and, where that leads round in circles, go ``damping``
        of the way. "simultaneous": all at once, going ``damping`` of the way; quicker a round, but where many share a
        budget it swings unless damping is about one over their number.
    start : (n_owners, n_learners), optional
        The first start.
    starts : int
        Starts in all: the given one, all at their least, at their most and half way, evenly split, and random splits.
    tol : float
        A path ends when no budget moves by more than this part of the owner's upper end.
    max_rounds : int
        Rounds at most, per start.
    damping : float, in (0, 1]

    Returns
    -------
    CompetitionEquilibrium
        From the first start that leads to one; where none does, the profile of least regret. Never raises for
        non-convergence. With one learner it is what `market.equilibrium.solver.solve` finds.

    Raises
    ------
    ValueError
        An unknown method, no start, or damping not in (0, 1].
    """
    if method not in ("sequential", "simultaneous"):
        raise ValueError(f"method must be sequential or simultaneous; found {method!r}")
    if starts < 1 or not 0 < damping <= 1:
        raise ValueError(f"starts must be at least 1, damping in (0, 1]; found {starts}, {damping}")
    found: list[CompetitionEquilibrium] = []
    for origin in _origins(market, rng, starts, start):
        profile, rounds, end = walk(market, origin, method, tol, max_rounds, 1.0 if method == "sequential" else damping)
        if method == "sequential" and end != "rest":
            profile, more, _ = walk(market, profile, method, tol, max_rounds, damping)
            rounds += more
        regret, scale = market.certificate(profile)
        ratio = relative(regret, scale)
        converged = bool(ratio.max() <= CERTIFIED)
        reason = "certified" if converged else "cycle found" if end == "cycle" else "not converged"
        paid, costs = market.payments(profile), market.costs(profile)
        found.append(CompetitionEquilibrium(profile, paid, costs, regret, ratio, converged, reason, rounds, method))
    return _merge(market, found)


def _origins(market: Competition, rng: np.random.Generator, starts: int, start: np.ndarray | None) -> list[np.ndarray]:
    """Profiles to start from (n_owners, n_learners)."""
    low, high, links = market.owners.epsilon_min, market.owners.epsilon_max, market.links
    even = links / np.maximum(links.sum(axis=1), 1)[:, None]
    first = [] if start is None else [market.profile(start)]
    first += [total[:, None] * even for total in (low, high, 0.5 * (low + high))]
    while len(first) < starts:
        weights = links * rng.exponential(size=links.shape)
        share = weights / np.maximum(weights.sum(axis=1), np.finfo(float).tiny)[:, None]
        first.append((low + (high - low) * rng.random(len(low)))[:, None] * share)
    return first[:starts]


def walk(
    market: Competition, profile: np.ndarray, method: str, tol: float, max_rounds: int, damping: float
) -> tuple[np.ndarray, int, str]:
    """Where owners come to rest, after how many rounds, and how: "rest", "cycle" or "limit"."""
    width = np.where(market.owners.epsilon_max > 0, market.owners.epsilon_max, 1.0)[:, None]
    landmark = profile
    for count in range(1, max_rounds + 1):
        fresh = profile.copy()
        if method == "sequential":
            for i in range(len(profile)):
                fresh[i] = _toward(fresh[i], market.best_responses(fresh, np.array([i]))[0], damping, width[i])
        else:
            fresh = _toward(profile, market.best_responses(profile), damping, width)
        step, back = np.max(moved(profile, fresh, width)), np.max(moved(landmark, fresh, width))
        profile = fresh
        if step <= tol:
            return profile, count, "rest"
        if count >= 2 and back <= RETURN * step:
            return profile, count, "cycle"
        if count & (count - 1) == 0:  # Brent: a landmark at every power of two is passed again by any cycle
            landmark = profile
    return profile, max_rounds, "limit"


def _toward(now: np.ndarray, response: np.ndarray, damping: float, width: np.ndarray) -> np.ndarray:
    """Part of the way to a response; who leaves a learner does so in the end."""
    there = (response == 0) & (now <= NEARLY * width)
    return response if damping == 1 else np.where(there, 0.0, now + damping * (response - now))


def _merge(market: Competition, found: list[CompetitionEquilibrium]) -> CompetitionEquilibrium:
    """The first equilibrium with the other distinct ones, or the profile of least regret."""
    width = np.where(market.owners.epsilon_max > 0, market.owners.epsilon_max, 1.0)[:, None]
    distinct: list[CompetitionEquilibrium] = []
    for one in found:
        if one.converged and all(np.max(np.abs(one.epsilon - two.epsilon) / width) > SAME for two in distinct):
            distinct.append(one)
    if not distinct:
        return min(found, key=lambda one: float(one.relative_regret.max()))
    reason = "several" if len(distinct) > 1 else "certified"
    return replace(distinct[0], reason=reason, others=tuple(distinct[1:]))
