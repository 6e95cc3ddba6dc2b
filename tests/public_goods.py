"""A public good with closed forms: every owner enjoys one estimate and chooses the precision of its datum.

An owner's choice is the precision x of its disclosure (in the place of epsilon), at a cost of
``c x^2``. The estimate has variance ``1 / (prior + sum of x)``. Equal owners with valuation 1 and
no prior: equilibrium ``(2 c n^2)^(-1/3)``, optimum ``(2 c n)^(-1/3)``, price of anarchy of losses
``n^(1/3) (2 + 1/n) / 3``.

Source: Chessa, Grossklags and Loiseau, A game-theoretic study on non-monetary incentives in data
    analytics projects with privacy implications.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from market.costs.functions import Quadratic
from market.game.game import Game
from market.game.owners import Owners
from market.policies.contributions import Marginal


@dataclass(frozen=True)
class Precision:
    """A forecast: the variance of an estimate from independent disclosures; `outside` where it is infinite."""

    prior: float = 0.0
    nothing: float = 0.0

    @property
    def outside(self):
        return 1 / self.prior if self.prior > 0 else self.nothing

    def terms(self, epsilon):
        return np.asarray(epsilon, dtype=float)[..., None]

    def excess(self, sums):
        total = self.prior + sums[..., 0]
        return np.divide(1.0, total, out=np.full(np.shape(total), self.outside), where=total > 0)

    def slopes(self, epsilon, sums):
        return -(self.excess(sums) ** 2)


def public_good(price, valuation=1.0, prior=0.0):
    """The game ``price_i x_i^2 + valuation_i * variance``, on intervals that bind none.

    Each owner is paid its own part of the gain, so that its incentives are those of its valuation.
    """
    price = np.asarray(price, dtype=float)
    valuations = np.broadcast_to(np.asarray(valuation, dtype=float), price.shape)
    most = 2 * np.cbrt(valuations.sum() / (2 * price))
    least = valuations / (2 * price * (prior + most.sum()) ** 2)
    names = tuple(f"owner {i + 1}" for i in range(len(price)))
    owners = Owners(names, 1.0, least, most, Quadratic(2 * price))
    total = float(valuations.sum())
    law = Precision(prior, 1 / least.sum())
    return Game(owners, Marginal(valuations / total), law, total)


def closed_form(price, valuation, prior):
    """Owner i's first-order condition is 2 c_i x_i = w_i/S^2, S = prior + sum of x; so S^3 - prior S^2 = A,
    A = sum w_i/(2 c_i): one positive root, as the left side is negative up to the prior and rises
    from there."""
    weight = valuation / (2 * price)
    most = prior + np.cbrt(weight.sum()) + 1
    total = brentq(lambda s: s**3 - prior * s**2 - weight.sum(), prior, most, xtol=1e-15)
    return weight / total**2
