"""Arbitrage-free prices of versions of one model, more and less noisy."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from market.columns import Array

# Relative difference of prices that are equal up to rounding.
EVEN = 1e-12


class VersionPrices(NamedTuple):
    """Prices of versions (n_versions,), money, and the revenue from all buyers surveyed."""

    prices: Array
    revenue: float


def price_points(epsilon: Any, offers: Sequence[Any]) -> list[Array]:
    """Candidate prices of each version, rising, that contain an optimal list of prices.

    For each version the offers of its own buyers; for every less noisy one the price of the same
    unit price; for every noisier one the same price.

    Parameters
    ----------
    epsilon : (n_versions,), rising, above 0
    offers : for each version, the willingness to pay of each buyer surveyed, money

    Source: Dealer, Algorithm 3, the complete price space.

    >>> [one.tolist() for one in price_points([1.0, 2.0, 3.0], [[100.0], [180.0], [240.0]])]
    [[100.0, 180.0, 240.0], [180.0, 200.0, 240.0], [240.0, 270.0, 300.0]]
    """
    made: list[Array] = []
    for number, here in enumerate(epsilon):
        others = zip(epsilon, offers, strict=True)
        scaled = [np.asarray(paid, dtype=float) * max(here / there, 1.0) for there, paid in others]
        made.append(np.unique(np.concatenate([scaled[number], *scaled])))
    return made


def best_prices(epsilon: Any, offers: Sequence[Any]) -> VersionPrices:
    """Revenue-maximising prices that rise with epsilon, while the price per epsilon falls.

    So combining noisy versions saves nothing: their budgets add up, and their prices add up to no
    less than that of one version with the sum. The condition is stricter than necessary
    (subadditive prices suffice); at least half of the best revenue under subadditivity is attained.

    Parameters
    ----------
    epsilon : (n_versions,), rising, above 0
    offers : for each version, the willingness to pay of each buyer surveyed, money; a buyer wants
        one version only

    Source: Dealer, section 5: the relaxed revenue maximisation, Theorem 5.1 (one half) and
        Algorithm 4.

    Two buyers would pay 100 and 150 for the first version, three 180, 180 and 200 for the second.

    >>> best = best_prices([1.0, 2.0], [[100.0, 150.0], [180.0, 180.0, 200.0]])
    >>> best.prices.tolist(), best.revenue
    ([100.0, 180.0], 740.0)
    """
    points = price_points(epsilon, offers)
    totals = [_revenue_at(points[0], offers[0])]
    came_from = []
    for number in range(1, len(points)):
        before = points[number - 1][:, None]
        here = points[number]
        rises = before <= here * (1 + EVEN)
        unit_falls = before / epsilon[number - 1] >= here / epsilon[number] * (1 - EVEN)
        reached = np.where(rises & unit_falls, totals[-1][:, None], -np.inf)
        came_from.append(reached.argmax(axis=0))
        totals.append(reached.max(axis=0) + _revenue_at(here, offers[number]))
    chosen = [int(totals[-1].argmax())]
    revenue = float(totals[-1][chosen[0]])
    for back in reversed(came_from):
        chosen.append(int(back[chosen[-1]]))
    prices = [one[place] for one, place in zip(points, reversed(chosen), strict=True)]
    return VersionPrices(np.array(prices), revenue)


def _revenue_at(prices: Array, offers: Any) -> Array:
    """Revenue (m,) of each of the prices (m,) from buyers with these offers."""
    rising = np.sort(np.asarray(offers, dtype=float))
    return prices * (len(rising) - np.searchsorted(rising, prices * (1 - EVEN), side="left"))
