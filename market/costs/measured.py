"""Costs and payments counted in what a channel tells about each record, beside the bounds on what it could tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from learning.declaration import Declaration, ListOf, PerOwner, Positive, TwoOrMore, parameter
from learning.errors import InputError
from market.columns import column
from market.costs.base import Cost
from market.costs.channels import ChannelName, rise_and_slope

Prior = Annotated[tuple[float, ...], ListOf("a list of probabilities, one per value")]
TOLD = {"bit": "bit told about each record", "guess": "unit of probability that a record is guessed right"}


def check_prior(prior: tuple[float, ...] | None, values: int, key: str) -> None:
    """Refuse a prior that is not one probability for each value."""
    if prior is None:
        return
    if len(prior) != values:
        raise InputError(key, f"needs one probability per value, {values} in all", len(prior))
    total = np.sum(prior)
    if min(prior) < 0 or abs(total - 1) > 1e-9:
        raise InputError(key, "must be probabilities that add up to 1", f"a sum of {total:g}")


@dataclass(frozen=True)
class LeakageMeasure(Declaration):
    """What a channel tells about one record: bits of min-entropy leakage, or the rise of a right guess.

    Both are 0 at epsilon = 0. ``randomised_response`` with a uniform prior attains the bounds: its bits are those of
    `market.costs.leakage.leakage_bits`, and a right guess has the odds ``e^epsilon / (v-1+e^epsilon)``.

    Parameters
    ----------
    channel : str, through which answers go, a name in `market.costs.channels.CHANNELS`
    values : int, number v of values a record can take
    unit : "bit" (of min-entropy leakage) or "guess" (probability of a right one beyond that without an answer)
    sensitivity : float, steps between two values that epsilon hides, 1 for neighbours only; by default any two
    prior : v probabilities of the values; uniform by default

    >>> [round(float(LeakageMeasure(name, 10).told(1.0)[0]), 3) for name in ("truncated_geometric", "randomised_response")]
    [0.584, 1.214]
    """

    channel: ChannelName = "truncated_geometric"
    values: TwoOrMore = 10
    unit: Literal["bit", "guess"] = "bit"
    sensitivity: Positive | None = None
    prior: Prior | None = None

    def check(self) -> None:
        """Refuse a prior that is not one probability for each value."""
        check_prior(self.prior, self.values, f"{self.where}.prior")

    def told(self, epsilon: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Bits, or rise in probability, at each epsilon (...), and their derivative."""
        rise, slope = rise_and_slope(self.channel, epsilon, self.values, self.sensitivity, self.prior)
        if self.unit == "guess":
            return rise, slope
        known = 1 / self.values if self.prior is None else max(self.prior)
        return np.log1p(rise / known) / np.log(2), slope / (known + rise) / np.log(2)

    @property
    def told_words(self) -> str:
        """The unit of what is told about a record, in the words of the report."""
        return f"{TOLD[self.unit]} through a {self.channel.replace('_', ' ')} channel"


@dataclass(frozen=True)
class PricePerRecord(Declaration):
    """The price of what is told about each record, which comes before what it is told through."""

    price: PerOwner = parameter("Give the money per record and unit told.")


@dataclass(frozen=True)
class ChannelCost(LeakageMeasure, PricePerRecord, Cost):
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

    def value(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        return column(self.price * sizes, epsilon) * self.told(epsilon)[0]

    def slope(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        return column(self.price * sizes, epsilon) * self.told(epsilon)[1]

    @property
    def price_unit(self) -> str:  # type: ignore[override]
        """What the price is per, in the words of the report."""
        return self.told_words
