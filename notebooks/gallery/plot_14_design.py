"""
What should the learner offer?
==============================

The learner's gain and the model's error at each sum of money that it may divide among the owners.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import dpmarket

money = np.linspace(200, 6000, 8)
rows = {}
for budget in money:
    market = dpmarket.run("three_insurers", {"policy.budget": float(budget)}, training=False)
    gain = market["learner"]["surplus"]
    rows[budget] = {"gain": gain, "forecast error": market["forecast"]["relative_fitness"]}
table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("money offered")
table.plot(subplots=True, marker="o", layout=(1, 2), figsize=(9, 3.2))
plt.tight_layout()
