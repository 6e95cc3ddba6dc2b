"""Searches for a price by posts alone: golden section, and tatonnement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from agents.pricing.base import Observation, Posts, Pricing
from learning.declaration import Positive

GOLDEN = (np.sqrt(5) - 1) / 2


@dataclass(frozen=True)
class GoldenSection(Pricing):
    """Of two inner prices, drops the range beyond the worse one: each post narrows it to 0.618.

    It finds the maximum of a unimodal profit in the logarithm of the price, and a local maximum
    otherwise. Observations must be exact, since a dropped range never returns. Of two equally good
    prices, as where no one sells at either, the higher range is kept.

    Source: Kiefer, Sequential Minimax Search for a Maximum (1953): no search by as many posts
        narrows further.
    """

    title = "narrows the range of prices by the golden section"

    def posts(self) -> Posts:
        left, right = self.ends
        inner = yield float(np.exp(right - GOLDEN * (right - left)))
        outer = yield float(np.exp(left + GOLDEN * (right - left)))
        best = max(inner, outer, key=lambda seen: seen.rank)
        for _ in range(self.prices - 2):
            if inner.rank > outer.rank or outer.over:
                right = float(np.log(outer.price))
                outer = inner
                seen = inner = yield float(np.exp(right - GOLDEN * (right - left)))
            else:
                left = float(np.log(inner.price))
                inner = outer
                seen = outer = yield float(np.exp(left + GOLDEN * (right - left)))
            best = max(best, seen, key=lambda seen: seen.rank)
            if right - left <= self.close:
                break
        return best.price


@dataclass(frozen=True)
class Tatonnement(Pricing):
    """Moves the logarithm of the price by ``step/(1 + turns) * excess``, turns of its direction.

    ``turns`` counts changes of direction. For "profit" the excess is that of the gain over the
    spending between two prices around the present one, ``(rise of gain - rise of spending)/(|rise
    of gain| + |rise of spending|)``: the price rises while the marginal gain exceeds the marginal
    payment, with two posts a move. For "budget" it is ``(budget - spending)/budget``, not below -1:
    the price at which the learner spends its budget. Excess demand is 1 where nothing is offered,
    and -1 beyond the budget.

    Parameters
    ----------
    aim : the largest "profit", or spending the "budget"
    step : the first step, of the logarithm of the price
    apart : distance of the two prices from the present one, of the logarithm; smaller after turns

    Source: Walras, Elements of Pure Economics, and Arrow and Hurwicz (1958), prices that follow
        excess demand; Robbins and Monro (1951) and, for differences of observations, Kiefer and
        Wolfowitz (1952), steps that decline; Kesten (1958), only where the direction turns. Theirs
        are in units of observations, ours a part of the money at stake.
    """

    title = "raises its price while the gain seen rises by more than what it pays"
    aim: Literal["profit", "budget"] = "profit"
    step: Positive = 1.0
    apart: Positive = 0.1

    @property
    def needs_budget(self) -> bool:
        return self.aim == "budget"

    def posts(self) -> Posts:
        low, high = self.ends
        log = (low + high) / 2
        turns = 0
        last = 0.0
        for _ in range(self.prices if self.needs_budget else self.prices // 2):
            if self.needs_budget:
                excess = excess_budget((yield float(np.exp(log))))
            else:
                distance = self.apart / (1 + turns) ** (1 / 3)
                below = yield float(np.exp(max(log - distance, low)))
                above = yield float(np.exp(min(log + distance, high)))
                excess = excess_gain(below, above)
            turns += excess * last < 0
            last = excess
            before = log
            log = float(np.clip(log + self.step / (1 + turns) * excess, low, high))
            if abs(log - before) < self.close:
                break
        return float(np.exp(log))


def excess_gain(below: Observation, above: Observation) -> float:
    """Rise of the gain less that of the spending between two prices, over both, from -1 to 1."""
    if above.over:
        return -1.0
    if not above.sold:
        return 1.0
    gained = above.gain - below.gain
    paid = above.spending - below.spending
    at_stake = abs(gained) + abs(paid)
    return (gained - paid) / at_stake if at_stake else 0.0


def excess_budget(seen: Observation) -> float:
    """Unspent part of the budget, negative if overspent, from -1 to 1."""
    return max(-1.0, 1 - seen.spending / seen.budget)
