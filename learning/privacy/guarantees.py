"""Guarantees of answers, in measures in which they can be attacked (`learning.audit`).

A measure maps the probabilities of an event under two neighbouring data sets D and D' to the least
parameter under which they are possible.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from learning.arrays import Array

# (lower limit of P[S | D], upper limit of P[S | D']) -> least parameter
Measure = Callable[[Array, Array], Array]

NODES = 81  # of a table of profiles: parameters from 1/WIDTH to WIDTH times the guaranteed one
WIDTH = 8.0
EPSILONS = np.concatenate([[0.0], np.geomspace(3e-3, 10.0, 48)])  # at which a profile is compared


@dataclass(frozen=True)
class Guarantee:
    """Guarantee of a mechanism's answers, jointly and one by one.

    Parameters
    ----------
    measure: the measure of all answers together. A trade-off curve or an accountant's profile is a
        far sharper target than one point (epsilon, delta).
    joint: the bound for all answers asked, in ``measure``.
    single: the bound for one answer with an even share of the budget, in ``single_measure``; inf
        where nothing is guaranteed of one. Over `Mechanism.relative_scales`, that of each answer.
    epsilon: bound in ``measure`` -> epsilon at the mechanism's delta.
    claimed: the epsilon claimed over all answers that the budget covers.
    single_measure: the measure of a single answer.
    single_epsilon: bound in ``single_measure`` -> epsilon.
    chance: the probability that all answers together depend on a record; 1 unless records are
        sampled.
    """

    measure: Measure
    joint: float
    single: float
    epsilon: Callable[[float], float]
    claimed: float
    single_measure: Measure
    single_epsilon: Callable[[float], float]
    chance: float = 1.0

    @classmethod
    def uniform(
        cls,
        measure: Measure,
        joint: float,
        single: float,
        epsilon: Callable[[float], float],
        claimed: float,
    ) -> Guarantee:
        """Make a guarantee with one measure for all answers together and for a single one."""
        return cls(measure, float(joint), float(single), epsilon, float(claimed), measure, epsilon)


def measure_pure(low: Array, high: Array) -> Array:
    """Compute the least epsilon of pure DP for an event of those probabilities."""
    return np.log(np.maximum(low, 1e-300) / high)


def measure_approximate(delta: float) -> Measure:
    """Make the measure of (epsilon, delta)-DP: the least epsilon."""
    return lambda low, high: measure_pure(low - delta, high)


def measure_gaussian(low: Array, high: Array) -> Array:
    """Compute the least distance m = sensitivity/deviation of Gaussian noise for such an event.

    Source: Dong, Roth and Su, Gaussian Differential Privacy, Definition 2.1, for one point of the
        trade-off curve.
    """
    return scipy.special.ndtri(low) - scipy.special.ndtri(high)


def measure_profile(parameters: Array, epsilons: Array, deltas: Array) -> Measure:
    """Make the measure of a family of mechanisms by their whole privacy profiles.

    An event refutes a parameter where low - exp(e) high > delta(e) at any e. Between nodes deltas
    are interpolated; at a node the verdict is exact.

    Parameters
    ----------
    parameters: array (k,), rising; profiles rise with them.
    epsilons: array (m,), e >= 0.
    deltas: array (k, m), the least delta of each parameter at each e.

    Source: Zhu, Dong and Wang, Optimal Accounting of Differential Privacy via Characteristic
        Function (profiles).

    >>> one = measure_profile(np.array([1.0, 2.0]), np.array([0.0]), np.array([[0.2], [0.4]]))
    >>> one(np.array([0.2, 0.5, 0.9]), np.array([0.1, 0.2, 0.1])).round(6).tolist()
    [0.0, 1.5, 2.0]
    """
    deltas = np.maximum.accumulate(deltas, axis=0)  # rising up to the accountant's rounding

    def measure_event(low: Array, high: Array) -> Array:
        found = np.zeros(np.shape(low))
        for epsilon, delta in zip(epsilons, deltas.T, strict=True):
            gap = low - np.exp(epsilon) * high
            parameter = np.interp(gap, delta, parameters, left=0.0)
            found = np.maximum(found, np.where(gap > 0, parameter, 0.0))
        return found

    return measure_event


def tabulate_profiles(parameter: float, deltas_at: Callable[[float], Array]) -> Measure:
    """Make the measure of a family of profiles tabulated around the guaranteed parameter.

    Parameters
    ----------
    parameter: the guaranteed parameter, > 0; a node, so that the verdict on it is exact.
    deltas_at: parameter -> array (m,), the least delta at each of EPSILONS.
    """
    nodes = np.geomspace(parameter / WIDTH, parameter * WIDTH, NODES)
    nodes[NODES // 2] = parameter
    deltas = np.stack([deltas_at(float(node)) for node in nodes])
    return measure_profile(nodes, EPSILONS, deltas)
