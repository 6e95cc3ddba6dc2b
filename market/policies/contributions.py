"""Payments for contributions to the model: marginal ones, and Shapley values.

Shapley values are exact, or from sampled orders of arrival.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from math import comb
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, MultipleOf

from learning.declaration import CountOrZero, PerOwner, PositivePerOwner, Words, parameter
from learning.training.coalitions import EXACT_OWNERS, arrival_orders, shift_count
from market.columns import Array, Pair, column
from market.costs.base import Writer
from market.game.deviations import Deviations
from market.game.game import Game
from market.game.grids import BLOCK
from market.policies.base import Policy, ProfilePolicy

Quantity = Callable[[Deviations, Array], Array]


@dataclass(frozen=True)
class Marginal(Policy):
    """Each owner is paid for its contribution: ``share * V * (psi(reference) - psi(epsilon))``.

    A fee is kept from an owner that sells anything; below its surplus, it moves no budget.

    In the reference the owner is absent (Clarke's pivot) or at the lower end of its interval: that
    moves money, not incentives. With share 1 every owner weighs its cost against the learner's
    whole gain, so a social optimum is an equilibrium. An owner that harms the model is charged.

    Parameters
    ----------
    share : scalar or (n_owners,), the part of the learner's gain that is paid out
    reference : the owner's choice in the reference: absent, or the least that it may sell
    fee : scalar or (n_owners,), money kept from the payment of an owner that sells anything

    Raises
    ------
    InputError
        A share that is not finite and above 0, a negative fee, or an unknown reference.

    Source: Vickrey, Clarke and Groves; Wu et al., The Value of Collaboration, Thm 2 gives a psi
        linear in the sum of 1/epsilon^2, under which the strategies are dominant.
    """

    pays_for_fitness = True
    money = "share"
    share: PositivePerOwner = 1.0
    reference: Literal["absent", "floor"] = "absent"
    fee: PerOwner = 0.0

    def payments(self, epsilon: Array, deviations: Deviations) -> Array:
        if self.reference == "floor":
            reference = deviations.fitness(deviations.owners.epsilon_min[:, None])
        else:
            reference = deviations.fitness_without
        rate = column(self.share, epsilon) * deviations.game.value
        paid = rate * (reference - deviations.fitness(epsilon))
        return paid - column(self.fee, epsilon) * (epsilon > 0) if np.any(self.fee) else paid

    def marginal_payments(self, epsilon: Array, deviations: Deviations) -> Array:
        rate = -column(self.share, epsilon) * deviations.game.value
        return rate * deviations.fitness_slope(epsilon)

    def sentence(self, write: Writer) -> str:
        against = "none of it" if self.reference == "absent" else "the least it may share"
        paid = (
            f"{write.amount(self.share, write.percent)} of what the model gains by what the owner "
            f"shares, compared with {against}"
        )
        if np.any(self.fee):
            paid += f", less a fee of {write.amount(self.fee, write.money)} for a sale"
        return (
            f"The learner pays each owner {paid}; an owner whose noise harms the model is charged."
        )


@dataclass(frozen=True)
class Shapley(ProfilePolicy):
    """Each owner is paid ``share * V * Shapley value``, its mean contribution over all orders.

    The worth of a coalition S is the fitness gained, ``psi(nobody) - psi(S)``, where the owners in
    S share as in the profile and the others nothing. Payments add up to ``share * V *
    (psi(nobody) - psi(everybody))``, in a sample of orders too. The sample depends on ``seed``
    only, so payments are one function of epsilon throughout a game. An owner that harms the model
    on average is charged.

    Not additive: whole profiles are settled, but all coalitions of a move at once.

    Parameters
    ----------
    share : scalar or (n_owners,), the part of the learner's gain that is paid out
    samples : int, even, orders at most where there are too many coalitions: some are drawn, each
        used with its cyclic shifts and their reverses
    seed : int, seed of the drawn orders
    method : "auto" (exact up to 12 owners), "exact" or "sampled"

    Raises
    ------
    InputError
        A share that is not finite and above 0, an odd number of samples or fewer than 4, a
        negative seed, or an unknown method.

    Source: Shapley, A value for n-person games (1953); sampling after Castro, Gomez and Tejada,
        with shifted and reversed orders.

    Two owners, each worth 8 alone and 10 together, share the 10:

    >>> from market.costs.functions import Linear
    >>> from market.game.game import Game
    >>> from market.game.owners import Owners
    >>> class Law:
    ...     outside = 1.0
    ...     def terms(self, epsilon):
    ...         return (epsilon > 0)[..., None].astype(float)
    ...     def excess(self, sums):
    ...         return np.choose(sums[..., 0].astype(int), [1.0, 0.2, 0.0])
    >>> owners = Owners(("A", "B"), 1, 0.0, 1.0, Linear(0.0))
    >>> Game(owners, Shapley(), Law(), 10.0).payments(np.ones(2)).tolist()
    [5.0, 5.0]
    """

    pays_for_fitness = True
    money = "share"
    share: PositivePerOwner = 1.0
    samples: Annotated[int, Ge(4), MultipleOf(2), Words("an even whole number of at least 4")] = 400
    seed: CountOrZero = 0
    method: Literal["auto", "exact", "sampled"] = parameter(default="auto", in_file=False)
    # Each coalition may change its horizon at another epsilon.
    grain = {"points": 240, "peaks": 6}

    def settle(self, epsilon: Array, game: Game) -> Array:
        return self.payments(epsilon[:, None], game.deviations(epsilon))[:, 0]

    def payments(self, epsilon: Array, deviations: Deviations) -> Array:
        average = self._coalition_average(epsilon, deviations, coalition_gains)
        return self._value_shares(deviations) * average

    def marginal_payments(self, epsilon: Array, deviations: Deviations) -> Array:
        average = self._coalition_average(epsilon, deviations, Deviations.fitness_slope)
        return -self._value_shares(deviations) * average

    def standard_error(self, epsilon: Array, game: Game) -> Array:
        """Sampling error of the payments of a profile (n_owners,), money; 0 where exact."""
        n_owners = len(epsilon)
        if self._is_exact(n_owners):
            return np.zeros(n_owners)
        deviations = game.deviations(epsilon)
        met, _ = self._coalitions_met(deviations)
        credits = coalition_gains(met, epsilon[:, None, None])
        each = 2 * shift_count(n_owners, self.samples)
        draws = credits.reshape(n_owners, -1, each).mean(axis=2)
        spread = draws.std(axis=1, ddof=1) / np.sqrt(draws.shape[1])
        return self._value_shares(deviations)[:, 0] * spread

    def sentence(self, write: Writer) -> str:
        return (
            f"The learner pays the owners {write.amount(self.share, write.percent)} of what the "
            "better model is worth to it. Each is paid for what it adds on average over all orders "
            "in which owners could join (its Shapley value)."
        )

    def _is_exact(self, n_owners: int) -> bool:
        return self.method == "exact" or (self.method == "auto" and n_owners <= EXACT_OWNERS)

    def _value_shares(self, deviations: Deviations) -> Array:
        share = np.broadcast_to(self.share, len(deviations.profile))
        return share[deviations.index, None] * deviations.game.value

    def _coalitions_met(self, deviations: Deviations) -> tuple[Deviations, Array]:
        """Deviations against every coalition on arrival, others (n, 1, c, k); their odds (c,)."""
        looked_at = self.samples, self.seed, self.method
        if looked_at not in deviations.kept:
            deviations.kept[looked_at] = self._meet_coalitions(deviations)
        return deviations.kept[looked_at]

    def _meet_coalitions(self, deviations: Deviations) -> tuple[Deviations, Array]:
        terms = deviations.game.forecast.terms(deviations.profile)
        n_owners = len(terms)
        if self._is_exact(n_owners):
            member, odds = _coalition_odds(n_owners)
            sums = [member @ np.delete(terms, owner, axis=0) for owner in deviations.index]
            return replace(deviations, others=np.stack(sums)[:, None]), odds
        orders = arrival_orders(n_owners, self.samples, self.seed)
        reached = np.cumsum(terms[orders], axis=1)
        reached = np.concatenate([np.zeros_like(reached[:, :1]), reached[:, :-1]], axis=1)
        place = np.argsort(orders, axis=1)[:, deviations.index]
        others = np.take_along_axis(reached, place[..., None], axis=1).swapaxes(0, 1)
        return replace(deviations, others=others[:, None]), np.full(len(orders), 1 / len(orders))

    def _coalition_average(self, epsilon: Array, deviations: Deviations, of: Quantity) -> Array:
        """Average of ``of(moves, candidates)`` over the coalitions on arrival (n, m)."""
        met, odds = self._coalitions_met(deviations)
        rows, columns = epsilon.shape
        average = np.empty_like(epsilon)
        width = max(1, BLOCK // (rows * len(odds)))
        for at in range(0, columns, width):
            some = epsilon[:, at : at + width, None]
            shape = (*some.shape[:2], len(odds))  # a slope may be one for all coalitions
            average[:, at : at + width] = np.broadcast_to(of(met, some), shape) @ odds
        return average


def coalition_gains(met: Deviations, epsilon: Array) -> Array:
    """Improvement (n, m, c) of each coalition, ``met.others``, by the owner at (n, m, 1)."""
    return met.game.forecast.excess(met.others) - met.fitness(epsilon)


@lru_cache(maxsize=4)
def _coalition_odds(n_owners: int) -> Pair:
    """Coalitions of n - 1 others (2^(n-1), n-1), and their odds: |S|! (n-1-|S|)! / n!."""
    others = n_owners - 1
    member = ((np.arange(2**others)[:, None] >> np.arange(others)) & 1).astype(float)
    odds = np.array([1 / (n_owners * comb(others, size)) for size in range(n_owners)])
    return member, odds[member.sum(axis=1).astype(int)]
