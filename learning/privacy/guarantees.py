"""What a mechanism guarantees of its answers, in measures in which that can be attacked (`learning.audit`).

A measure turns a test of two neighbouring data sets D and D' into the least parameter under which an event may be so
likely under D and so unlikely under D'.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from learning.arrays import Array

Measure = Callable[[Array, Array], Array]  # (lower limit of P[S | D], upper limit of P[S | D']) -> what it takes

NODES, WIDTH = 81, 8.0  # of a profile's table: from a WIDTH-th of what is guaranteed to WIDTH times as much
EPSILONS = np.concatenate([[0.0], np.geomspace(3e-3, 10.0, 48)])  # at which a profile is compared


@dataclass(frozen=True)
class Guarantee:
    """What a mechanism guarantees of its answers, jointly and one by one.

    Parameters
    ----------
    measure: `pure`; `gaussian` for who guarantees the trade-off curve of Gaussian noise, from which (epsilon, delta)
        follows; `profile` for an accountant's delta at every epsilon: such curves are far sharper a target than a point.
    joint: the bound guaranteed for all answers asked, in ``measure``.
    single: the bound for one answer, in ``single_measure``; inf where nothing is guaranteed of one. Where shares of the
        budget grow, that of an answer that gets an even share: over `Mechanism.relative_scales`, that of each.
    epsilon: what turns a bound in ``measure`` into an epsilon at the mechanism's delta.
    claimed: the epsilon claimed over all answers that the budget covers.
    single_measure: the measure of a single answer.
    single_epsilon: what turns ``single`` into an epsilon.
    chance: the probability that all answers together show anything of a record; 1 but where records are sampled.
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
    def alike(
        cls, measure: Measure, joint: float, single: float, epsilon: Callable[[float], float], claimed: float
    ) -> Guarantee:
        """One measure for all answers together and for a single one."""
        return cls(measure, float(joint), float(single), epsilon, float(claimed), measure, epsilon)


def pure(low: Array, high: Array) -> Array:
    """Least epsilon of pure DP under which an event has chance ``low`` under one data set and ``high`` under the other."""
    return np.log(np.maximum(low, 1e-300) / high)


def approximate(delta: float) -> Measure:
    """Least epsilon of (epsilon, delta)-DP for such an event."""
    return lambda low, high: pure(low - delta, high)


def gaussian(low: Array, high: Array) -> Array:
    """Least distance m of Gaussian noise, sensitivity/deviation, under which an event has those chances.

    Source: Dong, Roth and Su, Gaussian Differential Privacy, Definition 2.1, for one point of the trade-off curve.
    """
    return scipy.special.ndtri(low) - scipy.special.ndtri(high)


def profile(parameters: Array, epsilons: Array, deltas: Array) -> Measure:
    """Least parameter of a family of mechanisms under which an event has chances low and high: by its whole profile.

    An event refutes a parameter where low - exp(e) high > delta(e) at any e tried. Between nodes it is interpolated; at
    a node, so of a claim that is one, the verdict is exact.

    Parameters
    ----------
    parameters: array (k,), rising; what mechanisms of larger ones give away, those of smaller ones never exceed.
    epsilons: array (m,), e >= 0.
    deltas: array (k, m), the least delta of each parameter at each e.

    Source: Zhu, Dong and Wang, Optimal Accounting of Differential Privacy via Characteristic Function (profiles).

    >>> one = profile(np.array([1.0, 2.0]), np.array([0.0]), np.array([[0.2], [0.4]]))
    >>> one(np.array([0.2, 0.5, 0.9]), np.array([0.1, 0.2, 0.1])).round(6).tolist()
    [0.0, 1.5, 2.0]
    """
    deltas = np.maximum.accumulate(deltas, axis=0)  # rounding of an accountant apart, they rise

    def measure(low: Array, high: Array) -> Array:
        gaps = np.stack([low - np.exp(e) * high for e in epsilons])
        found = [np.interp(gap, delta, parameters, left=0.0) for gap, delta in zip(gaps, deltas.T, strict=True)]
        return np.asarray(np.where(gaps > 0, found, 0.0).max(axis=0))

    return measure


def profile_around(parameter: float, deltas_at: Callable[[float], Array]) -> Measure:
    """The profile of a family of mechanisms, tabulated around the parameter that is guaranteed.

    Parameters
    ----------
    parameter: what is guaranteed, > 0; a node of the table, so that the verdict on it is exact.
    deltas_at: parameter -> array (m,), the least delta at each of EPSILONS.
    """
    nodes = np.geomspace(parameter / WIDTH, parameter * WIDTH, NODES)
    nodes[NODES // 2] = parameter
    return profile(nodes, EPSILONS, np.stack([deltas_at(float(node)) for node in nodes]))
