"""A posted price for what an answer tells about each record, counted through a channel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from market.columns import as_parameter, column
from market.costs.measured import LeakageMeasure
from market.game.deviations import Deviations
from market.game.owners import Owners


@dataclass(frozen=True)
class PostedChannel:
    """A fixed price for what an answer through a channel tells about each record: ``price * n * told(epsilon)``.

    What an owner is paid depends on its own choice alone, so every equilibrium is in dominant strategies.

    Parameters
    ----------
    price : scalar or (n_owners,), money per record and unit
    channel, values, unit, sensitivity, prior : as in `LeakageMeasure`

    Raises
    ------
    InputError
        A negative or non-finite price, an unknown channel or unit, or a prior that does not fit.

    Source: Wu, MRes thesis, sections 4.3 and 4.4 (compensation for leakage or utility), computed from the channel.

    Paid for bits at the price they cost, an owner breaks even at any epsilon:

    >>> from market.costs.measured import ChannelCost
    >>> told, paid = ChannelCost(2.0, "geometric"), PostedChannel(2.0, "truncated_geometric")
    >>> bool(np.allclose(told.value(np.ones(1), np.ones(1)), paid.price * paid.measure.value(np.ones(1))))
    True
    """

    price: Any
    channel: str = "truncated_geometric"
    values: int = 10
    unit: str = "bit"
    sensitivity: float | None = None
    prior: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "price", as_parameter("policy.price", self.price))
        self.measure.check("policy")

    @property
    def measure(self) -> LeakageMeasure:
        """What is told about one record."""
        return LeakageMeasure(self.channel, self.values, self.unit, self.sensitivity, self.prior)

    def terms(self, epsilon: np.ndarray, owners: Owners) -> np.ndarray:
        """No sums: (n_owners, ..., 0)."""
        return np.empty((*epsilon.shape, 0))

    def payments(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """Money for each candidate (n_owners, m)."""
        return column(self.price * deviations.owners.sizes, epsilon) * self.measure.value(epsilon)

    def slopes(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """Money for a further unit of epsilon (n_owners, m)."""
        return column(self.price * deviations.owners.sizes, epsilon) * self.measure.slope(epsilon)
