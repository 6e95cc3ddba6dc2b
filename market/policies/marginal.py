"""Each owner paid for what the model gains by its part in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from learning.declaration import PositivePerOwner
from market.columns import column
from market.costs.base import Writer
from market.game.deviations import Deviations
from market.policies.base import Policy


@dataclass(frozen=True)
class Marginal(Policy):
    """Each owner is paid for what it adds: ``share * V * (psi(reference) - psi(epsilon))``.

    In the reference the owner is absent (Clarke's pivot) or at the lower end of its interval: that moves money, not
    incentives. With share 1 every owner weighs its cost against the learner's whole gain, so a social optimum is an
    equilibrium. An owner that harms the model is charged.

    Parameters
    ----------
    share : scalar or (n_owners,), the part of the learner's gain that is paid out
    reference : what an owner's part is counted from: that it is absent, or sells the least that it may

    Raises
    ------
    InputError
        A share that is not finite and above 0, or an unknown reference.

    Source: Vickrey, Clarke and Groves; Wu et al., The Value of Collaboration, Thm 2 gives a psi linear in the sum of
    1/epsilon^2, under which the strategies are dominant.
    """

    pays_for_fitness = True
    money = "share"
    share: PositivePerOwner = 1.0
    reference: Literal["absent", "floor"] = "absent"

    def payments(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        at_floor = self.reference == "floor"
        reference = (
            deviations.fitness(deviations.owners.epsilon_min[:, None]) if at_floor else deviations.fitness_without
        )
        return column(self.share, epsilon) * deviations.game.value * (reference - deviations.fitness(epsilon))

    def slopes(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        return -column(self.share, epsilon) * deviations.game.value * deviations.fitness_slope(epsilon)

    def sentence(self, write: Writer) -> str:
        against = "none of it" if self.reference == "absent" else "the least it may share"
        gained = f"of what the model gains by what the owner shares, compared with {against}"
        paid = f"{write.amount(self.share, write.percent)} {gained}"
        return f"The learner pays each owner {paid}; an owner whose noise harms the model is charged."
