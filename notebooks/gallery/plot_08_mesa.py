"""
Owners as Mesa agents
=====================

The same contest among owners of different behaviours. Each line is one owner, round by round.
"""

import matplotlib.pyplot as plt
import numpy as np

from agents import DataMarket
from market.costs import Linear
from market.game import Game, Owners
from market.policies import Proportional

owners = Owners(("A", "B"), 1, 0.0, 6.0, Linear([1.0, 2.0]))
game = Game(owners, Proportional(12.0, "epsilon"), None, 0.0)
figure, panels = plt.subplots(1, 3, figsize=(9, 3), sharey=True, layout="constrained")
for axes, behaviour in zip(panels, ("rational", "inertial", "fictitious_play"), strict=True):
    market = DataMarket(game, rng=1, behaviour=behaviour, max_rounds=20, patience=20)
    path = np.array([epsilon for _, epsilon, _, _ in market.run().trajectory])
    axes.plot(path, label=owners.names)
    axes.set(title=behaviour, xlabel="round")
panels[0].set_ylabel("ε")
panels[0].legend()
