"""A fixed budget, shared by what each owner's answer is expected to bring."""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from annotated_types import Ge, MultipleOf

from learning.declaration import CountOrZero, NonNegative, Words, parameter
from learning.training.coalitions import Coalitions, check_count, list_coalitions
from market.columns import Array, Pair
from market.costs.base import Writer
from market.game.deviations import Deviations
from market.game.game import Game
from market.game.grids import BLOCK
from market.game.owners import Owners
from market.policies.base import ProfilePolicy


@dataclass(frozen=True)
class Contribution(ProfilePolicy):
    """A contest for a fixed budget, ``budget * x / sum of x``, x an owner's expected contribution.

    ``x_i = max(0, phi_i)``, phi_i the Shapley value of the forecast: the worth of a set S of owners
    is the fitness that it is expected to gain, ``psi(nobody) - psi(S)``. It is known before any
    answer, from sizes, budgets and the forecast, and is what owners choose budgets by. Who passes a
    test on check rows is paid this over the odds that an honest answer passes
    (`learning.training.acceptance`), so that it is what an honest owner expects.

    Nobody is paid where no answer is expected to bring anything. So where the others bring nothing,
    payments jump at the least budget of an owner that brings something. Searches find this jump to
    within a thousandth of that budget, and may miss as much of a gain.

    Parameters
    ----------
    budget : float, money that is shared out
    samples : int, even, orders of arrival at most where there are more than 12 owners
    seed : int, seed of the drawn orders

    Raises
    ------
    InputError
        A negative or non-finite budget, an odd number of samples or fewer than 4, a negative seed,
        or more than 40 owners.

    Source: ours; the contest is Tullock's, the contribution Shapley's.

    Two owners, each worth 8 alone and 10 together, share the budget evenly; one whose answer is
    worth nothing has no part:

    >>> from market.costs.functions import Linear
    >>> class Law:
    ...     outside = 10.0
    ...     def terms(self, epsilon):
    ...         return epsilon[..., None]
    ...     def excess(self, sums):
    ...         return 10.0 - np.minimum(8 * sums[..., 0], 10.0)
    >>> owners = Owners(("A", "B"), 1, 0.0, 1.0, Linear(0.0))
    >>> game = Game(owners, Contribution(6.0), Law(), 1.0)
    >>> [game.payments(np.array(at)).tolist() for at in ([1.0, 1.0], [1.0, 0.0])]
    [[3.0, 3.0], [6.0, 0.0]]
    """

    money = "budget"
    usual = False  # it goes with a training that asks for sums
    grain = {"points": 96, "peaks": 4}
    budget: NonNegative = parameter("Give the money to be shared out.")
    samples: Annotated[int, Ge(4), MultipleOf(2), Words("an even whole number of at least 4")] = 100
    seed: CountOrZero = 0

    def check_owners(self, owners: Owners) -> None:
        check_count(len(owners), "policy.kind")

    def settle(self, epsilon: Array, game: Game) -> Array:
        worth = game.forecast.outside - self._fitness_of_sets(game.deviations(epsilon))
        expected = np.maximum(self._coalitions(len(epsilon)).shapley @ worth, 0.0)
        return self.budget * expected / _total(expected)

    def payments(self, epsilon: Array, deviations: Deviations) -> Array:
        return self._by_owner(epsilon, deviations, False)

    def marginal_payments(self, epsilon: Array, deviations: Deviations) -> Array:
        return self._by_owner(epsilon, deviations, True)

    def sentence(self, write: Writer) -> str:
        return (
            f"The learner pays {write.money(self.budget)} on average, shared out by what each "
            "owner's answer is expected to bring (its Shapley value). An answer that the check "
            "rows do not bear out is paid nothing; others are paid more, so that an honest owner "
            "can expect its share."
        )

    def _coalitions(self, n_owners: int) -> Coalitions:
        return list_coalitions(n_owners, self.samples, self.seed)

    def _fitness_of_sets(self, deviations: Deviations) -> Array:
        """Relative fitness of each set of owners (c,) at the profile."""
        forecast = deviations.game.forecast
        members = self._coalitions(len(deviations.profile)).members
        return np.asarray(forecast.excess(members @ forecast.terms(deviations.profile)))

    def _by_owner(self, epsilon: Array, deviations: Deviations, slopes: bool) -> Array:
        """Payments, or their slopes, of each owner at its candidates (n, m), owner by owner."""
        fitness = self._fitness_of_sets(deviations)
        found = np.empty_like(epsilon)
        for row, candidates in enumerate(epsilon):
            moves = deviations.take(np.array([row]))
            values, changes = self._expected(candidates, moves, fitness, slopes)
            owner = moves.index[0]
            total = _total(values)
            if slopes:
                change = changes[owner] * total - values[owner] * changes.sum(axis=0)
                found[row] = self.budget * change / total**2
            else:
                found[row] = self.budget * values[owner] / total
        return found

    def _expected(self, candidates: Array, moves: Deviations, fitness: Array, slopes: bool) -> Pair:
        """Everybody's x (N, m) where one owner is at its candidates (m,), and its slopes by them.

        ``fitness`` (c,) is that of all sets at the profile; sets without the owner keep theirs.
        """
        coalitions = self._coalitions(len(moves.profile))
        weights = coalitions.shapley
        owner = moves.index[0]
        has = coalitions.members[:, owner] > 0
        others = coalitions.members[has]
        others[:, owner] = 0
        met = (others @ moves.game.forecast.terms(moves.profile))[None]
        outside = moves.game.forecast.outside
        kept = weights[:, ~has] @ (outside - fitness[~has])
        values = np.empty((len(weights), len(candidates)))
        changes = np.zeros_like(values)
        width = max(1, BLOCK // len(others))
        for at in range(0, len(candidates), width):
            some = candidates[at : at + width]
            many = replace(moves, others=np.tile(met, (1, len(some), 1)))
            tried = np.repeat(some, len(others))[None]
            there = outside - many.fitness(tried).reshape(len(some), -1)
            values[:, at : at + width] = kept[:, None] + weights[:, has] @ there.T
            if slopes:
                steep = many.fitness_slope(tried).reshape(len(some), -1)
                changes[:, at : at + width] = -weights[:, has] @ steep.T
        return np.maximum(values, 0.0), np.where(values > 0, changes, 0.0)


def _total(expected: Array) -> Array:
    """Sum over the owners of x (N, ...), 1 where it is 0."""
    total = expected.sum(axis=0)
    return np.where(total > 0, total, 1.0)
