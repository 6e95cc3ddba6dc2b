"""Money that makes trade possible: told by forecasts alone, at a few budgets that all owners might choose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from learning.forecast.planner import Planner
from scenarios.summary.verdict import chance_above

BUDGETS = (0.5, 1.0, 2.0, 5.0, 10.0)  # tried, the most private first
CUSTOMARY = 2.0  # up to which another mechanism is tried before budgets go higher
RANGE = (0.05, 20.0)  # that owners choose from
LEFT = 0.25  # of the learner's error, which buying is to leave at most
PAID = 100.0  # to each owner: a unit to count in, no more
CHANCES = (
    0.9,
    0.75,
    0.5,
)  # that buying pays, by what the public rows allow: the first that some value can reach
MARGIN = 1.1  # times what is paid, that it is then worth
LEAST_GAIN = 1e-6  # in relative fitness: less is none
TWICE = 2.0  # what is bought is worth as many times what it costs


@dataclass(frozen=True)
class Offer:
    """A price per unit of epsilon, at which owners sell ``epsilon``, and what makes it worth its money.

    Parameters
    ----------
    epsilon : what each owner sells: price over cost.
    price : money paid per unit of epsilon.
    cost : money per unit of half of epsilon squared that privacy costs an owner.
    value : money per unit of relative fitness.
    own : relative fitness of the learner's own model, as forecast.
    bought : that of the trained model.
    chance : that buying pays.
    """

    epsilon: float
    price: float
    cost: float
    value: float
    own: float
    bought: float
    chance: float

    @property
    def trades(self) -> bool:
        """Whether anything is asked: by the forecast, what is bought beats the learner's own model."""
        return self.bought < self.own


def make_offer(planner: Planner, budgets: tuple[float, ...] = BUDGETS) -> Offer:
    """The most private of some budgets at which buying leaves at most a quarter of the error; else the best of them."""
    owners = len(planner.inputs.owners)
    own = planner.forecast.outside
    left = {epsilon: planner.forecast.at(np.full(owners, epsilon)) for epsilon in budgets}
    enough = [epsilon for epsilon in budgets if left[epsilon] <= LEFT * own]
    epsilon = enough[0] if enough else min(budgets, key=lambda one: left[one])
    return priced(planner, epsilon)


def priced(planner: Planner, epsilon: float) -> Offer:
    """The offer at which every owner sells ``epsilon``, and a value of fitness at which it likely pays."""
    profile = np.full(len(planner.inputs.owners), epsilon)
    paid = PAID * len(profile)
    own = planner.forecast.outside
    bought = planner.forecast.at(profile)
    possible = planner.predict(profile)
    gains = possible.outside - possible.trained
    sure = [float(np.quantile(gains, 1 - chance, method="lower")) for chance in CHANCES]
    least = next((gain for gain in sure if gain > 0), np.inf)
    value = max(
        TWICE * paid / max(own - bought, LEAST_GAIN), MARGIN * paid / max(least, LEAST_GAIN)
    )
    price = rounded(PAID / epsilon)
    cost = rounded(PAID / epsilon**2)
    value = rounded(value, up=True)
    chance = chance_above(possible.gain(value, price * epsilon * len(profile)))
    return Offer(epsilon, price, cost, value, own, bought, chance if bought < own else 0.0)


def enough(offer: Offer) -> bool:
    """Whether an offer leaves at most a quarter of the learner's error at customary budgets."""
    return offer.epsilon <= CUSTOMARY and offer.bought <= LEFT * offer.own


def better(offers: Mapping[str, Offer]) -> str:
    """Of offers under several mechanisms, the first that is enough; else the one that leaves least error."""
    first = next((name for name, offer in offers.items() if enough(offer)), None)
    return first or min(offers, key=lambda name: offers[name].bought / offers[name].own)


def rounded(value: float, *, up: bool = False) -> float:
    """A number to two digits, the nearest or the next above.

    >>> rounded(1234.0), rounded(1234.0, up=True), rounded(0.0126)
    (1200.0, 1300.0, 0.013)
    """
    scale = 10.0 ** (np.floor(np.log10(value)) - 1)
    digits = value / scale
    return float(f"{(np.ceil(digits - 1e-9) if up else np.round(digits)) * scale:.12g}")
