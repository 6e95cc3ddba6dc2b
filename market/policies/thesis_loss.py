"""The thesis's first game, section 4.2: leakage that is paid for, against the predicted loss."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from learning.declaration import NonNegative, PerOwner, Positive, TwoOrMorePerOwner
from learning.errors import InputError
from market.columns import Array, column
from market.costs.base import Writer
from market.costs.leakage import leakage_bits, leakage_slope
from market.game.deviations import Deviations
from market.game.owners import Owners
from market.policies.base import Policy


@dataclass(frozen=True)
class ThesisLoss(Policy):
    """Leakage less predicted loss: ``price * (u bits(epsilon_l) - w sum_i 1/epsilon_i^2)``.

    An owner of the thesis minimises ``wf U - L``: U is the loss that Theorem 2 predicts,
    proportional to ``sum_i 1/epsilon_i^2``, and L what its answers leak at most. Of wf it says
    only that both get one magnitude: ``w = weight * max L / sum_i 1/epsilon_min_i^2`` gives them
    one range, in which constants and records cancel. The loss falls and leakage rises with
    epsilon, so that an owner chooses its highest. With ``leakage = "lost"`` it minimises
    ``wf U + L`` and settles between. No choice depends on the others': equilibria are in dominant
    strategies.

    Parameters
    ----------
    price : scalar or (n_owners,), money for one bit
    leakage : what leaks is paid for as printed ("paid"), or is the owner's loss ("lost")
    individuals : float, individuals u in an owner's database
    values : whole number or (n_owners,), values v of the sensitive attribute, at least 2
    weight : float, largest predicted loss over largest leakage

    Raises
    ------
    InputError
        A number out of range; or, for the owners, a least epsilon of 0, where U has no range.

    Source: Wu, MRes thesis, section 4.2 with Theorem 2 and (2.2); the scale and "lost" are ours.

    >>> from market.equilibrium.solver import solve
    >>> from market.analysis.thesis_games import thesis_game
    >>> for leakage in ("paid", "lost"):
    ...     game = thesis_game("loss", 1e4, epsilon=(0.1, 5.0), leakage=leakage)
    ...     solve(game, rng=np.random.default_rng(0), starts=4).epsilon.round(4).tolist()
    [5.0, 5.0, 5.0, 5.0]
    [0.2339, 0.2339, 0.2339, 0.2339]
    """

    money = "price"
    usual = False
    price: PerOwner = 1.0
    leakage: Literal["paid", "lost"] = "paid"
    individuals: Positive = 100.0
    values: TwoOrMorePerOwner = 10
    weight: NonNegative = 1.0

    @property
    def sign(self) -> float:
        """Sign of leakage in the payment."""
        return 1.0 if self.leakage == "paid" else -1.0

    def check_owners(self, owners: Owners) -> None:
        if np.any(owners.epsilon_min <= 0):
            rule = "must begin above 0, where the predicted loss is without end"
            raise InputError("owners.epsilon", rule, f"{owners.epsilon_min.min():g}")

    def terms(self, epsilon: Array, owners: Owners) -> Array:
        """Each owner's part of the predicted loss: (n_owners, ...) -> (n_owners, ..., 1)."""
        return _inverse_power(epsilon, 2)[..., None]

    def scale_loss(self, deviations: Deviations) -> Array:
        """Factor w of each owner that moves (n,); the sum in it is over all of the game."""
        most = self.individuals * leakage_bits(deviations.owners.epsilon_max, self.values)
        total = _inverse_power(deviations.game.owners.epsilon_min, 2).sum()
        return self.weight * most / total if total > 0 else np.zeros_like(most)

    def payments(self, epsilon: Array, deviations: Deviations) -> Array:
        loss = deviations.others_policy[..., 0] + _inverse_power(epsilon, 2)
        told = self.sign * self.individuals * leakage_bits(epsilon, column(self.values, epsilon))
        paid = told - column(self.scale_loss(deviations), epsilon) * loss
        return np.where(epsilon > 0, column(self.price, epsilon) * paid, 0.0)

    def marginal_payments(self, epsilon: Array, deviations: Deviations) -> Array:
        told = self.sign * self.individuals * leakage_slope(epsilon, column(self.values, epsilon))
        falls = 2 * column(self.scale_loss(deviations), epsilon) * _inverse_power(epsilon, 3)
        return column(self.price, epsilon) * (told + falls)

    def sentence(self, write: Writer) -> str:
        pays = "pays" if self.leakage == "paid" else "charges"
        rate = f"{write.amount(self.price, write.money)} per bit"
        return (
            f"The learner {pays} each owner for what its answers may leak at most, {rate}, and "
            "charges it for what the model is predicted to lose, scaled to the range of that."
        )


def _inverse_power(epsilon: Array, power: int) -> Array:
    """``epsilon^-power``, and 0 where nothing is shared."""
    at = np.asarray(epsilon, dtype=float)
    return np.where(at > 0, np.where(at > 0, at, 1.0) ** -power, 0.0)
