"""
A budget for life
=================

Two owners share 12 each period. A has ε = 5 to spend in its life, and in the third period nothing
is left. Then B alone earns all for next to nothing.
"""

import matplotlib.pyplot as plt
import numpy as np

from agents.dynamics import MarketOverTime
from learning.privacy.laplace import Laplace
from learning.privacy.lifetime import Lifetime
from market.costs import Linear
from market.game import Game, Owners
from market.policies import Proportional

owners = Owners(("A", "B"), 1, 0.0, 20.0, Linear([1.0, 2.0]))
game = Game(owners, Proportional(12.0, "epsilon"), None, 0.0)
life = Lifetime(Laplace(), np.array([5.0, np.inf]))
periods = MarketOverTime(game, periods=3, lifetime=life, rng=1).run()
plt.bar([0.8, 1.8, 2.8], [one.sold[0] for one in periods], 0.4, label="A")
plt.bar([1.2, 2.2, 3.2], [one.sold[1] for one in periods], 0.4, label="B")
plt.gca().set(xlabel="period", ylabel="ε sold", xticks=[1, 2, 3])
plt.legend()
