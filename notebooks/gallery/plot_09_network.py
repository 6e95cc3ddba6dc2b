"""
A bridge between two learners
=============================

Five owners and two learners who pay 18 each. The first owners may sell to both learners.
"""

import matplotlib.pyplot as plt
import numpy as np

from agents.networks.base import Parties, linked_graph, trade_links
from agents.networks.graphs import Captive
from market.competition.market import Competition, Learner
from market.competition.solver import solve_competition
from market.costs import Linear
from market.game import Owners
from market.policies import Proportional

owners = Owners(tuple("ABCDE"), 1, 0.0, 20.0, Linear(1.0))
parties = Parties("trade", owners.names, ("one", "two"))
learners = [Learner(name, Proportional(18.0, "epsilon")) for name in parties.learners]
surplus = []
for bridges in range(6):
    graph = linked_graph(Captive(bridges), parties, rng=np.random.default_rng(1))
    market = Competition(owners, learners, trade_links(graph, parties))
    found = solve_competition(market, rng=np.random.default_rng(1), starts=1)
    surplus.append(market.payoffs(found.epsilon))
plt.plot(surplus, "o-", label=owners.names)
plt.gca().set(xlabel="owners who may sell to both", ylabel="surplus of each owner")
plt.legend()
