"""Costs and payments by the information that a channel reveals about each record."""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from learning.declaration import Declaration, ListOf, PerOwner, Positive, TwoOrMore, parameter
from learning.errors import InputError
from market.columns import Array, Pair, column
from market.costs.base import Cost
from market.costs.channels import ChannelName, rise_and_slope

Prior = Annotated[tuple[float, ...], ListOf("a list of probabilities, one per value")]
UNIT_WORDS = {
    "bit": "bit told about each record",
    "guess": "unit of probability that a record is guessed right",
}


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
    """Information about one record: bits of min-entropy leakage, or the rise of a right guess.

    Both are 0 at epsilon = 0. ``randomised_response`` with a uniform prior attains the bounds: its
    bits are those of `market.costs.leakage.leakage_bits`, and a right guess has probability
    ``e^epsilon / (v-1+e^epsilon)``.

    Parameters
    ----------
    channel : str, a name in `market.costs.channels.CHANNELS`
    values : int, number v of values a record can take
    unit : "bit" (of min-entropy leakage) or "guess" (rise of the probability of a right one)
    sensitivity : float, steps between two values that epsilon hides, 1 for neighbours only; by
        default any two
    prior : v probabilities of the values; uniform by default

    >>> for name in ("truncated_geometric", "randomised_response"):
    ...     round(float(LeakageMeasure(name, 10).told(1.0)[0]), 3)
    0.584
    1.214
    """

    channel: ChannelName = "truncated_geometric"
    values: TwoOrMore = 10
    unit: Literal["bit", "guess"] = "bit"
    sensitivity: Positive | None = None
    prior: Prior | None = None

    def check(self) -> None:
        """Refuse a prior that is not one probability for each value."""
        check_prior(self.prior, self.values, f"{self.where}.prior")

    def told(self, epsilon: Array) -> Pair:
        """Bits, or rise in probability, at each epsilon (...), and their derivative."""
        given = self.channel, epsilon, self.values, self.sensitivity, self.prior
        rise, slope = rise_and_slope(*given)
        if self.unit == "guess":
            return rise, slope
        known = 1 / self.values if self.prior is None else max(self.prior)
        return np.log1p(rise / known) / np.log(2), slope / (known + rise) / np.log(2)

    @property
    def told_words(self) -> str:
        """The unit of information, in the words of the report."""
        return f"{UNIT_WORDS[self.unit]} through a {self.channel.replace('_', ' ')} channel"


@dataclass(frozen=True)
class PricePerRecord(Declaration):
    """The price of the information about each record, the first parameter."""

    price: PerOwner = parameter("Give the money per record and unit told.")


@dataclass(frozen=True)
class ChannelCost(LeakageMeasure, PricePerRecord, Cost):
    """Cost of the information of an answer through a channel: ``price * n * told(epsilon)``.

    Parameters
    ----------
    price : scalar or (n_owners,), money per record and unit
    channel, values, unit, sensitivity, prior : as in `LeakageMeasure`

    Source: Wu, MRes thesis, section 2.4.1, as a cost; `market.costs.functions.Leakage` is the same
        at the bound.
    """

    def value(self, epsilon: Array, sizes: Array) -> Array:
        return column(self.price * sizes, epsilon) * self.told(epsilon)[0]

    def marginal_cost(self, epsilon: Array, sizes: Array) -> Array:
        return column(self.price * sizes, epsilon) * self.told(epsilon)[1]

    @property
    def price_unit(self) -> str:  # type: ignore[override]
        """The unit of the price, in the words of the report."""
        return self.told_words
