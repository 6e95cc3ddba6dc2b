"""
The price of ε in noise
=======================

The standard deviation of the noise on one number of one answer, by mechanism: 1,000 records, 10
numbers, gradients in a ball of radius 1.
"""

import matplotlib.pyplot as plt
import numpy as np

from learning.privacy.gaussian import Gaussian
from learning.privacy.l2 import L2
from learning.privacy.laplace import Laplace

epsilon = np.geomspace(0.1, 10, 60)
laws = {"Laplace": Laplace(), "l2": L2(10), "Gaussian, δ = 1e-6": Gaussian(1e-6, "pld")}
for name, law in laws.items():
    radius = 10**0.5 if law.norm == 1 else 1.0  # the same ball in the norm of the mechanism
    plt.loglog(epsilon, law.variance(epsilon, 1000, radius, 1) ** 0.5, label=name)
plt.gca().set(xlabel="ε of one answer", ylabel="standard deviation of the noise")
plt.legend()
