"""
Did training keep the forecast?
===============================

The error of 40 trainings at the equilibrium budgets, and what was forecast before any of them.
"""

import matplotlib.pyplot as plt

import dpmarket

market = dpmarket.run("three_insurers", {"validation.runs": 40})
figure, axes = plt.subplots(layout="constrained")
axes.hist(market.validation["relative_fitness"], bins=12, color="lightsteelblue")
low, high = market["forecast"]["interval"]
axes.axvspan(low, high, color="whitesmoke", zorder=0, label="interval of the forecast")
axes.axvline(market["forecast"]["relative_fitness"], color="black", label="forecast")
axes.set(xlabel="excess error of the trained model, relative to the best", ylabel="trainings")
axes.legend()
