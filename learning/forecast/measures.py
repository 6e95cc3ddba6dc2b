"""Measures of a model in a user's own terms, such as root mean squared error.

Money may be counted per unit of relative fitness itself, or of a `Measure` of it. The root mean
squared error follows from relative fitness exactly; wrong decisions are rehearsed
(`learning.forecast.decisions`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learning.arrays import Array
from learning.forecast.fitness import FitnessForecast
from learning.forecast.held import HeldShares
from learning.losses.loss import UNBOUNDED, Loss, TrainingCost
from learning.losses.records import row_blocks
from learning.losses.squared import Squared


class Measure:
    """Measure of a model, rising with relative fitness, in which money is counted.

    Relative fitness itself; subclasses have others.
    """

    def of(self, forecast: FitnessForecast) -> Any:
        """Forecast of the measure, for a market to play on."""
        return forecast if self is RELATIVE else MeasuredForecast(forecast, self)

    def __call__(self, fitness: ArrayLike) -> Array:
        """Measure at a relative fitness, (...) -> (...)."""
        return np.asarray(fitness, dtype=float)

    def slope_at(self, fitness: ArrayLike) -> Array:
        """Derivative of the measure, (...) -> (...)."""
        return np.ones(np.shape(fitness))

    def in_worlds(self, fitness: Array) -> Array:
        """Measure in each possible world at its relative fitness, (m,), taken in turn."""
        return fitness

    def own(self, fitness: ArrayLike) -> Array:
        """Measure of a model of few records without noise, such as the learner's own."""
        return self(fitness)

    def isolated(self, fitness: ArrayLike) -> Array:
        """Measure of a model that an owner trained alone; of the market's kind of features."""
        return self.own(fitness)

    def own_in_worlds(self, fitness: Array) -> Array:
        """`in_worlds` of the learner's own model, (m,)."""
        return self.in_worlds(fitness)

    def counted(self, theta: Array, cost: TrainingCost, parts: Sequence[Any]) -> Array:
        """True measure of models (k, p), (k,), on the records x and y of all parts."""
        return cost.relative(theta)


RELATIVE = Measure()


@dataclass(frozen=True)
class RootMeanSquare(Measure):
    """Root mean squared error in units of the target: sqrt(f* (1 + psi)), by definition of psi.

    Where predictions are held to the target's range, shares b of f* and s of f* psi are left:
    sqrt(f* (b + s psi)). Of many trainings it is the root of their mean squared error, which is not
    below the mean of their roots.

    Parameters
    ----------
    optimum : f*, the smallest mean squared error, squared units of the target.
    optima : array (m,), f* in each possible world; (1,) where it is known.
    shares : what holding predictions leaves; None where they are not held.
    loss : the loss that is trained.

    >>> measure = RootMeanSquare(4.0, np.array([4.0]))
    >>> float(measure(1.25)), float(measure.slope_at(1.25))
    (3.0, 0.6666666666666666)
    """

    optimum: float
    optima: Array = field(repr=False)
    shares: HeldShares = field(default=HeldShares(), repr=False)
    loss: Loss = Squared()

    def __call__(self, fitness: ArrayLike) -> Array:
        fitness = np.asarray(fitness, dtype=float)
        return np.sqrt(self.optimum * (self.shares.best + self.shares.noise * fitness))

    def slope_at(self, fitness: ArrayLike) -> Array:
        return self.optimum * self.shares.noise / (2 * self(fitness))

    def in_worlds(self, fitness: Array) -> Array:
        best = np.resize(self.shares.worlds, len(fitness))
        optima = np.resize(self.optima, len(fitness))
        return np.sqrt(optima * np.maximum(best + self.shares.noise * fitness, 0.0))

    def own(self, fitness: ArrayLike) -> Array:
        lost, held = self.shares.own_lost[0], self.shares.own_held[0]
        return self.isolated((1 + np.asarray(fitness, dtype=float)) / lost - 1) * np.sqrt(held)

    def isolated(self, fitness: ArrayLike) -> Array:
        fitness = np.asarray(fitness, dtype=float)
        return np.sqrt(self.optimum * np.maximum(self.shares.best + self.shares.few * fitness, 0.0))

    def own_in_worlds(self, fitness: Array) -> Array:
        pairs = self.optima, self.shares.worlds, self.shares.own_lost[1], self.shares.own_held[1]
        optima, best, lost, held = (np.resize(one, len(fitness)) for one in pairs)
        public = (1 + fitness) / lost - 1
        return np.sqrt(optima * np.maximum(best + self.shares.few * public, 0.0) * held)

    def counted(self, theta: Array, cost: TrainingCost, parts: Sequence[Any]) -> Array:
        if self.shares.ends == UNBOUNDED:
            return np.sqrt(cost.value(theta))
        total = np.zeros(len(theta))
        for part in parts:
            for rows in row_blocks(len(part.y)):
                said = np.clip(self.loss.predicted(part.x[rows], theta), *self.shares.ends)
                total += ((said - part.y[rows]) ** 2).sum(axis=1)
        return np.sqrt(total / sum(len(part.y) for part in parts))


@dataclass(frozen=True)
class MeasuredForecast:
    """Forecast of a measure of the model, with the interface of a `FitnessForecast`.

    Parameters
    ----------
    fitness : the forecast of relative fitness.
    measure : of the model, in which money is counted.
    """

    fitness: FitnessForecast
    measure: Measure

    @property
    def outside(self) -> float:
        """Measure of the learner's own model."""
        return float(self.measure.own(self.fitness.outside))

    @property
    def few_sums(self) -> bool:
        """True if owners meet in a few sums, however many they are."""
        return self.fitness.few_sums

    def terms(self, epsilon: ArrayLike) -> Array:
        """Contribution of each owner to the sums: (n_owners, ...) -> (n_owners, ..., k)."""
        return self.fitness.terms(epsilon)

    def excess(self, sums: ArrayLike) -> Array:
        """Measure given the summed terms: (..., k) -> (...)."""
        found = self.fitness.excess(sums)
        own = found == self.fitness.outside  # of a model that nothing is asked for
        return np.where(own, self.outside, self.measure(found))

    def slopes(self, epsilon: ArrayLike, sums: ArrayLike) -> Array:
        """Derivative of `excess` by an owner's own epsilon (n_owners, m), included in the sums."""
        return self.measure.slope_at(self.fitness.excess(sums)) * self.fitness.slopes(epsilon, sums)

    def asks(self, sums: ArrayLike) -> NDArray[np.bool_]:
        """True where the learner asks anything given the summed terms (..., k) -> (...)."""
        return self.fitness.asks(sums)

    def part(self, owners: Array) -> MeasuredForecast:
        """Forecast for some owners only, numbered (k,)."""
        return MeasuredForecast(self.fitness.part(owners), self.measure)
