"""
Many answers from one budget
============================

The noise of each of T answers, a number each, at ε = 1 in all and δ = 1e-6: by the noise, and by
how the cost of all answers is counted.
"""

import matplotlib.pyplot as plt

from learning.privacy.gaussian import Gaussian
from learning.privacy.laplace import Laplace

rounds = [1, 2, 5, 10, 20, 50, 100]
ways = {
    "Gaussian, privacy losses": Gaussian(1e-6, "pld"),
    "Gaussian, zCDP": Gaussian(1e-6, "zcdp"),
    "Laplace, basic composition": Laplace(),
}
for name, law in ways.items():
    deviation = [float(law.variance(1.0, 1000, 1.0, many)) ** 0.5 for many in rounds]
    plt.loglog(rounds, deviation, "o-", label=name)
plt.gca().set(xlabel="answers T", ylabel="standard deviation of the noise")
plt.legend()
