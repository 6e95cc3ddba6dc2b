"""A valuation with closed forms: ``scale sqrt(epsilon)``, so that demand is ``(scale / 2 price)^2``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learning.declaration import NonNegative, Positive, parameter
from market.procurement.valuation import Valuation


@dataclass(frozen=True)
class SquareRootValuation(Valuation):
    scale: NonNegative = parameter()
    epsilon_max: Positive = 10.0

    def value(self, epsilon):
        return self.scale * np.sqrt(epsilon)

    def demand(self, price):
        price = np.maximum(price, np.finfo(float).tiny)
        if self.scale == 0:
            return np.zeros_like(price)
        return np.exp(
            np.minimum(2 * np.log(self.scale / 2) - 2 * np.log(price), np.log(self.epsilon_max))
        )
