"""A privacy cost counted on what is claimed of the noise, where that is not the budget sold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from market.costs.base import Cost


@dataclass(frozen=True)
class OnClaim(Cost):
    """Another cost, at the epsilon claimed for what is sold: ``cost(claimed(epsilon))``.

    Parameters
    ----------
    cost : Cost, the cost
    claimed : function (epsilon (n_owners, ...), sizes (n_owners,)) -> the epsilon claimed for each sold, 0 at 0 and rising

    >>> from market.costs.functions import Linear
    >>> OnClaim(Linear(2.0), lambda epsilon, sizes: 20 * epsilon).value(np.array([0.25]), np.array([100.0])).tolist()
    [10.0]
    """

    cost: Any
    claimed: Any

    @property
    def values(self) -> Any:  # type: ignore[override]
        """Values that a record can take, as the cost has it."""
        return self.cost.values

    def value(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        return np.asarray(self.cost.value(self.claimed(epsilon, sizes), sizes))
