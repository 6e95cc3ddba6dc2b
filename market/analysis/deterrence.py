"""What an audit puts at stake for an owner who does not answer as it sold, and what comes of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Le

from learning.declaration import Declaration, NonNegative


@dataclass(frozen=True)
class Audit(Declaration):
    """An auditor looks into owners by chance and finds who did not answer as it sold; such an owner pays back, and a penalty.

    The auditor is somebody whom owners trust and the learner does not command: it sees an owner's records and the seed of its
    noise, makes its answers again and compares them with those given. So it finds whatever was done, and what an owner was
    promised of its records does not hold against it.

    Parameters
    ----------
    chance : that an owner is looked into, of each for itself, once a training
    penalty : money that an owner found out pays, beside all that it was paid

    Source: Becker, Crime and Punishment: An Economic Approach (1968).

    >>> Audit(0.2, penalty=50.0).at_stake(np.array([100.0, 0.0])).tolist()
    [30.0, 10.0]
    """

    where: ClassVar[str] = "audit"
    chance: Annotated[float, Ge(0), Le(1)]
    penalty: NonNegative = 0.0

    def at_stake(self, payments: np.ndarray) -> np.ndarray:
        """Money that owners who cheat must expect to lose, (n_owners,): chance (payment + penalty)."""
        return self.chance * (np.asarray(payments, dtype=float) + self.penalty)
