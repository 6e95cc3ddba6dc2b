"""
Best responses converge
=======================

The budgets of each round of best responses, and the most that any owner could still gain.
"""

import matplotlib.pyplot as plt

import dpmarket

market = dpmarket.run("three_insurers", training=False)
path = market.trajectory.pivot(index="round", columns="owner", values="epsilon")
regret = market.trajectory.groupby("round")["regret"].max()
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
path.plot(ax=left, marker=".", xlabel="round", ylabel="ε").legend(loc=(0.55, 0.15))
regret[regret > 0].plot(ax=right, marker=".", logy=True, xlabel="round", ylabel="largest regret")
