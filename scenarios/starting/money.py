"""Money that makes trade possible, by forecasts alone, at a few budgets for all owners."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from learning.forecast.planner import Planner
from scenarios.summary.verdict import chance_above

BUDGETS = (0.5, 1.0, 2.0, 5.0, 10.0)  # tried, the most private first
CUSTOMARY = 2.0  # up to which a delta is tried before budgets go higher
RANGE = (0.05, 20.0)  # that owners choose from
LEFT = 0.25  # of the learner's error, which buying is to leave at most
PAID = 100.0  # to each owner: a unit to count in, no more
# Chances that buying pays, by what the public rows allow: the first that some value can reach.
CHANCES = (0.9, 0.75, 0.5)
MARGIN = 1.1  # times what is paid, that it is then worth
LEAST_GAIN = 1e-6  # in relative fitness: less is none
TWICE = 2.0  # what is bought is worth as many times what it costs


@dataclass(frozen=True)
class Offer:
    """A price per unit of epsilon, at which owners sell ``epsilon``, and a value that makes it pay.

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
        """Test whether anything is asked: what is bought is forecast to beat the own model."""
        return self.bought < self.own


# Money before there is any: forecasts do not depend on it, but a scenario must have some.
TRIAL = Offer(epsilon=1.0, price=1.0, cost=1.0, value=1.0, own=1.0, bought=1.0, chance=0.0)


def make_offer(planner: Planner) -> Offer:
    """Offer the most private budget that leaves little error; else the one that leaves least."""
    owners = len(planner.inputs.owners)
    own = planner.forecast.outside
    left = {epsilon: planner.forecast.at(np.full(owners, epsilon)) for epsilon in BUDGETS}
    enough = [epsilon for epsilon in BUDGETS if left[epsilon] <= LEFT * own]
    best = min(BUDGETS, key=lambda one: left[one])
    return price_budget(planner, next(iter(enough), best))


def price_budget(planner: Planner, epsilon: float) -> Offer:
    """Find prices at which every owner sells ``epsilon``, and a value at which it likely pays."""
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
    chance = 0.0
    if bought < own:
        chance = chance_above(possible.gain(value, price * epsilon * len(profile)))
    return Offer(epsilon, price, cost, value, own, bought, chance)


def is_enough(offer: Offer) -> bool:
    """Test whether an offer leaves at most a quarter of the error at customary budgets."""
    return offer.epsilon <= CUSTOMARY and offer.bought <= LEFT * offer.own


def choose_privacy(offers: Mapping[str, Offer]) -> str:
    """Choose the first privacy whose offer is enough; else the one that leaves least error."""
    least = min(offers, key=lambda name: offers[name].bought / offers[name].own)
    return next((name for name, offer in offers.items() if is_enough(offer)), least)


def rounded(value: float, *, up: bool = False) -> float:
    """Round to two digits, to the nearest number or the next above.

    >>> rounded(1234.0), rounded(1234.0, up=True), rounded(0.0126)
    (1200.0, 1300.0, 0.013)
    """
    scale = 10.0 ** (np.floor(np.log10(value)) - 1)
    digits = np.round(value / scale)
    if up:
        digits = np.ceil(value / scale - 1e-9)
    return float(f"{digits * scale:.12g}")
