"""Prices of one model's versions, more and less noisy, that nobody can undercut by buying several: arbitrage-free pricing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

EVEN = 1e-12  # relative difference of prices that are the same but for rounding


class VersionPrices(NamedTuple):
    """Prices of versions (n_versions,), money, and what they bring in from all buyers surveyed."""

    prices: np.ndarray
    revenue: float


def willing_to_pay(
    value: Any, coverage: Any, epsilon: Any, *, wanted: tuple[float, float], steepness: tuple[float, float]
) -> np.ndarray:
    """What a buyer would pay for a version: its value, discounted for records that are missing and for noise.

    ``V / (1 + exp(-delta (coverage - theta))) / (1 + exp(-gamma (epsilon - eta)))``.

    Parameters
    ----------
    value : any shape, money, V
    coverage : any shape, Shapley value of the records that made the version, as a part of that of all
    epsilon : any shape, of the version
    wanted : coverage theta and epsilon eta that the buyer expects
    steepness : delta and gamma, how sharply it judges by them

    Source: Liu, Lou, Liu, Xiong, Pei and Sun, Dealer (2021), the price function of model buyers.

    >>> float(willing_to_pay(100.0, 0.8, 1.5, wanted=(0.8, 1.5), steepness=(5.0, 3.0)))
    25.0
    """
    (theta, eta), (delta, gamma) = wanted, steepness
    covered = 1 + np.exp(-delta * (np.asarray(coverage, dtype=float) - theta))
    return np.asarray(value, dtype=float) / covered / (1 + np.exp(-gamma * (np.asarray(epsilon, dtype=float) - eta)))


def price_points(epsilon: Any, offers: Sequence[Any]) -> list[np.ndarray]:
    """The prices among which a best list of prices is found: one rising array for each version.

    For each version what its own buyers would pay; for every less noisy one than theirs the price of the same unit price;
    for every noisier one the same price.

    Parameters
    ----------
    epsilon : (n_versions,), rising, above 0
    offers : for each version, the money that each buyer surveyed would pay for it

    Source: Dealer, Algorithm 3, the complete price space.

    >>> [one.tolist() for one in price_points([1.0, 2.0, 3.0], [[100.0], [180.0], [240.0]])]
    [[100.0, 180.0, 240.0], [180.0, 200.0, 240.0], [240.0, 270.0, 300.0]]
    """
    made: list[np.ndarray] = []
    for number, here in enumerate(epsilon):
        others = zip(epsilon, offers, strict=True)
        scaled = [np.asarray(paid, dtype=float) * max(here / there, 1.0) for there, paid in others]
        made.append(np.unique(np.concatenate([scaled[number], *scaled])))
    return made


def best_prices(epsilon: Any, offers: Sequence[Any]) -> VersionPrices:
    """The prices of the versions that bring in the most, rising with epsilon, while the price per unit of epsilon falls.

    So nobody saves by combining noisy versions: budgets add up, prices add up to no less. The condition is stricter than
    need be (prices that are subadditive would do); at least half of the best revenue under that one is had.

    Parameters
    ----------
    epsilon : (n_versions,), rising, above 0
    offers : for each version, the money that each buyer surveyed would pay for it; a buyer wants one version only

    Returns
    -------
    VersionPrices

    Source: Dealer, section 5: the relaxed revenue maximisation, Theorem 5.1 (one half) and Algorithm 4.

    Two buyers would pay 100 and 150 for the first version, three 180, 180 and 200 for the second.

    >>> best = best_prices([1.0, 2.0], [[100.0, 150.0], [180.0, 180.0, 200.0]])
    >>> best.prices.tolist(), best.revenue
    ([100.0, 180.0], 740.0)
    """
    points = price_points(epsilon, offers)
    totals, came_from = [_revenue(points[0], offers[0])], []
    for number in range(1, len(points)):
        before, here = points[number - 1][:, None], points[number]
        rises = before <= here * (1 + EVEN)
        unit_falls = before / epsilon[number - 1] >= here / epsilon[number] * (1 - EVEN)
        reached = np.where(rises & unit_falls, totals[-1][:, None], -np.inf)
        came_from.append(reached.argmax(axis=0))
        totals.append(reached.max(axis=0) + _revenue(here, offers[number]))
    at = int(totals[-1].argmax())
    revenue, chosen = float(totals[-1][at]), [at]
    for back in reversed(came_from):
        chosen.append(int(back[chosen[-1]]))
    prices = [one[place] for one, place in zip(points, reversed(chosen), strict=True)]
    return VersionPrices(np.array(prices), revenue)


def _revenue(prices: np.ndarray, offers: Any) -> np.ndarray:
    """What each of these prices brings in from buyers who would pay so much (m,)."""
    rising = np.sort(np.asarray(offers, dtype=float))
    return prices * (len(rising) - np.searchsorted(rising, prices * (1 - EVEN), side="left"))
