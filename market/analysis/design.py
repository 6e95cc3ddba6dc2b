"""The outcome of a policy in the owners' equilibrium, and its rank among others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from market.analysis.welfare import Participation, at_refusal, learner_surplus, participation
from market.columns import Array
from market.equilibrium.following import FOLLOWED, follow_equilibrium, solve_quickly
from market.equilibrium.solver import Equilibrium, certify, merge_equilibria, solve
from market.equilibrium.stopping import upper_ends
from market.game.game import Game

# An equilibrium that moves by less than this part of the upper ends is the same one.
NEAR = 1e-5

Rank = tuple[float, float]


@dataclass(frozen=True)
class Design:
    """A policy and its outcome.

    Attributes
    ----------
    policy : the policy
    equilibrium : Equilibrium, the owners' response
    fitness : float, relative fitness psi of the model
    spending : float, the learner's payments
    surplus : float, the learner's gain over its outside option, less its payments
    participation : Participation
    equilibria : tuple of (n_owners,), every equilibrium found
    bound : bool, whether owners take part even at a loss, so that their constraints do not count
    at_refusal : bool, whether the learner pays for a model no better than its own
        (`market.analysis.welfare.at_refusal`)
    parameters : (1,), of the policy in its family
    """

    policy: Any
    equilibrium: Equilibrium
    fitness: float
    spending: float
    surplus: float
    participation: Participation
    equilibria: tuple[Array, ...] = ()
    bound: bool = False
    at_refusal: bool = False
    parameters: Array = field(default_factory=lambda: np.empty(0))

    @property
    def feasible(self) -> bool:
        """True if it is certified, affordable, individually rational, and not at refusal."""
        part = self.participation
        willing = part.within_budget and bool(self.bound or part.rational.all())
        return self.equilibrium.converged and willing and not self.at_refusal

    @property
    def constraint_violation(self) -> float:
        """Violation of the constraints relative to the bill, 0 where feasible."""
        part = self.participation
        size = np.abs(part.surplus).sum() + abs(self.spending) + 1e-300
        unwilling = ~part.rational & (not self.bound)
        missing = np.where(unwilling, -part.surplus, 0.0).sum()
        over = 0.0 if part.within_budget else self.spending - part.budget
        faults = float(not self.equilibrium.converged) + float(self.at_refusal)
        return float((missing + over) / size) + faults


def evaluate_policy(
    game: Game,
    *,
    rng: np.random.Generator,
    budget: float = np.inf,
    starts: int = 3,
    optimistic: bool = False,
    bound: bool = False,
    also: Sequence[Array] = (),
    near: Sequence[Array] = (),
) -> Design:
    """Outcome of a game's policy in the owners' equilibrium.

    Parameters
    ----------
    game : Game, under the policy posted
    budget : float, money
    starts : int, starts of the equilibrium search
    optimistic : bool, whether the learner expects the best of several equilibria; otherwise the
        worst
    bound : bool, whether owners take part even at a loss
    also : further profiles (n_owners,) to start from
    near : equilibria of policies like it, which are followed where whole profiles are settled;
        what cannot be followed is started from, without ``starts`` only if none can
    """
    found = _search_equilibria(game, rng, starts, also, near)
    choices = [_refine_equilibrium(game, one) for one in (found, *found.others)]
    surpluses = [learner_surplus(game, one.epsilon) for one in choices]
    at = int(np.argmax(surpluses) if optimistic else np.argmin(surpluses))
    epsilon = choices[at].epsilon
    part = participation(game, epsilon, budget=budget)
    return Design(
        policy=game.policy,
        equilibrium=choices[at],
        fitness=game.fitness(epsilon),
        spending=part.spending,
        surplus=surpluses[at],
        participation=part,
        equilibria=tuple(one.epsilon for one in choices),
        bound=bound,
        at_refusal=at_refusal(game, epsilon),
    )


def _search_equilibria(
    game: Game,
    rng: np.random.Generator,
    starts: int,
    also: Sequence[Array],
    near: Sequence[Array],
) -> Equilibrium:
    """Search from starts, from further profiles and along equilibria of policies like it."""
    searches = []
    if starts == 1:
        searches = [solve_quickly(game, rng=rng)]
    elif starts:
        searches = [solve(game, rng=rng, starts=starts)]
    searches += [solve_quickly(game, rng=rng, start=origin) for origin in also]
    lost = list(near)
    if not game.additive:
        followed = [(origin, follow_equilibrium(game, origin)) for origin in near]
        searches += [one for _, one in followed if one is not None]
        lost = [origin for origin, one in followed if one is None]
    if starts or not searches:
        searches += [solve_quickly(game, rng=rng, start=origin) for origin in lost]
    every = [one for search in searches for one in (search, *search.others)]
    return merge_equilibria(every, upper_ends(game.owners))


def _refine_equilibrium(game: Game, found: Equilibrium) -> Equilibrium:
    """Equilibrium with more digits, after one more round of best responses.

    A certificate allows an error of a millionth of an interval where an owner's surplus is flat.
    The learner's gain there is not flat, and a search over policies would exploit the error.
    """
    if not found.converged or found.method == FOLLOWED:
        return found
    now = certify(game, game.best_responses(found.epsilon))
    near = np.abs(now.epsilon - found.epsilon) <= NEAR * game.owners.epsilon_max
    if not (now.converged and near.all()):
        return found
    names = ("epsilon", "payments", "regret", "relative_regret")
    return replace(found, **{name: getattr(now, name) for name in names})


def rank_design(design: Design) -> Rank:
    """Order of designs: first the distance from feasibility, then the learner's surplus."""
    return -design.constraint_violation, design.surplus
