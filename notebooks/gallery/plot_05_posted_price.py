"""
Supply at a posted price
========================

What each owner sells at a price per unit of ε, if its marginal cost rises with the ε sold.
"""

import matplotlib.pyplot as plt
import numpy as np

from market.costs import Quadratic
from market.equilibrium import solve
from market.game import Game, Owners
from market.policies import Posted

owners = Owners(("A", "B", "C"), 1, 0.0, 10.0, Quadratic([1.0, 2.0, 4.0]))
prices = np.linspace(0.1, 12, 40)
games = [Game(owners, Posted(price=price, per="epsilon"), None, 0.0) for price in prices]
sold = [solve(game, rng=np.random.default_rng(1), starts=1).epsilon for game in games]
plt.plot(prices, sold, label=owners.names)
plt.gca().set(xlabel="price per unit of ε", ylabel="ε sold")
plt.legend()
