"""The thesis's compensation policies: payment for leakage or utility, times the others' share.

``payment_l = price * share_l * w * bought(epsilon_l)``, with ``share_l = sum_{i != l} epsilon_i
n_i^c / sum_i epsilon_i n_i^c``: the more the others give, the more is paid. Against the cost
``e^epsilon``, larger owners settle lower.
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from learning.declaration import (
    Count,
    NonNegative,
    PerOwner,
    Positive,
    TwoOrMore,
    TwoOrMorePerOwner,
)
from learning.errors import InputError
from market.columns import NOISELESS, Array, Pair, column
from market.costs.base import Writer
from market.costs.channels import ChannelName, GainName, GainRows, gain_and_slope, gain_matrix
from market.costs.functions import LeakageMeasure, PricePerRecord, Prior, check_prior
from market.costs.leakage import leakage_bits, leakage_slope, utility_bound, utility_slope
from market.game.deviations import Deviations
from market.game.game import Game
from market.game.owners import Owners
from market.policies.base import Policy

# e^epsilon beyond this does not fit a number.
LARGEST = 700.0
Weight = Literal["normalised", "printed"]
WEIGHTS: dict[Weight, str] = {
    "normalised": "rescaled to the range of e^ε",
    "printed": "with the weight as the thesis prints it",
}


class Compensation(Policy):
    """Base of the thesis's policies; ``paid_for`` names the compensation in the report."""

    money = "price"
    # They go with costs of their own.
    usual = False
    price: Array
    exponent: float
    weight: Weight
    paid_for: str

    @abstractmethod
    def quantity_bought(self, epsilon: Array) -> Pair:
        """Quantity paid for at each epsilon (n_owners, ...), and its derivative."""

    def terms(self, epsilon: Array, owners: Owners) -> Array:
        """Contribution of each owner, epsilon n^c: (n_owners, ...) -> (n_owners, ..., 1)."""
        records = column(owners.sizes**self.exponent, epsilon)
        return (np.minimum(epsilon, NOISELESS) * records)[..., None]

    def payments(self, epsilon: Array, deviations: Deviations) -> Array:
        scale = column(self.price * self.owner_weights(deviations.owners), epsilon)
        share = self._others_share(epsilon, deviations)[0]
        return np.where(epsilon > 0, scale * share * self.quantity_bought(epsilon)[0], 0.0)

    def marginal_payments(self, epsilon: Array, deviations: Deviations) -> Array:
        scale = column(self.price * self.owner_weights(deviations.owners), epsilon)
        share, total = self._others_share(epsilon, deviations)
        gain, slope = self.quantity_bought(epsilon)
        crowding = share * column(deviations.owners.sizes**self.exponent, epsilon) / total
        return scale * (share * slope - crowding * gain)

    def owner_weights(self, owners: Owners) -> Array:
        """Weight w of each owner (n_owners,): ``max e^epsilon / max gain``, or its inverse.

        Raises
        ------
        InputError
            An interval that reaches where e^epsilon does not fit a number.
        """
        high = owners.epsilon_max
        if np.any(high > LARGEST):
            limit = f"must end at {LARGEST:g} or below"
            rule = f"{limit} under a thesis policy, which weighs by e^epsilon"
            raise InputError("owners.epsilon", rule, f"{high.max():g}")
        ratio = np.exp(high), self.quantity_bought(high)[0]
        above, below = ratio if self.weight == "normalised" else ratio[::-1]
        return np.divide(above, below, out=np.zeros_like(high), where=below > 0)

    def check_owners(self, owners: Owners) -> None:
        self.owner_weights(owners)

    def policy_remarks(self, game: Game) -> list[dict[str, Any]]:
        if self.weight != "printed":
            return []
        high = game.owners.epsilon_max
        most = float(
            np.max(self.price * self.owner_weights(game.owners) * self.quantity_bought(high)[0])
        )
        cost = float(game.costs(high).max())
        return [{"cause": "printed_weight", "largest_payment": most, "largest_cost": cost}]

    def sentence(self, write: Writer) -> str:
        times = "" if np.all(self.price == 1) else f", times {write.amount(self.price)}"
        paid = f"{self.paid_for}, {WEIGHTS[self.weight]}"
        share = f"times the others' part of all that is shared{times}"
        return f"The learner pays each owner {paid}, {share}."

    def _others_share(self, epsilon: Array, deviations: Deviations) -> Pair:
        """The others' part of all contributions at each candidate (n, m), and the sum of all."""
        others = deviations.others_policy[..., 0]
        total = others + self.terms(epsilon, deviations.owners)[..., 0]
        total = np.where(total > 0, total, 1.0)
        return others / total, total


