"""Guarantees of answers, in measures in which they can be attacked (`learning.audit`).

A measure maps the probabilities of an event under two neighbouring data sets D and D' to the least
parameter under which they are possible.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial, singledispatch

import numpy as np
import scipy

from learning.arrays import Array
from learning.privacy.composition import CountedComposition
from learning.privacy.gaussian import Gaussian
from learning.privacy.l2_accounting import ROUNDING
from learning.privacy.mechanism import Mechanism
from learning.privacy.published_noise import PublishedNoise
from learning.privacy.subsampled import (
    SubsampledGaussian,
    subsampled_delta,
    subsampled_epsilon,
)
from learning.privacy.wrapped import GivenBound, Remaining, SharedNoise

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
        where nothing is guaranteed of one. Where shares grow, each answer has this bound divided by
        its entry of `Mechanism.relative_scales`.
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


@dataclass(frozen=True)
class Asked:
    """Answers that are asked for: a number of those that a budget covers, of an owner's records."""

    epsilon: float
    horizon: int
    answers: int
    size: int


def guarantee_answers(
    mechanism: Mechanism, epsilon: float, horizon: int, answers: int, *, size: int = 1
) -> Guarantee:
    """Guarantee of some of T answers, in a measure in which it can be attacked.

    By default pure DP, epsilon/(T kappa) for each answer, where ``delta`` is 0; else (epsilon,
    delta)-DP of all answers together, and nothing of a single one.

    Parameters
    ----------
    mechanism: the noise; a kind of its own may register a sharper guarantee.
    epsilon: the budget over all answers, in (0, inf).
    horizon: T, the answers that the budget covers.
    answers: the number asked; of an algorithm that samples records, the rounds.
    size: the records of the owner.
    """
    return guarantee_kind(mechanism, Asked(epsilon, horizon, answers, size))


@singledispatch
def guarantee_kind(mechanism: Mechanism, asked: Asked) -> Guarantee:
    """Guarantee pure DP, or one point (epsilon, delta)."""
    if mechanism.delta > 0:
        measure = measure_approximate(mechanism.delta)
        return Guarantee.uniform(measure, asked.epsilon, np.inf, float, asked.epsilon)
    own = asked.epsilon / mechanism.overlap
    bounds = (own * (asked.answers / asked.horizon), own * (1 / asked.horizon))
    return Guarantee.uniform(measure_pure, *bounds, float, asked.epsilon)


@guarantee_kind.register
def _(mechanism: Gaussian, asked: Asked) -> Guarantee:
    """Guarantee the trade-off curve: each answer at distance m/sqrt(T), added in squares."""
    distance = float(mechanism.distance(asked.epsilon)) / np.sqrt(asked.horizon)

    def spent_epsilon(m: float) -> float:
        return float(mechanism.budget(4 / m**2)) if m > 0 else 0.0

    joint = distance * np.sqrt(asked.answers)
    return Guarantee.uniform(measure_gaussian, joint, distance, spent_epsilon, asked.epsilon)


@guarantee_kind.register
def _(mechanism: CountedComposition, asked: Asked) -> Guarantee:
    """Guarantee pure DP of an even answer, and the accountant's profile of all of them."""
    ratio = float(mechanism.ratio(asked.epsilon))
    single = ratio * max((sum(part for part, _ in each) for each in mechanism.pairs), default=1)

    def spent_epsilon(r: float) -> float:
        if r <= 0:
            return 0.0
        return max(
            loss.epsilon(mechanism.delta) for loss in mechanism.losses_of_answers(r, asked.answers)
        )

    measure = _counted_measure(mechanism, ratio, asked.answers)
    return Guarantee(measure, ratio, single, spent_epsilon, asked.epsilon, measure_pure, float)


@lru_cache(maxsize=64)
def _counted_measure(mechanism: CountedComposition, ratio: float, answers: int) -> Measure:
    """Make the measure of ratios by the profiles of all answers."""

    def largest_delta(one: float) -> Array:
        losses = mechanism.losses_of_answers(one, answers)
        deltas = [loss.distribution.get_delta_for_epsilon(EPSILONS) for loss in losses]
        return np.max(deltas, axis=0) + ROUNDING * losses[0].answers

    return tabulate_profiles(ratio, largest_delta)


@guarantee_kind.register
def _(mechanism: SubsampledGaussian, asked: Asked) -> Guarantee:
    """Guarantee the mixture over uses of the record in all rounds."""
    distance = float(mechanism.distance(asked.epsilon))
    return _subsampled_guarantee(mechanism, distance, asked.horizon, asked.epsilon)


@guarantee_kind.register
def _(mechanism: PublishedNoise, asked: Asked) -> Guarantee:
    """Guarantee what the accountant says of the noise, never the published epsilon."""
    distance = float(mechanism.distance(asked.epsilon, asked.size, asked.horizon))
    claimed = mechanism.claims("", asked.epsilon, asked.horizon, size=asked.size)[0].epsilon
    if mechanism.single_record:
        return _subsampled_guarantee(mechanism, distance, asked.horizon, claimed)
    exact = partial(subsampled_epsilon, rounds=1, chance=1.0, delta=mechanism.delta)
    joint = distance * np.sqrt(asked.answers)
    return Guarantee.uniform(measure_gaussian, joint, distance, exact, claimed)


def _subsampled_guarantee(
    mechanism: SubsampledGaussian | PublishedNoise, distance: float, rounds: int, claimed: float
) -> Guarantee:
    """Guarantee rounds that each use one known record of all n, with a Gaussian answer."""
    total = mechanism.total_size
    chance = 1 / total
    shows = float(-np.expm1(rounds * np.log1p(-chance))) if total > 1 else 1.0
    together = partial(subsampled_epsilon, rounds=rounds, chance=chance, delta=mechanism.delta)
    alone = partial(subsampled_epsilon, rounds=1, chance=1.0, delta=mechanism.delta)
    measure = _subsampled_measure(distance, rounds, chance)
    single = (measure_gaussian, alone)
    return Guarantee(measure, distance, distance, together, claimed, *single, shows)


@lru_cache(maxsize=64)
def _subsampled_measure(distance: float, rounds: int, chance: float) -> Measure:
    """Make the measure of distances of one use by the profiles of all rounds, samples known."""
    return tabulate_profiles(distance, lambda m: subsampled_delta(EPSILONS, m, rounds, chance))


@guarantee_kind.register
def _(mechanism: GivenBound, asked: Asked) -> Guarantee:
    """Guarantee of the budget that holds; a ValueError where none is known."""
    held = float(mechanism.valid_budget(asked.epsilon))
    if not 0 < held < np.inf:
        raise ValueError(
            f"no privacy is known to hold of a budget of {asked.epsilon:g}: no bound on gradients "
            "is proved, or the accountant does not reach so far"
        )
    return guarantee_kind(mechanism.mechanism, replace(asked, epsilon=held))


@guarantee_kind.register
def _(mechanism: Remaining, asked: Asked) -> Guarantee:
    """Guarantee of the later answers, with the claim of all."""
    left = float(mechanism.training_budget(asked.epsilon))
    made = guarantee_kind(mechanism.mechanism, replace(asked, epsilon=left))
    return replace(made, claimed=made.claimed + mechanism.spent)


@guarantee_kind.register
def _(mechanism: SharedNoise, asked: Asked) -> Guarantee:
    """Guarantee of the noise that is divided."""
    return guarantee_kind(mechanism.mechanism, asked)
