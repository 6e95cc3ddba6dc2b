"""
The model that was bought
=========================

Coefficients on the scale of the table, from answers under noise.
"""

import matplotlib.pyplot as plt

import dpmarket

model = dpmarket.run("three_insurers", {"validation.runs": 10}).model
model.coef_.sort_values().plot.barh(figsize=(7, 3.4), xlabel="doctor visits per unit")
plt.title(f"held-out error {model.holdout:.3g}" if isinstance(model.holdout, float) else "")
plt.tight_layout()
