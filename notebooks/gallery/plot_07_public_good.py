"""
Without payment too little is shared
====================================

A model that all owners use is a public good. What an optimum and an equilibrium share.
"""

import matplotlib.pyplot as plt
import numpy as np

from market.analysis.optimum import social_optimum
from market.costs import Linear
from market.equilibrium import solve
from market.game import Game, Owners
from market.policies import Posted


class Shared:
    """The model's error falls as 1/(1 + the sum of all ε)."""

    outside = 1.0

    def terms(self, epsilon):
        """What each owner adds."""
        return np.asarray(epsilon, dtype=float)[..., None]

    def excess(self, sums):
        """The error."""
        return 1 / (1 + sums[..., 0])


worth = np.linspace(2, 30, 15)
found = []
for benefit in worth:
    owners = Owners(("A", "B"), 1, 0.01, 20.0, Linear([1.0, 2.0]), benefit=benefit, isolated=1.0)
    game = Game(owners, Posted(price=0.0), Shared(), value=0.0)
    alone = solve(game, rng=np.random.default_rng(0), starts=2)
    found.append([alone.epsilon.sum(), social_optimum(game, start=np.ones(2)).epsilon.sum()])
plt.plot(worth, found, label=["equilibrium", "social optimum"])
plt.gca().set(xlabel="worth of a perfect model to each owner", ylabel="ε shared in all")
plt.legend()
