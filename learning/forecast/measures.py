"""Fitness in a user's own terms: what relative fitness is in root mean squared error, wrong labels, or money lost by them.

Money may be counted per unit of relative fitness itself, or of a `Measure` of it. Squared loss has an exact law for its root
mean squared error. Labels have none: a model of so much loss may be wrong more or less often. There the measure is estimated
on the rows that the learner rehearses on: models are trained under the noise of the market, at many levels of it, each by
the plan that is best there, and a rising curve goes through their mean relative fitness and their mean number of wrong
decisions. So the curve holds what the noise of that very training does to decisions, which a straight line from the learner's
own model to the best one would not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from learning.arrays import Array
from learning.losses.loss import Loss
from learning.losses.parts import blocks

if TYPE_CHECKING:
    from learning.forecast.fitness import FitnessForecast

BLOCK = 2**22  # scores held at once
SCALES, REACH = (
    8,
    (0.01, 3.0),
)  # of a curve: how many, and from where to where, in the largest relative fitness rehearsed
LEAST = 1e-12  # relative fitness, or a cost, that counts as none


class Records(Protocol):
    """Some records: features x (n, p), and the target y (n,)."""

    @property
    def x(self) -> Array: ...
    @property
    def y(self) -> Array: ...


class Cost(Protocol):
    """Training cost and relative fitness of models (k, p), (k,) each."""

    def value(self, theta: Array) -> Array: ...
    def relative(self, theta: Array) -> Array: ...


class Measure(ABC):
    """What money is counted of: it rises with relative fitness, and less of it is better."""

    @abstractmethod
    def __call__(self, fitness: ArrayLike) -> Array:
        """The measure where relative fitness is ``fitness``, (...) -> (...)."""

    @abstractmethod
    def slope(self, fitness: ArrayLike) -> Array:
        """Its derivative, (...) -> (...)."""

    @abstractmethod
    def in_worlds(self, fitness: Array) -> Array:
        """The measure in each possible world, (m,), where relative fitness there is ``fitness`` (m,)."""

    def of(self, forecast: FitnessForecast) -> Any:
        """What a market plays on that counts in this measure: the forecast, told in it."""
        return MeasuredForecast(forecast, self)

    def own(self, fitness: ArrayLike) -> Array:
        """The measure of a model that few records make without noise, such as the learner's own."""
        return self(fitness)

    def own_in_worlds(self, fitness: Array) -> Array:
        """`in_worlds` of the learner's own model, (m,)."""
        return self.in_worlds(fitness)

    @abstractmethod
    def counted(self, theta: Array, cost: Cost, parts: Sequence[Records]) -> Array:
        """What it is of models (k, p) in truth, (k,): counted on the records of all parts, of that training cost."""


class RelativeFitness(Measure):
    """Relative fitness itself."""

    def of(self, forecast: FitnessForecast) -> Any:
        return forecast

    def __call__(self, fitness: ArrayLike) -> Array:
        return np.asarray(fitness, dtype=float)

    def slope(self, fitness: ArrayLike) -> Array:
        return np.ones(np.shape(fitness))

    def in_worlds(self, fitness: Array) -> Array:
        return fitness

    def counted(self, theta: Array, cost: Cost, parts: Sequence[Records]) -> Array:
        return np.asarray(cost.relative(theta))


RELATIVE = RelativeFitness()


@dataclass(frozen=True)
class RootMeanSquare(Measure):
    """Root mean squared error in units of the target: sqrt(f* (1 + psi)), by the definition of relative fitness.

    Of many trainings it is the root of their mean squared error, which is not below the mean of their roots.

    Parameters
    ----------
    optimum : f*, the smallest mean squared error, squared units of the target.
    optima : array (m,), f* in each possible world; (1,) where it is known.

    >>> measure = RootMeanSquare(4.0, np.array([4.0]))
    >>> float(measure(1.25)), float(measure.slope(1.25))
    (3.0, 0.6666666666666666)
    """

    optimum: float
    optima: Array = field(repr=False)

    def __call__(self, fitness: ArrayLike) -> Array:
        return np.sqrt(self.optimum * (1 + np.asarray(fitness, dtype=float)))

    def slope(self, fitness: ArrayLike) -> Array:
        return self.optimum / (2 * self(fitness))

    def in_worlds(self, fitness: Array) -> Array:
        return np.asarray(np.sqrt(self.optima * np.maximum(1 + fitness, 0.0)))

    def counted(self, theta: Array, cost: Cost, parts: Sequence[Records]) -> Array:
        return np.asarray(np.sqrt(cost.value(theta)))


