"""Tatonnement: the price rises while more is wanted than is offered at it, falls otherwise, in ever smaller steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from agents.pricing.base import Observation, Posts, Pricing
from learning.declaration import Positive


@dataclass(frozen=True)
class Tatonnement(Pricing):
    """The logarithm of the price moves by ``step / (1 + turns) * excess``, where turns counts changes of direction.

    For "profit" the excess is that of the gain over the money paid for it between two prices beside the present one,
    ``(rise of gain - rise of spending) / (|rise of gain| + |rise of spending|)``: the price rises while the marginal gain
    seen exceeds the marginal payment, and it costs two posts a move. For "budget" it is ``(budget - spending) / budget``,
    not below -1: the price at which the learner spends what it has. Where nothing is offered, everything is in excess
    demand; where the budget is exceeded, nothing is.

    Parameters
    ----------
    aim : what the learner wants: to gain most, or to spend its budget
    step : the first step, of the logarithm of the price
    apart : between a price and the two that it is judged by, of the logarithm; smaller after each turn

    Source: Walras, Elements of Pure Economics, and Arrow and Hurwicz (1958), prices that follow excess demand; Robbins and
    Monro (1951) and, for differences of what is seen, Kiefer and Wolfowitz (1952), steps that decline; Kesten (1958), only
    where the direction turns. Theirs are counted in units of what is seen, ours as a part of the money at stake.
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
        log, turns, last, left = (low + high) / 2, 0, 0.0, self.prices
        each = 2 if self.aim == "profit" else 1
        while left >= each:
            left -= each
            if self.aim == "profit":
                apart = self.apart / (1 + turns) ** (1 / 3)
                beneath = yield float(np.exp(max(log - apart, low)))
                above = yield float(np.exp(min(log + apart, high)))
                excess = excess_gain(beneath, above)
            else:
                excess = excess_budget((yield float(np.exp(log))))
            turns, last = turns + (excess * last < 0), excess
            before, log = log, float(np.clip(log + self.step / (1 + turns) * excess, low, high))
            if abs(log - before) < self.close:
                break
        return float(np.exp(log))


def excess_gain(beneath: Observation, above: Observation) -> float:
    """How much more the gain rises than the spending between two prices, as a part of both, from -1 to 1."""
    if above.over:
        return -1.0
    if not above.sold:
        return 1.0
    gained, paid = above.gain - beneath.gain, above.spending - beneath.spending
    at_stake = abs(gained) + abs(paid)
    return (gained - paid) / at_stake if at_stake else 0.0


def excess_budget(seen: Observation) -> float:
    """The part of the budget that is not spent, or spent too much, from -1 to 1."""
    return max(-1.0, 1 - seen.spending / seen.budget)
