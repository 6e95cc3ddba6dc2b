"""Money that makes trade possible, by forecasts alone, at a few budgets for all owners."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from learning.forecast.planner import Planner
from scenarios.starting.questions import NOTHING, Stated

BUDGETS = (0.5, 1.0, 2.0, 5.0, 10.0)  # tried, the most private first
CUSTOMARY = 2.0  # up to which a delta is tried before budgets go higher
RANGE = (0.05, 20.0)  # that owners choose from
LEFT = 0.25  # of the learner's error, which buying is to leave at most
PAID = 1.0  # for a record: a unit to count in, no more
DIGITS = 4


@dataclass(frozen=True)
class Offer:
    """A price for each record and unit of epsilon, at which owners sell ``epsilon``.

    Parameters
    ----------
    epsilon : what each owner sells: ln(price / harm).
    price : money paid for a record and unit of epsilon.
    harm : money that a record's person is expected to lose where it is not used; each e-fold of
        that risk costs the owner as much.
    own : relative fitness of the learner's own model, as forecast.
    bought : that of the trained model.
    stated : what the user answered of worth and harm.
    """

    epsilon: float
    price: float
    harm: float
    own: float
    bought: float
    stated: Stated = NOTHING

    @property
    def trades(self) -> bool:
        """Test whether anything is asked: what is bought is forecast to beat the own model."""
        return self.bought < self.own


# Money before there is any: forecasts do not depend on it, but a scenario must have some.
TRIAL = Offer(epsilon=1.0, price=1.0, harm=0.5, own=1.0, bought=1.0)


def make_offer(planner: Planner, stated: Stated = NOTHING) -> Offer:
    """Offer the most private budget that leaves little error; else the one that leaves least."""
    owners = len(planner.inputs.owners)
    own = planner.forecast.outside
    left = {epsilon: planner.forecast.at(np.full(owners, epsilon)) for epsilon in BUDGETS}
    enough = [epsilon for epsilon in BUDGETS if left[epsilon] <= LEFT * own]
    best = min(BUDGETS, key=lambda one: left[one])
    return price_budget(planner, next(iter(enough), best), stated)


def price_budget(planner: Planner, epsilon: float, stated: Stated = NOTHING) -> Offer:
    """Find prices at which every owner sells ``epsilon``, for `PAID` a record.

    An owner of n records whose cost is n harm (e^epsilon - 1) sells up to where
    harm e^epsilon = price. Where the harm is stated, the price follows from its likely value.
    """
    price = PAID / epsilon
    harm = float(f"{price * np.exp(-epsilon):.{DIGITS}g}")
    if stated.harm:
        harm = stated.harm.likely
        price = harm * np.exp(epsilon)
    profile = np.full(len(planner.inputs.owners), epsilon)
    return Offer(
        epsilon,
        float(f"{price:.{DIGITS}g}"),
        harm,
        planner.forecast.outside,
        planner.forecast.at(profile),
        stated,
    )


def is_enough(offer: Offer) -> bool:
    """Test whether an offer leaves at most a quarter of the error at customary budgets."""
    return offer.epsilon <= CUSTOMARY and offer.bought <= LEFT * offer.own


def choose_privacy(offers: Mapping[str, Offer]) -> str:
    """Choose the first privacy whose offer is enough; else the one that leaves least error."""
    least = min(offers, key=lambda name: offers[name].bought / offers[name].own)
    return next((name for name, offer in offers.items() if is_enough(offer)), least)
