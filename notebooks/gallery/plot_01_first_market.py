"""
Who sells how much privacy
==========================

Three insurers sell answers to a learner. Each chooses its own ε in equilibrium.
"""

import matplotlib.pyplot as plt

import dpmarket

market = dpmarket.run("three_insurers", training=False)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
market.owners["epsilon"].plot.barh(ax=left, xlabel="ε sold", ylabel="")
money = ["payment", "privacy_cost", "surplus"]
market.owners[money].plot.barh(ax=right, xlabel="money", ylabel="")