@dataclass(frozen=True)
class Decisions:
    """What a wrong decision by a model's score costs: a false alarm where the label is -1, a miss where it is +1.

    Parameters
    ----------
    false_alarm, miss : cost of each, above 0; both 1: wrong labels are counted.
    moved : whether the score from which on +1 is decided is moved to where the learner's rows cost least; else it is 0.
    """

    false_alarm: float = 1.0
    miss: float = 1.0
    moved: bool = False

    def thresholds(self, scores: Array, y: Array) -> Array:
        """The score from which on +1 is decided, for each model (k,), by its scores (k, n) of rows with labels (n,).

        >>> costly = Decisions(false_alarm=1.0, miss=10.0, moved=True)
        >>> costly.thresholds(np.array([[-2.0, -1.0, 1.0, 2.0]]), np.array([-1.0, 1.0, -1.0, 1.0])).tolist()
        [-1.5]
        """
        if not self.moved:
            return np.zeros(len(scores))
        order = np.argsort(scores, axis=1, kind="stable")
        ranked = np.take_along_axis(scores, order, axis=1)
        passed = np.where(y[order] > 0, self.miss, -self.false_alarm)  # what it adds not to be alarmed by one row more
        total = np.concatenate([np.zeros((len(scores), 1)), np.cumsum(passed, axis=1)], axis=1)
        edges = np.full((len(scores), scores.shape[1] + 1), np.inf)
        edges[:, 0], edges[:, 1:-1] = -np.inf, (ranked[:, 1:] + ranked[:, :-1]) / 2
        total[:, 1:-1][ranked[:, 1:] == ranked[:, :-1]] = np.inf  # nothing lies between equal scores
        return np.take_along_axis(edges, np.argmin(total, axis=1)[:, None], axis=1)[:, 0]

    def costs(self, alarmed: ArrayLike, y: Array) -> Array:
        """What each decision costs, (k, n), where +1 is decided, or with what chance (k, n), of rows with labels (n,)."""
        alarmed = np.asarray(alarmed, dtype=float)
        return np.where(y < 0, self.false_alarm * alarmed, self.miss * (1 - alarmed))


@dataclass(frozen=True)
class RisingCurve:
    """c + sum a psi/(psi + s) + sum b psi^2/(psi^2 + s^2) over several s, no coefficient below 0: rising, and levelling off.

    It is smooth, as a market that is searched by slopes needs it: steps and bends that chance puts into what was measured
    would be places for owners to settle at.

    Parameters
    ----------
    scales : array (m,), s.
    coefficients : array (1 + 2 m,), c, a and b.

    >>> curve = RisingCurve.through(np.array([0.0, 0.5, 1.0, 3.0]), np.array([0.1, 0.2, 0.24, 0.31]))
    >>> curve(np.array([0.0, 0.5, 1.0])).round(2).tolist()
    [0.1, 0.2, 0.24]
    """

    scales: Array
    coefficients: Array

    @classmethod
    def through(cls, fitness: Array, costs: Array) -> RisingCurve:
        """The one nearest to points (k,), by least squares of the relative errors."""
        scales = max(float(fitness.max()), LEAST) * np.geomspace(*REACH, SCALES)
        weights = 1 / np.maximum(costs, 1e-3 * max(float(costs.max()), LEAST))
        found, _ = scipy.optimize.nnls(_parts(np.maximum(fitness, 0.0), scales) * weights[:, None], costs * weights)
        return cls(scales, found)

    def __call__(self, fitness: ArrayLike) -> Array:
        return np.asarray(_parts(np.maximum(fitness, 0.0), self.scales) @ self.coefficients)

    def slope(self, fitness: ArrayLike) -> Array:
        """Its derivative, (...) -> (...)."""
        at = np.maximum(fitness, 0.0)[..., None]
        once, twice = np.split(self.coefficients[1:], 2)
        slope = self.scales / (at + self.scales) ** 2 @ once
        return slope + 2 * at * self.scales**2 / (at**2 + self.scales**2) ** 2 @ twice


def _parts(fitness: Array, scales: Array) -> Array:
    """The functions that a curve is made of, (..., 1 + 2 m)."""
    at = np.asarray(fitness)[..., None]
    return np.concatenate([np.ones_like(at), at / (at + scales), at**2 / (at**2 + scales**2)], axis=-1)


