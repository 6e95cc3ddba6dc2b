"""Marginal contributions: each owner is paid for its effect on the model."""

from dataclasses import dataclass
from typing import Literal

from learning.declaration import PositivePerOwner
from market.columns import Array, column
from market.costs.base import Writer
from market.game.deviations import Deviations
from market.policies.base import Policy


@dataclass(frozen=True)
class Marginal(Policy):
    """Each owner is paid for its contribution: ``share * V * (psi(reference) - psi(epsilon))``.

    In the reference the owner is absent (Clarke's pivot) or at the lower end of its interval: that
    moves money, not incentives. With share 1 every owner weighs its cost against the learner's
    whole gain, so a social optimum is an equilibrium. An owner that harms the model is charged.

    Parameters
    ----------
    share : scalar or (n_owners,), the part of the learner's gain that is paid out
    reference : the owner's choice in the reference: absent, or the least that it may sell

    Raises
    ------
    InputError
        A share that is not finite and above 0, or an unknown reference.

    Source: Vickrey, Clarke and Groves; Wu et al., The Value of Collaboration, Thm 2 gives a psi
        linear in the sum of 1/epsilon^2, under which the strategies are dominant.
    """

    pays_for_fitness = True
    money = "share"
    share: PositivePerOwner = 1.0
    reference: Literal["absent", "floor"] = "absent"

    def payments(self, epsilon: Array, deviations: Deviations) -> Array:
        if self.reference == "floor":
            reference = deviations.fitness(deviations.owners.epsilon_min[:, None])
        else:
            reference = deviations.fitness_without
        rate = column(self.share, epsilon) * deviations.game.value
        return rate * (reference - deviations.fitness(epsilon))

    def marginal_payments(self, epsilon: Array, deviations: Deviations) -> Array:
        rate = -column(self.share, epsilon) * deviations.game.value
        return rate * deviations.fitness_slope(epsilon)

    def sentence(self, write: Writer) -> str:
        against = "none of it" if self.reference == "absent" else "the least it may share"
        paid = (
            f"{write.amount(self.share, write.percent)} of what the model gains by what the owner "
            f"shares, compared with {against}"
        )
        return (
            f"The learner pays each owner {paid}; an owner whose noise harms the model is charged."
        )
