"""Toy forecasts with the interface of a real one, simple enough to solve by hand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


def _terms(epsilon):
    """1/epsilon^2 and a head count, both 0 for who does not share."""
    epsilon = np.asarray(epsilon, dtype=float)
    shares = epsilon > 0
    noise = np.divide(1.0, epsilon, out=np.zeros_like(epsilon), where=shares) ** 2
    return np.stack([noise, shares.astype(float)], axis=-1)


@dataclass(frozen=True)
class LinearLaw:
    """psi = bias + gain * sum 1/epsilon^2 over who shares; nobody shares: outside."""

    outside: float
    bias: float
    gain: float

    def terms(self, epsilon):
        return _terms(epsilon)

    def excess(self, sums):
        return np.where(sums[..., 1] > 0, self.bias + self.gain * sums[..., 0], self.outside)

    def slopes(self, epsilon, sums):
        shares = epsilon > 0
        return -2 * self.gain * np.divide(1.0, epsilon, out=np.zeros_like(epsilon), where=shares) ** 3


@dataclass(frozen=True)
class Envelope:
    """psi = least of bias_T + gain_T * sum 1/epsilon^2 over horizons T, and of doing nothing (outside).

    No ``slopes``: the market has to difference it.
    """

    outside: float
    biases: tuple
    gains: tuple

    def terms(self, epsilon):
        return _terms(epsilon)

    def excess(self, sums):
        lines = np.array(self.biases) + np.array(self.gains) * sums[..., :1]
        return np.where(sums[..., 1] > 0, np.minimum(lines.min(axis=-1), self.outside), self.outside)
