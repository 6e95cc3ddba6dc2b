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
from market.competition.allocation import Allocations, certificate
from market.competition.row_search import best_rows
from market.game.game import Game
from market.game.owners import Owners


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

    >>> from market.competition.solver import solve_competition
    >>> from market.costs.functions import Quadratic
    >>> from market.policies.proportional import Proportional
    >>> owners = Owners(("A", "B"), 1, 0.0, 10.0, Quadratic(1.0))
    >>> contests = (Learner("one", Proportional(9.0, "epsilon")), Learner("two", Proportional(27.0, "epsilon")))
    >>> market = Competition(owners, contests)
    >>> found = solve_competition(market, rng=np.random.default_rng(0))
    >>> found.epsilon.round(6).tolist(), market.costs(found.epsilon).round(6).tolist()  # 3^2/2 for the sum
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
            # What an owner loses does not tell which of its learners asks: all that is promised counts.
            made.append(Game(people, learner.policy, learner.forecast, learner.value, unconditional=True))
        return tuple(made)

    def payments(self, epsilon: np.ndarray) -> np.ndarray:
        """Money each learner pays each owner at a profile, both (n_owners, n_learners)."""
        profile = self.profile(epsilon)
        paid = np.stack([game.payments(profile[:, j]) for j, game in enumerate(self.games)], axis=1)
        return np.where(self.links, paid, 0.0)

    def costs(self, epsilon: np.ndarray) -> np.ndarray:
        """Money each owner loses (n_owners,): the cost of its sum, once, and its fixed cost, once."""
        return self.owners.costs(self.profile(epsilon).sum(axis=1))

    def payoffs(self, epsilon: np.ndarray) -> np.ndarray:
        """Surplus of each owner at a profile (n_owners, n_learners): (n_owners,)."""
        profile = self.profile(epsilon)
        gained = np.stack([game.benefits(profile[:, j]) for j, game in enumerate(self.games)], axis=1)
        return (self.payments(profile) + gained).sum(axis=1) - self.costs(profile)

    def learner_surplus(self, epsilon: np.ndarray) -> np.ndarray:
        """Each learner's gain over its outside option less what it pays at a profile: (n_learners,)."""
        profile = self.profile(epsilon)
        gains = [g.value * (g.forecast.outside - g.fitness(profile[:, j])) for j, g in enumerate(self.games)]
        return np.array(gains) - self.payments(profile).sum(axis=0)

    def allocations(self, profile: np.ndarray, owners: np.ndarray | None = None) -> Allocations:
        """The unilateral moves of all owners from a profile, or of those numbered in ``owners`` (n,)."""
        index = np.arange(len(profile)) if owners is None else owners
        deviations = tuple(game.deviations(profile[:, j], index) for j, game in enumerate(self.games))
        return Allocations(self.owners.take(index), self.links[index], deviations, profile[index])

    def best_responses(self, epsilon: np.ndarray, owners: np.ndarray | None = None) -> np.ndarray:
        """The row of budgets (n, n_learners) that maximises each owner's surplus, the others as they are.

        Line searches over each learner's budget and over transfers between two learners, each global, from where
        the owner stands and from the best split on a grid. Who is indifferent shares less, and with the learner
        named first.
        """
        return best_rows(self.allocations(self.profile(epsilon), owners))

    def certificate(self, epsilon: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Regret and its scale, (n_owners,) each, as `market.game.game.Game.certificate`, by another search.

        Low-discrepancy splits over every set of learners, and a search without slopes from the best of them.
        """
        return certificate(self.allocations(self.profile(epsilon)))

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
