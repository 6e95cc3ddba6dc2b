"""Toy forecasts with the interface of a real one, simple enough to solve by hand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


def _terms(epsilon):
    """1/epsilon^2 and a head count, both 0 for who does not share."""
    epsilon = np.asarray(epsilon, dtype=float)
    shares = epsilon > 0
    made = np.zeros((*epsilon.shape, 2))
    np.divide(1.0, epsilon, out=made[..., 0], where=shares)
    np.square(made[..., 0], out=made[..., 0])
    made[..., 1] = shares
    return made


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
        return (
            -2 * self.gain * np.divide(1.0, epsilon, out=np.zeros_like(epsilon), where=shares) ** 3
        )


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
        lines = np.multiply.outer(self.gains, sums[..., 0])  # a line in each row: quick to reduce
        lines += np.reshape(self.biases, (-1,) + (1,) * (lines.ndim - 1))
        least = np.minimum(lines.min(axis=0), self.outside)
        return np.where(sums[..., 1] > 0, least, self.outside)


# Parameters with which a cost, and a policy, takes part in markets of every cost with every policy.
COST_PARAMETERS = {
    "leakage": {"price": 0.5},
    "linear": {"price": 1.0},
    "quadratic": {"price": 1.0},
    "expected_harm": {"price": 0.1},
    "belief": {"price": 2.0},
    "exponential": {"price": 0.2},
    "channel": {"price": 0.5, "values": 4},
    "differential_entropy": {"price": 0.5},
}
POLICY_PARAMETERS = {
    "posted": [
        {"price": 1.5},
        {"price": 1.0, "per": "record_epsilon"},
        {"price": 0.8, "per": "bit"},
    ],
    "proportional": [
        {"budget": 6.0, "basis": basis}
        for basis in ("records_epsilon", "records_epsilon2", "epsilon")
    ],
    "marginal": [{"share": 0.7}, {"share": 1.0, "reference": "floor"}],
    "shapley": [{"share": 0.5}],
    "contribution": [{"budget": 6.0}],
    "contracts": [{"epsilon": 1.0, "amounts": 2.0}],
    "posted_channel": [{"price": 0.7, "values": 4}],
    "tiers": [{"thresholds": [0.5, 2.0], "amounts": [1.0, 2.5]}],
    "cost_plus": [{"margin": 0.2}],
    "thesis_leakage": [{"price": 0.5, "values": 4}],
    "thesis_utility": [{"price": 0.5}],
    "thesis_gain": [{"price": 0.5, "values": 4}],
    "thesis_loss": [{"price": 0.5, "values": 4, "leakage": "lost"}],
}


class Crowd:
    """psi = 1/(1 + s^3/4), s the sum of epsilon: what comes first adds little."""

    outside = 1.0

    def terms(self, epsilon):
        return np.asarray(epsilon, dtype=float)[..., None]

    def excess(self, sums):
        return 1 / (1 + sums[..., 0] ** 3 / 4)