@dataclass(frozen=True)
class DecisionCost(Measure):
    """What a case decided by the model costs on average: the share of wrong labels, or money by a cost matrix.

    Parameters
    ----------
    decisions : what wrong ones cost.
    loss : the loss that is trained.
    rows : the rows (x, y) that the learner chooses a threshold by.
    curve : what a case costs by relative fitness, from rehearsed models.
    worlds : the same in possible worlds.
    own_there : arrays (m,) and (m,), relative fitness of the learner's own model in each, and what a case costs with it.
    own_known : the same on average: few records lead a model astray otherwise than noise does.
    """

    decisions: Decisions
    loss: Loss = field(repr=False)
    rows: tuple[Array, Array] = field(repr=False)
    curve: RisingCurve = field(repr=False)
    worlds: tuple[RisingCurve, ...] = field(repr=False)
    own_there: tuple[Array, Array] = field(repr=False)
    own_known: tuple[float, float] = (0.0, 0.0)

    def __call__(self, fitness: ArrayLike) -> Array:
        return self.curve(fitness)

    def slope(self, fitness: ArrayLike) -> Array:
        return self.curve.slope(fitness)

    def in_worlds(self, fitness: Array) -> Array:
        curves = self.worlds if len(self.worlds) > 1 else self.worlds * len(fitness)
        return np.array([float(curve(one)) for curve, one in zip(curves, fitness, strict=True)])

    def own(self, fitness: ArrayLike) -> Array:
        """By the curve too, and off it as the learner's own model is; a better one in proportion."""
        at, cost = self.own_known
        share = np.clip(np.asarray(fitness, dtype=float) / at, 0.0, 1.0) if at > 0 else 0.0
        return self(fitness) + (cost - self(at)) * share

    def own_in_worlds(self, fitness: Array) -> Array:
        """By the curve too, and as far off it as the own model of that world is."""
        off = self.own_there[1] - self.in_worlds(self.own_there[0])
        return self.in_worlds(fitness) + off

    def counted(self, theta: Array, cost: Cost, parts: Sequence[Records]) -> Array:
        x, y = self.rows
        total, count = np.zeros(len(theta)), sum(len(part.y) for part in parts)
        for some in np.array_split(np.arange(len(theta)), 1 + len(theta) * max(len(y), 1) // BLOCK):
            thresholds = self.decisions.thresholds(self.loss.predicted(x, theta[some]), y)
            for part in parts:
                for rows in blocks(len(part.y)):
                    alarmed = self.loss.predicted(part.x[rows], theta[some]) >= thresholds[:, None]
                    total[some] += self.decisions.costs(alarmed, part.y[rows]).sum(axis=1)
        return total / count


@dataclass(frozen=True)
class MeasuredForecast:
    """A forecast that tells a measure of the model where another tells relative fitness; markets play on either.

    Parameters
    ----------
    fitness : the forecast of relative fitness.
    measure : what money is counted of.
    """

    fitness: FitnessForecast
    measure: Measure

    @property
    def outside(self) -> float:
        """The measure of the learner's own model."""
        return float(self.measure.own(self.fitness.outside))

    @property
    def few_sums(self) -> bool:
        """Whether owners meet in a few sums, however many they are."""
        return self.fitness.few_sums

    def terms(self, epsilon: ArrayLike) -> Array:
        """What each owner adds: (n_owners, ...) -> (n_owners, ..., k)."""
        return self.fitness.terms(epsilon)

    def excess(self, sums: ArrayLike) -> Array:
        """The measure given the summed terms: (..., k) -> (...)."""
        found = self.fitness.excess(sums)
        return np.where(found < self.fitness.outside, self.measure(found), self.outside)

    def slopes(self, epsilon: ArrayLike, sums: ArrayLike) -> Array:
        """Derivative of `excess` by an owner's own epsilon (n_owners, m), the sums (n_owners, m, k) including it."""
        return self.measure.slope(self.fitness.excess(sums)) * self.fitness.slopes(epsilon, sums)

    def asks(self, sums: ArrayLike) -> NDArray[np.bool_]:
        """Whether the learner asks anything given the summed terms (..., k) -> (...)."""
        return self.fitness.asks(sums)

    def part(self, owners: Array) -> MeasuredForecast:
        """The forecast for some owners only, numbered (k,)."""
        return MeasuredForecast(self.fitness.part(owners), self.measure)
