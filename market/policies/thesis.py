"""The thesis's compensation policies: each owner is paid for what it leaks, or its use, times the others' part.

``payment_l = price * share_l * w * gain(epsilon_l)``, with ``share_l = sum_{i != l} epsilon_i n_i^c / sum_i epsilon_i
n_i^c``: the more the others give, the more is paid for what one gives. Against the cost ``e^epsilon``, larger owners
settle lower.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from learning.errors import InputError
from market.columns import as_parameter, column, one_of
from market.costs.leakage import leakage_bits, leakage_slope, utility_bound, utility_slope

if TYPE_CHECKING:
    from market.game.game import Deviations
    from market.game.owners import Owners

WEIGHTS = ("normalised", "printed")
NOISELESS = 1e100  # stands for epsilon = inf in a share: the limit of equal budgets that grow
LARGEST = 700.0  # e^epsilon beyond this does not fit a number


@dataclass(frozen=True)
class ThesisLeakage:
    """Leakage-compensation: ``price * share * w * u log2(v e^epsilon / (v - 1 + e^epsilon))``.

    ``w`` makes payment and cost comparable over an owner's interval. The text has it rescale both to one range, ``max
    e^epsilon / max L`` (normalised); the formula is printed the other way up (printed). Who shares nothing is paid
    nothing.

    Parameters
    ----------
    price : scalar or (n_owners,), money for one unit of the thesis's payoff
    individuals : float, individuals u in an owner's database
    values : scalar or (n_owners,), values v of the sensitive attribute, above 1
    exponent : float, how the number of records weighs in the share
    weight : "normalised" or "printed"

    Raises
    ------
    InputError
        A number out of range, or an unknown weight.

    Source: Wu, MRes thesis, equation 4.1. It calls the payoff concave as if the share were fixed, and the equilibrium
    unique; the share depends on the owner's own epsilon, and uniqueness is not general.

    >>> from market.equilibrium.solver import solve
    >>> from market.analysis.thesis_games import thesis_game
    >>> solve(thesis_game("leakage", 1e4), rng=np.random.default_rng(0), starts=4).epsilon.round(3).tolist()
    [2.509, 2.509, 2.509, 2.509]
    """

    price: Any = 1.0
    individuals: float = 100.0
    values: Any = 10.0
    exponent: float = 1.0
    weight: str = "normalised"

    def __post_init__(self) -> None:
        object.__setattr__(self, "price", as_parameter("policy.price", self.price))
        object.__setattr__(self, "values", as_parameter("policy.values", self.values, at_least=1, strict=True))
        _one_number("policy.individuals", self.individuals, strict=True)
        _one_number("policy.exponent", self.exponent)
        one_of("policy.weight", self.weight, WEIGHTS)

    def gain(self, epsilon: np.ndarray) -> np.ndarray:
        """Bits that the whole database can leak at each epsilon (n_owners, ...)."""
        return self.individuals * leakage_bits(epsilon, column(self.values, epsilon))

    def gain_slope(self, epsilon: np.ndarray) -> np.ndarray:
        """Derivative of `gain`."""
        return self.individuals * leakage_slope(epsilon, column(self.values, epsilon))

    def terms(self, epsilon: np.ndarray, owners: Owners) -> np.ndarray:
        """What each owner adds to the shares, epsilon n^c: (n_owners, ...) -> (n_owners, ..., 1)."""
        return _contribution(epsilon, owners, self.exponent)[..., None]

    def payments(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """Money for each candidate (n_owners, m)."""
        return _payments(self, epsilon, deviations)

    def slopes(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """Money for a further unit of epsilon (n_owners, m)."""
        return _slopes(self, epsilon, deviations)


@dataclass(frozen=True)
class ThesisUtility:
    """Utility-compensation: ``price * share * w / (1 + c sum_{k=1..d} e^(-k epsilon))``.

    ``w``, ``share`` and what they do as in `ThesisLeakage`, with the utility bound U in the place of L. As printed, w
    is so small that everybody shares the least it may; normalised and with equal sizes there are two equilibria, at the
    floor and above.

    Parameters
    ----------
    price : scalar or (n_owners,), money for one unit of the thesis's payoff
    distance : int, largest distance d between two answers
    border : float, number c of answers at each distance, above 0
    exponent : float, how the number of records weighs in the share
    weight : "normalised" or "printed"

    Raises
    ------
    InputError
        A number out of range, or an unknown weight.

    Source: Wu, MRes thesis, equation 4.2.

    >>> from market.equilibrium.solver import solve
    >>> from market.analysis.thesis_games import thesis_game
    >>> found = solve(thesis_game("utility", 1e4), rng=np.random.default_rng(0), starts=4)
    >>> found.reason, sorted(round(float(one.epsilon[0]), 3) for one in (found, *found.others))
    ('several', [0.001, 2.243])
    """

    price: Any = 1.0
    distance: int = 5
    border: float = 2.0
    exponent: float = 1.0
    weight: str = "normalised"

    def __post_init__(self) -> None:
        object.__setattr__(self, "price", as_parameter("policy.price", self.price))
        if isinstance(self.distance, bool) or not isinstance(self.distance, (int, np.integer)) or self.distance < 1:
            raise InputError("policy.distance", "must be a whole number of at least 1", repr(self.distance))
        _one_number("policy.border", self.border, strict=True)
        _one_number("policy.exponent", self.exponent)
        one_of("policy.weight", self.weight, WEIGHTS)

    def gain(self, epsilon: np.ndarray) -> np.ndarray:
        """Probability of a right guess at each epsilon (n_owners, ...)."""
        return utility_bound(epsilon, self.distance, self.border)

    def gain_slope(self, epsilon: np.ndarray) -> np.ndarray:
        """Derivative of `gain`."""
        return utility_slope(epsilon, self.distance, self.border)

    def terms(self, epsilon: np.ndarray, owners: Owners) -> np.ndarray:
        """What each owner adds to the shares, epsilon n^c: (n_owners, ...) -> (n_owners, ..., 1)."""
        return _contribution(epsilon, owners, self.exponent)[..., None]

    def payments(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """Money for each candidate (n_owners, m)."""
        return _payments(self, epsilon, deviations)

    def slopes(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """Money for a further unit of epsilon (n_owners, m)."""
        return _slopes(self, epsilon, deviations)


Compensation = ThesisLeakage | ThesisUtility


def _one_number(key: str, value: Any, *, strict: bool = False) -> None:
    if as_parameter(key, value, strict=strict).ndim:
        raise InputError(key, "must be one number", value)


def weights(policy: Compensation, owners: Owners) -> np.ndarray:
    """The weight w of each owner (n_owners,): ``max e^epsilon / max gain`` over its interval, or as printed its inverse.

    Raises
    ------
    InputError
        An interval that reaches where e^epsilon does not fit a number.
    """
    high = owners.epsilon_max
    if np.any(high > LARGEST):
        rule = f"must end at {LARGEST:g} or below under a thesis policy, which weighs by e^epsilon"
        raise InputError("owners.epsilon", rule, f"{high.max():g}")
    cost, gain = np.exp(high), policy.gain(high)
    above, below = (cost, gain) if policy.weight == "normalised" else (gain, cost)
    return np.divide(above, below, out=np.zeros_like(high), where=below > 0)


def _contribution(epsilon: np.ndarray, owners: Owners, exponent: float) -> np.ndarray:
    return np.minimum(epsilon, NOISELESS) * column(owners.sizes**exponent, epsilon)


def _share(policy: Compensation, epsilon: np.ndarray, deviations: Deviations) -> tuple[np.ndarray, np.ndarray]:
    """The others' part of all contributions at each candidate (n, m), and the sum of all; (0, 1) if nobody shares."""
    others = deviations.others_policy[..., 0]
    total = others + _contribution(epsilon, deviations.owners, policy.exponent)
    total = np.where(total > 0, total, 1.0)
    return others / total, total


def _payments(policy: Compensation, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
    scale = column(policy.price * weights(policy, deviations.owners), epsilon)
    return np.where(epsilon > 0, scale * _share(policy, epsilon, deviations)[0] * policy.gain(epsilon), 0.0)


def _slopes(policy: Compensation, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
    scale = column(policy.price * weights(policy, deviations.owners), epsilon)
    share, total = _share(policy, epsilon, deviations)
    crowding = share * column(deviations.owners.sizes**policy.exponent, epsilon) / total
    return scale * (share * policy.gain_slope(epsilon) - crowding * policy.gain(epsilon))
