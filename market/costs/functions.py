"""Costs by formulas of epsilon, or by the information that a channel reveals about each record.

Fixed costs of sharing (reputation, law, implementation, communication) are a column of the owners
(`market.game.owners.Owners`) and go with any cost.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge

from learning.declaration import (
    Declaration,
    ListOf,
    PerOwner,
    Positive,
    PositivePerOwner,
    TwoOrMore,
    TwoOrMorePerOwner,
    parameter,
)
from learning.errors import InputError
from market.columns import Array, Pair, column
from market.costs.base import Cost
from market.costs.channels import ChannelName, rise_and_slope
from market.costs.information import laplace_information, order_and_slope
from market.costs.leakage import (
    belief_rise,
    belief_slope,
    expected_harm,
    leakage_bits,
    leakage_slope,
)

Prior = Annotated[tuple[float, ...], ListOf("a list of probabilities, one per value")]
Order = Annotated[float, Ge(1)]
UNIT_WORDS = {
    "bit": "bit revealed about each record",
    "guess": "unit of probability that a record is guessed right",
}


@dataclass(frozen=True)
class Leakage(Cost):
    """Cost per bit a record can leak: ``price * n * log2(v e^epsilon / (v - 1 + e^epsilon))``.

    Concave in epsilon, so an owner may prefer either end of its interval to anything between;
    finite at epsilon = inf.

    Parameters
    ----------
    price : scalar or (n_owners,), money per bit and record
    values : whole number or (n_owners,), number of values a record can take, at least 2

    Source: Wu, MRes thesis, section 2.2, as a cost.
    """

    price: PerOwner = parameter("Give the money per bit and record leaked.")
    values: TwoOrMorePerOwner = 10
    price_unit = "bit that may leak about each record"

    def value(self, epsilon: Array, sizes: Array) -> Array:
        bits = leakage_bits(epsilon, column(self.values, epsilon))
        return column(self.price * sizes, epsilon) * bits

    def marginal_cost(self, epsilon: Array, sizes: Array) -> Array:
        slope = leakage_slope(epsilon, column(self.values, epsilon))
        return column(self.price * sizes, epsilon) * slope


@dataclass(frozen=True)
class Linear(Cost):
    """Cost in proportion to the budget: ``price * epsilon``.

    Parameters
    ----------
    price : scalar or (n_owners,), money per unit of epsilon

    Source: Ghosh and Roth, Selling Privacy at Auction (unit costs).
    """

    price: PerOwner = parameter("Give the money per unit of epsilon.")
    price_unit = "unit of privacy budget ε"

    def value(self, epsilon: Array, sizes: Array) -> Array:
        return _price_times(self.price, epsilon, epsilon)

    def marginal_cost(self, epsilon: Array, sizes: Array) -> Array:
        return column(self.price, epsilon) * np.ones_like(epsilon)


@dataclass(frozen=True)
class Quadratic(Cost):
    """Convex cost: ``price * epsilon^2 / 2``.

    Parameters
    ----------
    price : scalar or (n_owners,), money per squared unit of epsilon

    Paid a price p per unit of epsilon, such an owner sells p / price:

    >>> float(Quadratic(price=2.0).marginal_cost(np.array([1.5]), np.array([1.0]))[0])
    3.0
    """

    price: PerOwner = parameter("Give the money per unit of epsilon squared over two.")
    price_unit = "unit of half its privacy budget ε squared"

    def value(self, epsilon: Array, sizes: Array) -> Array:
        return _price_times(self.price, epsilon, epsilon**2) / 2

    def marginal_cost(self, epsilon: Array, sizes: Array) -> Array:
        return column(self.price, epsilon) * epsilon


def _price_times(price: Array, epsilon: Array, units: Array) -> Array:
    """Price of units (n_owners, ...); 0 at price 0, even at epsilon = inf."""
    price = column(price, epsilon)
    with np.errstate(invalid="ignore"):
        return np.where(price > 0, price * units, 0.0)


@dataclass(frozen=True)
class ExpectedHarm(Cost):
    """Rise of each individual's expected harm: ``price * n * (e^epsilon - 1)``.

    Convex: each further unit of epsilon raises the cost e times as much as the one before.

    Parameters
    ----------
    price : scalar or (n_owners,), money, the base cost E: an individual's expected loss where its
        record is not used

    Source: Hsu et al., Differential Privacy: An Economic Method for Choosing Epsilon; per
        individual there, here for the n individuals of an owner that answers for them all.

    >>> float(ExpectedHarm(price=12.5).value(np.array([0.1]), np.array([22_820.0]))[0].round(-2))
    30000.0
    """

    price: PerOwner = parameter(
        "Give the money an individual expects to lose where its record is not used."
    )
    price_unit = "record and unit of e^ε − 1, the most by which its expected harm can grow"

    def value(self, epsilon: Array, sizes: Array) -> Array:
        return expected_harm(epsilon, column(self.price * sizes, epsilon))

    def marginal_cost(self, epsilon: Array, sizes: Array) -> Array:
        return self.value(epsilon, sizes) + column(self.price * sizes, epsilon)


@dataclass(frozen=True)
class Belief(Cost):
    """Loss by an adversary's growing belief: ``price * n * (belief(epsilon) - 1/m)``.

    ``belief`` is the bound ``1 / (1 + (m-1) e^(-epsilon ratio))``: no loss while the adversary is
    as unsure as before, and ``price * (1 - 1/m)`` per record once it is certain. Convex below the
    even guess, concave above.

    Parameters
    ----------
    price : scalar or (n_owners,), money per record discovered for certain
    worlds : whole number or (n_owners,), number m of worlds the adversary holds possible, at least
        2
    ratio : scalar or (n_owners,), change of the answer between the worlds over its sensitivity,
        above 0

    Source: Lee and Clifton, How Much Is Enough? Choosing epsilon for Differential Privacy, as a
        cost.

    From an even guess to 3/4:

    >>> float(Belief(price=8.0).value(np.array([np.log(3)]), np.array([1.0]))[0].round(9))
    2.0
    """

    price: PerOwner = parameter(
        "Give the money lost per record that an adversary discovers for certain."
    )
    worlds: TwoOrMorePerOwner = 2
    ratio: PositivePerOwner = 1.0
    price_unit = "record that an adversary discovers for certain, and in part as it grows surer"

    def value(self, epsilon: Array, sizes: Array) -> Array:
        rise = belief_rise(epsilon, column(self.worlds, epsilon), column(self.ratio, epsilon))
        return column(self.price * sizes, epsilon) * rise

    def marginal_cost(self, epsilon: Array, sizes: Array) -> Array:
        slope = belief_slope(epsilon, column(self.worlds, epsilon), column(self.ratio, epsilon))
        return column(self.price * sizes, epsilon) * slope


@dataclass(frozen=True)
class Exponential(Cost):
    """Cost of the thesis's games, without its constant: ``price * (e^epsilon - 1)``.

    The thesis writes ``e^epsilon``; the difference is one ``price`` that every sharer pays. With a
    fixed cost of ``price`` the numbers are the thesis's.

    Parameters
    ----------
    price : scalar or (n_owners,), money

    Source: Wu, MRes thesis, equations 4.1 and 4.2.
    """

    price: PerOwner = parameter("Give the money per unit of e^epsilon.")
    price_unit = "unit of e^ε − 1"

    def value(self, epsilon: Array, sizes: Array) -> Array:
        return expected_harm(epsilon, column(self.price, epsilon))

    def marginal_cost(self, epsilon: Array, sizes: Array) -> Array:
        return self.value(epsilon, sizes) + column(self.price, epsilon)


@dataclass(frozen=True)
class OnClaim(Cost):
    """Another cost, at the epsilon claimed for a sale: ``cost(claimed(epsilon))``.

    Parameters
    ----------
    cost : Cost
    claimed : function (epsilon (n_owners, ...), sizes (n_owners,)) -> the epsilon claimed, 0 at 0
        and rising

    >>> claim = OnClaim(Linear(2.0), lambda epsilon, sizes: 20 * epsilon)
    >>> claim.value(np.array([0.25]), np.array([100.0])).tolist()
    [10.0]
    """

    cost: Any
    claimed: Any

    @property
    def values(self) -> Any:  # type: ignore[override]
        """Values that a record can take, as in the other cost."""
        return self.cost.values

    def value(self, epsilon: Array, sizes: Array) -> Array:
        return np.asarray(self.cost.value(self.claimed(epsilon, sizes), sizes))


@dataclass(frozen=True)
class Anticipated(OnClaim):
    """Another cost, expected over a chance that more than the sale becomes known.

    Parameters
    ----------
    cost, claimed : as in `OnClaim`, the epsilon that then becomes known
    chance : its probability

    >>> fear = Anticipated(Linear(2.0), lambda epsilon, sizes: 20 * epsilon, 0.5)
    >>> fear.value(np.array([0.25]), np.array([100.0])).tolist()
    [5.25]
    """

    chance: float = 1.0

    def value(self, epsilon: Array, sizes: Array) -> Array:
        known = super().value(epsilon, sizes)
        sold = np.asarray(self.cost.value(epsilon, sizes))
        return sold + self.chance * (known - sold)


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
    """Information about one record: bits of leakage, or the rise of a right guess.

    Both are 0 at epsilon = 0. ``randomised_response`` with a uniform prior attains the bounds: its
    bits are those of `market.costs.leakage.leakage_bits`, and a right guess has probability
    ``e^epsilon / (v-1+e^epsilon)``.

    Parameters
    ----------
    channel : str, a name in `market.costs.channels.CHANNELS`
    values : int, number v of values a record can take
    unit : "bit" (of leakage) or "guess" (rise of the probability of a right one)
    sensitivity : float, steps between two values that epsilon hides, 1 for neighbours only; by
        default any two
    prior : v probabilities of the values; uniform by default
    order : float, order of the entropy that bits are of, at least 1: 1 for mutual information; that
        of min-entropy, infinity, by default

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
    order: Order | None = None

    def check(self) -> None:
        """Refuse a prior that is not one probability for each value, and an order of guesses."""
        check_prior(self.prior, self.values, f"{self.where}.prior")
        if self.order is not None and self.unit == "guess":
            rule = 'needs unit = "bit", of whose entropy it is the order'
            raise InputError(f"{self.where}.order", rule, "guess", "Leave one of them out.")

    def told(self, epsilon: Array) -> Pair:
        """Bits, or rise in probability, at each epsilon (...), and their derivative."""
        if self.order is not None and np.isfinite(self.order):
            odds = np.full(self.values, 1 / self.values) if self.prior is None else self.prior
            known_odds = np.asarray(odds, dtype=float)
            return order_and_slope(self.channel, epsilon, self.sensitivity, known_odds, self.order)
        given = self.channel, epsilon, self.values, self.sensitivity, self.prior
        rise, slope = rise_and_slope(*given)
        if self.unit == "guess":
            return rise, slope
        known = 1 / self.values if self.prior is None else max(self.prior)
        return np.log1p(rise / known) / np.log(2), slope / (known + rise) / np.log(2)

    @property
    def told_words(self) -> str:
        """The unit of information, in the words of the report."""
        kind = "" if self.order is None else f" of order {self.order:g}"
        if self.order == 1:
            kind = " (mutual information)"
        return f"{UNIT_WORDS[self.unit]}{kind} through a {self.channel.replace('_', ' ')} channel"


