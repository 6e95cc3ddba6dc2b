"""Costs and payments counted in what a channel tells about each record, beside the bounds on what it could tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from learning.errors import InputError
from market.columns import as_parameter, column
from market.costs.channels import check_channel, check_prior, rise_and_slope

UNITS = ("bit", "guess")


@dataclass(frozen=True)
class LeakageMeasure:
    """What a channel tells about one record: bits of min-entropy leakage, or the rise of a right guess.

    Both are 0 at epsilon = 0. ``randomised_response`` with a uniform prior attains the bounds: its bits are those of
    `market.costs.leakage.leakage_bits`, and a right guess has the odds ``e^epsilon / (v-1+e^epsilon)``.

    Parameters
    ----------
    channel : str, a name in `market.costs.channels.CHANNELS`
    values : int, number v of values a record can take
    unit : "bit" (of min-entropy leakage) or "guess" (probability of a right one beyond that without an answer)
    sensitivity : float, optional; by default epsilon hides any two values of a record
    prior : tuple of v probabilities, optional; uniform by default

    >>> [round(float(LeakageMeasure(name, 10).value(1.0)), 3) for name in ("truncated_geometric", "randomised_response")]
    [0.584, 1.214]
    """

    channel: str = "truncated_geometric"
    values: int = 10
    unit: str = "bit"
    sensitivity: float | None = None
    prior: tuple[float, ...] | None = None

    def check(self, where: str) -> None:
        """Refuse with an InputError what cannot be; ``where`` is the table of the scenario it stands in."""
        check_channel(where, self.channel, self.values, self.sensitivity)
        check_prior(where, self.prior, self.values)
        if self.unit not in UNITS:
            raise InputError(f"{where}.unit", f"must be one of {', '.join(UNITS)}", repr(self.unit))

    def value(self, epsilon: np.ndarray) -> np.ndarray:
        """Bits, or rise in probability, at each epsilon (...)."""
        rise, _ = self._rise(epsilon)
        return rise if self.unit == "guess" else np.log1p(rise / self._known) / np.log(2)

    def slope(self, epsilon: np.ndarray) -> np.ndarray:
        """Derivative of `value` by epsilon (...)."""
        rise, slope = self._rise(epsilon)
        return slope if self.unit == "guess" else slope / (self._known + rise) / np.log(2)

    @property
    def _known(self) -> float:
        return 1 / self.values if self.prior is None else max(self.prior)

    def _rise(self, epsilon: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return rise_and_slope(self.channel, epsilon, self.values, self.sensitivity, self.prior)


@dataclass(frozen=True)
class ChannelCost:
    """Cost of what an answer through a channel tells about each record: ``price * n * told(epsilon)``.

    Parameters
    ----------
    price : scalar or (n_owners,), money per record and unit
    channel, values, unit, sensitivity, prior : as in `LeakageMeasure`

    Raises
    ------
    InputError
        A negative or non-finite price, an unknown channel or unit, or a prior that does not fit.

    Source: Wu, MRes thesis, section 2.4.1, as a cost; under `market.costs.functions.Leakage`, the same at the bound.
    """

    price: Any
    channel: str = "truncated_geometric"
    values: int = 10
    unit: str = "bit"
    sensitivity: float | None = None
    prior: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "price", as_parameter("owners.cost.price", self.price))
        self.measure.check("owners.cost")

    @property
    def measure(self) -> LeakageMeasure:
        """What is told about one record."""
        return LeakageMeasure(self.channel, self.values, self.unit, self.sensitivity, self.prior)

    def value(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Money lost at each epsilon (n_owners, ...)."""
        return column(self.price * sizes, epsilon) * self.measure.value(epsilon)

    def slope(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Money lost per further unit of epsilon (n_owners, ...)."""
        return column(self.price * sizes, epsilon) * self.measure.slope(epsilon)
