"""
What ε means to one person
==========================

How sure an observer can become of one of two versions of a record, if it held both equally likely.
"""

import matplotlib.pyplot as plt
import numpy as np

from learning.privacy.accounting import gaussian_belief, zcdp_distance

epsilon = np.linspace(0, 6, 120)
pure = 1 / (1 + np.exp(-epsilon))
gauss = [gaussian_belief(zcdp_distance(one, 1e-6), 1e-6) for one in epsilon[1:]]
plt.plot(epsilon, pure, label="pure ε")
plt.plot(epsilon[1:], gauss, label="Gaussian noise, but for a chance of 1e-6")
plt.gca().set(xlabel="ε", ylabel="largest posterior probability", ylim=(0.5, 1))
plt.legend()
