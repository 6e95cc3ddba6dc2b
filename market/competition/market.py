"""Owners who sell to several learners: budgets add up, and privacy is lost to the sum.

An owner's choice is a row of budgets, one for each learner it is linked to. Learners interact only
through owners: one's purchase changes an owner's marginal cost for the next.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from learning.errors import InputError
from market.analysis.welfare import learner_gain
from market.columns import Array, Pair
from market.competition.allocation import Allocations, best_rows, certify_allocations
from market.game.game import Game
from market.game.owners import Owners


@dataclass(frozen=True)
class Learner:
    """A buyer: its policy, its forecast (None without a model) and its value of fitness."""

    name: str
    policy: Any
    forecast: Any = None
    value: float = 0.0


@dataclass(frozen=True, eq=False)
class Competition:
    """Owners, several learners, and the links between them.

    Owner i's surplus is ``sum over learners j of (payment_ij + benefit_ij) - cost_i(sum over j of
    epsilon_ij)``. By basic composition the budgets spent on one record add up over learners. The
    owner's interval bounds that sum. A policy sees its own learner's column only; one that pays by
    cost takes the column as the whole.

    Parameters
    ----------
    owners : Owners
    learners : tuple of Learner
    links : bool (n_owners, n_learners), optional, who may sell to whom; all by default

    Raises
    ------
    InputError
        No learner, two of one name, links of another shape, or an owner that must share but has no
        link.

    The sum of 3 costs 3^2/2:

    >>> from market.competition.solver import solve_competition
    >>> from market.costs.functions import Quadratic
    >>> from market.policies.proportional import Proportional
    >>> budgets = {"one": 9.0, "two": 27.0}
    >>> contests = [Learner(name, Proportional(paid, "epsilon")) for name, paid in budgets.items()]
    >>> market = Competition(Owners(("A", "B"), 1, 0.0, 10.0, Quadratic(1.0)), contests)
    >>> found = solve_competition(market, rng=np.random.default_rng(0))
    >>> found.epsilon.round(6).tolist(), market.costs(found.epsilon).round(6).tolist()
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
            raise InputError("learners", "must have different names", names)
        shape = (len(self.owners), len(names))
        links = np.ones(shape, dtype=bool) if self.links is None else np.array(self.links)
        if links.shape != shape or not np.isin(links, (0, 1)).all():
            found = f"{links.dtype} of shape {links.shape}"
            rule = f"must be true or false for {shape[0]} owners and {shape[1]} learners"
            raise InputError("links", rule, found)
        links = links.astype(bool)
        links.flags.writeable = False
        object.__setattr__(self, "links", links)
        stuck = ~self.links.any(axis=1) & (self.owners.epsilon_min > 0)
        if stuck.any():
            found = self.owners.names[int(np.argmax(stuck))]
            rule = "an owner that must share needs a learner to share with"
            raise InputError("links", rule, found)
        # Refuses a policy whose columns do not fit.
        _ = self.games

    @cached_property
    def games(self) -> tuple[Game, ...]:
        """One game for each learner, in which an owner's interval is bounded by that learner alone.

        An owner with one learner owes it its whole least budget. An owner's cost cannot be
        divided among the learners that buy, so all promises count.
        """
        alone = self.links.sum(axis=1) == 1
        made = []
        for j, learner in enumerate(self.learners):
            least = np.where(alone & self.links[:, j], self.owners.epsilon_min, 0.0)
            most = self.owners.epsilon_max * self.links[:, j]
            owners = replace(self.owners, epsilon_min=least, epsilon_max=most)
            parts = (learner.policy, learner.forecast, learner.value)
            made.append(Game(owners, *parts, unconditional=True))
        return tuple(made)

    def payments(self, epsilon: Array) -> Array:
        """Payments of each learner to each owner at a profile, (n_owners, n_learners)."""
        profile = self.profile(epsilon)
        paid = [game.payments(profile[:, j]) for j, game in enumerate(self.games)]
        return np.where(self.links, np.stack(paid, axis=1), 0.0)

    def costs(self, epsilon: Array) -> Array:
        """Cost of each owner's sum of budgets, and its fixed cost once (n_owners,)."""
        return self.owners.costs(self.profile(epsilon).sum(axis=1))

    def payoffs(self, epsilon: Array) -> Array:
        """Surplus of each owner at a profile (n_owners, n_learners): (n_owners,)."""
        profile = self.profile(epsilon)
        gained = [game.benefits(profile[:, j]) for j, game in enumerate(self.games)]
        income = self.payments(profile) + np.stack(gained, axis=1)
        return income.sum(axis=1) - self.costs(profile)

    def learner_surplus(self, epsilon: Array) -> Array:
        """Gain of each learner over its outside option less its payments: (n_learners,)."""
        profile = self.profile(epsilon)
        gains = [learner_gain(g, profile[:, j]) for j, g in enumerate(self.games)]
        return np.array(gains) - self.payments(profile).sum(axis=0)

    def allocations(self, profile: Array, owners: Array | None = None) -> Allocations:
        """Unilateral deviations of all owners from a profile, or of some (n,)."""
        index = np.arange(len(profile)) if owners is None else owners
        moves = [game.deviations(profile[:, j], index) for j, game in enumerate(self.games)]
        return Allocations(self.owners.take(index), self.links[index], tuple(moves), profile[index])

    def best_responses(self, epsilon: Array, owners: Array | None = None) -> Array:
        """Best row of budgets (n, n_learners) of each owner, the others' budgets fixed.

        Global line searches over each learner's budget and over transfers between two learners,
        from the present row and from the best split on a grid. An indifferent owner shares less,
        and with the learner named first.
        """
        return best_rows(self.allocations(self.profile(epsilon), owners))

    def certificate(self, epsilon: Array) -> Pair:
        """Regret and its scale, (n_owners,) each, as `Game.certificate`, by another search.

        Low-discrepancy splits over every set of learners, and a search without slopes from the best
        of them.
        """
        return certify_allocations(self.allocations(self.profile(epsilon)))

    def profile(self, epsilon: Array) -> Array:
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