@dataclass(frozen=True)
class ThesisLeakage(Compensation):
    """Leakage-compensation: ``price * share * w * u log2(v e^epsilon / (v - 1 + e^epsilon))``.

    ``w`` makes payment and cost comparable over an owner's interval. The text rescales both to one
    range, ``max e^epsilon / max L`` (normalised); the formula is printed the other way up
    (printed). An owner that shares nothing is paid nothing.

    Parameters
    ----------
    price : scalar or (n_owners,), money for one unit of the thesis's payoff
    individuals : float, individuals u in an owner's database
    values : whole number or (n_owners,), values v of the sensitive attribute, at least 2
    exponent : float, exponent of the number of records in the share
    weight : ``max e^epsilon / max L`` over an owner's interval ("normalised"), or its inverse
        ("printed")

    Raises
    ------
    InputError
        A number out of range, or an unknown weight.

    Source: Wu, MRes thesis, equation 4.1. It calls the payoff concave as if the share were fixed,
        and the equilibrium unique; the share depends on the owner's own epsilon, and uniqueness
        is not general.

    >>> from market.equilibrium.solver import solve
    >>> from market.analysis.thesis_games import thesis_game
    >>> found = solve(thesis_game("leakage", 1e4), rng=np.random.default_rng(0), starts=4)
    >>> found.epsilon.round(3).tolist()
    [2.509, 2.509, 2.509, 2.509]
    """

    price: PerOwner = 1.0
    individuals: Positive = 100.0
    values: TwoOrMorePerOwner = 10
    exponent: NonNegative = 1.0
    weight: Weight = "normalised"
    paid_for = "for what its answers may leak at most"

    def quantity_bought(self, epsilon: Array) -> Pair:
        """Bits that the whole database can leak, and their derivative."""
        values = column(self.values, epsilon)
        bits = self.individuals * leakage_bits(epsilon, values)
        return bits, self.individuals * leakage_slope(epsilon, values)


@dataclass(frozen=True)
class ThesisUtility(Compensation):
    """Utility-compensation: ``price * share * w / (1 + c sum_{k=1..d} e^(-k epsilon))``.

    ``w`` and ``share`` are those of `ThesisLeakage`, with the utility bound U in the place of L.
    As printed, w is so small that every owner shares the least it may; normalised and with equal
    sizes there are two equilibria, at the floor and above.

    Parameters
    ----------
    price : scalar or (n_owners,), money for one unit of the thesis's payoff
    exponent : float, exponent of the number of records in the share
    weight : ``max e^epsilon / max U`` over an owner's interval ("normalised"), or its inverse
        ("printed")
    distance : int, largest distance d between two answers
    border : float, number c of answers at each distance, above 0

    Source: Wu, MRes thesis, equation 4.2.

    >>> from market.equilibrium.solver import solve
    >>> from market.analysis.thesis_games import thesis_game
    >>> found = solve(thesis_game("utility", 1e4), rng=np.random.default_rng(0), starts=4)
    >>> found.reason, sorted(round(float(e.epsilon[0]), 3) for e in (found, *found.others))
    ('several', [0.001, 2.243])
    """

    price: PerOwner = 1.0
    distance: Count = 5
    border: Positive = 2.0
    exponent: NonNegative = 1.0
    weight: Weight = "normalised"
    paid_for = "for how often a guess from its answers may be right at most"

    def quantity_bought(self, epsilon: Array) -> Pair:
        """Probability of a right guess, and its derivative."""
        guess = epsilon, self.distance, self.border
        return utility_bound(*guess), utility_slope(*guess)


