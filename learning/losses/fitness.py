"""The best model that records allow, and how far other models are from it: what relative fitness is counted against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from learning.arrays import Array
from learning.losses.linear import LOSSES, Fitness, squared_statistics
from learning.losses.network import NetworkRecords, fit_network
from learning.losses.optimum import hinge_optimum, logistic_optimum

STARTS = 3  # of a network's search for its best cost
BLOCK = 4096  # records whose losses are held at once


class TrainingCost(Protocol):
    """Training cost f(theta) = r/2 |theta|^2 + mean loss, and its minimum."""

    @property
    def regularisation(self) -> float: ...
    @property
    def minimiser(self) -> Array: ...
    @property
    def optimum(self) -> float: ...
    def value(self, theta: Array) -> Array: ...
    def relative(self, theta: Array) -> Array: ...


@dataclass(frozen=True)
class RecordFitness:
    """Training cost of labels under hinge, logistic or network loss, counted in double precision on the records.

    Parameters
    ----------
    loss : "hinge", "logistic" or "network". parts : (x (n, p), y (n,)) of each owner.
    regularisation : r > 0. hidden : units of a network.

    The minimum of hinge and logistic loss is certified to 1e-8 of itself; a network's is the best found.
    """

    loss: str
    parts: Sequence[tuple[Array, Array]] = field(repr=False)
    regularisation: float
    hidden: int = 8

    @cached_property
    def _best(self) -> tuple[Array, float]:
        x, y = (np.concatenate([part[i] for part in self.parts]) for i in (0, 1))
        return best_model(self.loss, x, y, self.regularisation, hidden=self.hidden)

    @property
    def minimiser(self) -> Array:
        """The non-private optimum theta*."""
        return self._best[0]

    @property
    def optimum(self) -> float:
        """f*, the smallest training cost."""
        return self._best[1]

    def mean_loss(self, theta: Array) -> Array:
        """Mean loss of the records at theta (runs, p), (runs,)."""
        total, count = np.zeros(len(theta)), 0
        for x, y in self.parts:
            total += loss_sum(self.loss, x, y, theta, self.hidden)
            count += len(y)
        return total / count

    def value(self, theta: Array) -> Array:
        """f at theta (..., p)."""
        flat = theta.reshape(-1, theta.shape[-1])
        value = self.mean_loss(flat) + 0.5 * self.regularisation * np.sum(flat**2, axis=1)
        return value.reshape(theta.shape[:-1])

    def relative(self, theta: Array) -> Array:
        """Relative fitness f(theta)/f* - 1 at theta (..., p).

        Below 0 only for a network, where a model better than the best found may turn up; elsewhere that would be rounding.
        """
        relative = self.value(theta) / self.optimum - 1
        return relative if self.loss == "network" else np.maximum(relative, 0.0)


def loss_sum(loss: str, x: Array, y: Array, theta: Array, hidden: int = 8) -> Array:
    """Sum of the records' losses at theta (runs, p), (runs,)."""
    if loss == "network":
        return NetworkRecords(x, y, hidden, np.inf, 2).mean_loss(theta) * len(y)
    total = np.zeros(len(theta))
    for first in range(0, len(y), BLOCK):
        rows = slice(first, first + BLOCK)
        total += LOSSES[loss].value(LOSSES[loss].scores(x[rows], y[rows], theta)).sum(axis=1)
    return total


def error_rate(loss: str, x: Array, y: Array, theta: Array, hidden: int = 8) -> Array:
    """Share of labels that the sign of a model's score gets wrong, at theta (runs, p): (runs,)."""
    scores = NetworkRecords(x, y, hidden, np.inf, 2).scores(theta) if loss == "network" else theta @ x.T
    return np.mean(np.where(scores >= 0, 1.0, -1.0) != y, axis=1)


def best_model(loss: str, x: Array, y: Array, regularisation: float, *, hidden: int = 8) -> tuple[Array, float]:
    """The model of least training cost on some records, and that cost.

    Parameters
    ----------
    loss : name. x : array (n, p), the last column the constant 1. y : array (n,), labels +-1 but for squared loss.
    regularisation : r, above 0 but for squared loss. hidden : units of a network, whose search starts from fixed seeds.
    """
    if loss == "squared":
        fitness = Fitness(squared_statistics(x, y), regularisation)
        return fitness.minimiser, fitness.optimum
    if loss == "network":
        return fit_network(x, y, hidden, regularisation, starts=STARTS, rng=np.random.default_rng(0))
    found = (hinge_optimum if loss == "hinge" else logistic_optimum)(x, y, regularisation)
    return found.theta, found.value


def fitness_of(
    loss: str, parts: Sequence[tuple[Array, Array]], regularisation: float, *, hidden: int = 8
) -> TrainingCost:
    """The training cost of some owners' records together."""
    if loss != "squared":
        return RecordFitness(loss, tuple(parts), regularisation, hidden)
    first, *rest = (squared_statistics(x, y) for x, y in parts)
    return Fitness(sum(rest, first), regularisation)