@dataclass(frozen=True)
class PricePerRecord(Declaration):
    """The price of the information about each record, the first parameter."""

    price: PerOwner = parameter("Give the money per record and unit of leakage.")


@dataclass(frozen=True)
class ChannelCost(LeakageMeasure, PricePerRecord, Cost):
    """Cost of the information of an answer through a channel: ``price * n * told(epsilon)``.

    Parameters
    ----------
    price : scalar or (n_owners,), money per record and unit
    channel, values, unit, sensitivity, prior, order : as in `LeakageMeasure`

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


@dataclass(frozen=True)
class DifferentialEntropy(PricePerRecord, Cost):
    """Cost of a number's digits under Laplace noise: ``price * n * (h(answer) - h(noise))``.

    A record is a number, uniform over its range; h is differential entropy, in bits.

    Parameters
    ----------
    price : scalar or (n_owners,), money per record and bit

    Source: `market.costs.information.laplace_information`.
    """

    price_unit = "bit revealed about a number in each record under Laplace noise"

    def value(self, epsilon: Array, sizes: Array) -> Array:
        return column(self.price * sizes, epsilon) * laplace_information(epsilon)[0]

    def marginal_cost(self, epsilon: Array, sizes: Array) -> Array:
        return column(self.price * sizes, epsilon) * laplace_information(epsilon)[1]
