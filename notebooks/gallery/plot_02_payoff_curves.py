"""
Nobody gains by moving alone
============================

Each owner's payoff against its own ε, while the others keep theirs. The dots are the equilibrium.
"""

import matplotlib.pyplot as plt

import dpmarket

market = dpmarket.run("three_insurers", training=False)
figure, axes = plt.subplots(layout="constrained")
for owner, curve in market.payoff_curves.groupby("owner"):
    (line,) = axes.plot(curve["epsilon"], curve["payoff"], label=owner)
    at = market.owners.loc[owner]
    axes.plot(at["epsilon"], at["surplus"], "o", color=line.get_color())
axes.set(xlim=(0, 4), ylim=(-300, 700), xlabel="own ε", ylabel="payoff")
axes.legend()
