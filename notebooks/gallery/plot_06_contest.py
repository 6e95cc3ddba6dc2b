"""
A fixed sum is a contest
========================

Two owners share 12 in proportion to the ε that they sell. Their best responses cross once.
"""

import matplotlib.pyplot as plt
import numpy as np

from market.costs import Linear
from market.game import Game, Owners
from market.policies import Proportional

owners = Owners(("A", "B"), 1, 0.0, 20.0, Linear([1.0, 2.0]))
game = Game(owners, Proportional(12.0, "epsilon"), None, 0.0)
tried = np.linspace(0.05, 8, 80)
answers = np.array([game.best_responses(np.array([own, own])) for own in tried])
plt.plot(answers[:, 0], tried, label="A's best response to B")
plt.plot(tried, answers[:, 1], label="B's best response to A")
plt.gca().set(xlabel="ε of A", ylabel="ε of B", xlim=(0, 4), ylim=(0, 4), aspect="equal")
plt.legend()