@dataclass(frozen=True)
class ThesisGain(Compensation):
    """Utility-compensation for any channel, prior and gain function.

    ``price * share * w * sum_z max_g sum_y prior_y H_yz gain_yg``: `ThesisUtility` pays for a
    bound on the probability of a right guess; this pays for the expected gain of guesses through
    a channel, where near guesses may count. ``w`` and ``share`` as in `ThesisLeakage`.

    Parameters
    ----------
    price : scalar or (n_owners,), money for one unit of the thesis's payoff
    channel : str, a name in `market.costs.channels.CHANNELS`
    values : int, number v of values that the true answer can take
    gain : gain of a guess: "right", "near" or "near_squared", less by its distance, or rows, one
        per value
    sensitivity : float, steps between two values that epsilon hides; by default 1
    prior : v probabilities of the values; uniform by default
    exponent : float, exponent of the number of records in the share
    weight : ``max e^epsilon / max U`` over an owner's interval ("normalised"), or its inverse
        ("printed")

    Raises
    ------
    InputError
        A number out of range, an unknown channel, gain or weight, or a prior or rows that do not
        fit.

    Source: Wu, MRes thesis, sections 2.4.1.2 and 4.4. A distance there is a loss; here a gain.

    Less epsilon is sold to a buyer that pays for near guesses too:

    >>> from market.equilibrium.solver import solve
    >>> from market.analysis.thesis_games import thesis_game
    >>> rng, start = np.random.default_rng(0), np.full(4, 2.0)
    >>> for gain in ("right", "near"):
    ...     game = thesis_game("gain", 1e4, channel="ring_geometric", values=11, gain=gain)
    ...     solve(game, rng=rng, starts=1, start=start).epsilon.round(3).tolist()
    [2.243, 2.243, 2.243, 2.243]
    [0.789, 0.789, 0.789, 0.789]
    """

    price: PerOwner = 1.0
    channel: ChannelName = "truncated_geometric"
    values: TwoOrMore = 10
    gain: GainName | GainRows = "right"
    sensitivity: Positive = 1.0
    prior: Prior | None = None
    exponent: NonNegative = 1.0
    weight: Weight = "normalised"
    paid_for = "for what guesses from its answers bring"

    def check(self) -> None:
        """Refuse a prior or gains that do not fit the values."""
        check_prior(self.prior, self.values, f"{self.where}.prior")
        assert self.gain_rows.any()

    @cached_property
    def gain_rows(self) -> Array:
        """Gain of each guess at each true value, (values, guesses)."""
        try:
            return gain_matrix(self.gain, self.values, self.channel)
        except InputError as error:
            raise InputError(f"{self.where}.gain", error.rule, error.found, error.remedy) from None

    def quantity_bought(self, epsilon: Array) -> Pair:
        """Expected gain of guesses, and its derivative."""
        return gain_and_slope(self.channel, epsilon, self.sensitivity, self.gain_rows, self.prior)


@dataclass(frozen=True)
class PostedChannel(LeakageMeasure, PricePerRecord, Policy):
    """A fixed price for the information of an answer through a channel: ``price * n * told``.

    A payment depends on the owner's own choice alone, so every equilibrium is in dominant
    strategies. Parameters and their InputErrors are those of `market.costs.functions.ChannelCost`.

    Source: Wu, MRes thesis, sections 4.3 and 4.4 (compensation for leakage or utility), computed
        from the channel.

    Paid for bits at the price they cost, an owner breaks even at any epsilon:

    >>> from market.costs.functions import ChannelCost
    >>> lost, paid = ChannelCost(2.0, "geometric"), PostedChannel(2.0, "truncated_geometric")
    >>> bool(np.allclose(lost.value(np.ones(1), np.ones(1)), 2 * paid.told(np.ones(1))[0]))
    True
    """

    money = "price"
    own_choice = True

    def payments(self, epsilon: Array, deviations: Deviations) -> Array:
        return column(self.price * deviations.owners.sizes, epsilon) * self.told(epsilon)[0]

    def marginal_payments(self, epsilon: Array, deviations: Deviations) -> Array:
        return column(self.price * deviations.owners.sizes, epsilon) * self.told(epsilon)[1]

    def sentence(self, write: Writer) -> str:
        rate = f"{write.amount(self.price, write.money)} per {self.told_words}"
        return f"The learner pays each owner a fixed price: {rate}."
