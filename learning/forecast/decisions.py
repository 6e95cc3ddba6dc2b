"""Costs of decisions by a model's score: wrong labels, or money; `DecisionStudy` estimates them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from learning.arrays import Array
from learning.forecast.measures import Measure
from learning.forecast.public_sample import OtherKind
from learning.losses.loss import Loss, TrainingCost
from learning.losses.records import row_blocks

BLOCK = 2**22  # scores held at once
SCALES = 8  # of a curve, over a range in units of the largest relative fitness rehearsed
REACH = (0.01, 3.0)
LEAST = 1e-12  # floor of relative fitness, of a cost, and of a kernel's width


@dataclass(frozen=True)
class Decisions:
    """Costs of wrong decisions by a model's score.

    Parameters
    ----------
    false_alarm : cost of deciding +1 where the label is -1, above 0.
    miss : cost of deciding -1 where the label is +1, above 0. Wrong labels are counted where both
        costs are 1.
    moved : True if the threshold of +1 is moved to where the learner's rows cost least; else it is
        0.
    """

    false_alarm: float = 1.0
    miss: float = 1.0
    moved: bool = False

    def thresholds(self, scores: Array, y: Array) -> Array:
        """Threshold of +1 for each model (k,), by its scores (k, n) of rows with labels (n,).

        >>> costly = Decisions(false_alarm=1.0, miss=10.0, moved=True)
        >>> scores = np.array([[-2.0, -1.0, 1.0, 2.0]])
        >>> costly.thresholds(scores, np.array([-1.0, 1.0, -1.0, 1.0])).tolist()
        [-1.5]
        """
        if not self.moved:
            return np.zeros(len(scores))
        order = np.argsort(scores, axis=1, kind="stable")
        ranked = np.take_along_axis(scores, order, axis=1)
        passed = np.where(y[order] > 0, self.miss, -self.false_alarm)  # cost of one alarm less
        total = np.concatenate([np.zeros((len(scores), 1)), np.cumsum(passed, axis=1)], axis=1)
        edges = np.full((len(scores), scores.shape[1] + 1), np.inf)
        edges[:, 0] = -np.inf
        edges[:, 1:-1] = (ranked[:, 1:] + ranked[:, :-1]) / 2
        total[:, 1:-1][ranked[:, 1:] == ranked[:, :-1]] = np.inf  # no edge between equal scores
        return np.take_along_axis(edges, np.argmin(total, axis=1)[:, None], axis=1)[:, 0]

    def costs(self, alarmed: ArrayLike, y: Array) -> Array:
        """Cost of each decision, (k, n), by the probability of +1 (k, n), at labels (n,) or means.

        >>> Decisions(1.0, 10.0).costs(np.ones(3), np.array([-1.0, 0.0, 1.0])).tolist()
        [1.0, 0.5, 0.0]
        """
        alarmed = np.asarray(alarmed, dtype=float)
        positive = (1 + y) / 2
        return self.false_alarm * alarmed * (1 - positive) + self.miss * (1 - alarmed) * positive


@dataclass(frozen=True)
class RisingCurve:
    """c + sum a psi/(psi + s) + sum b psi^2/(psi^2 + s^2) over several s, with coefficients >= 0.

    It is smooth, since a market is searched by its slopes: owners would settle at the steps and
    bends that chance leaves in measurements.

    Parameters
    ----------
    scales : array (m,), s.
    coefficients : array (1 + 2 m,), c, a and b.

    >>> costs = np.array([0.1, 0.2, 0.24, 0.31])
    >>> curve = RisingCurve.fit(np.array([0.0, 0.5, 1.0, 3.0]), costs)
    >>> curve(np.array([0.0, 0.5, 1.0])).round(2).tolist()
    [0.1, 0.2, 0.24]
    """

    scales: Array
    coefficients: Array

    @classmethod
    def fit(cls, fitness: Array, costs: Array) -> RisingCurve:
        """Fit points (k,) by least squares of the relative errors."""
        scales = max(float(fitness.max()), LEAST) * np.geomspace(*REACH, SCALES)
        weights = 1 / np.maximum(costs, 1e-3 * max(float(costs.max()), LEAST))
        columns = cls.basis_at(fitness, scales) * weights[:, None]
        return cls(scales, scipy.optimize.nnls(columns, costs * weights)[0])

    @staticmethod
    def basis_at(fitness: ArrayLike, scales: Array) -> Array:
        """Basis functions of a curve, (..., 1 + 2 m)."""
        at = np.maximum(fitness, 0.0)[..., None]
        parts = [np.ones_like(at), at / (at + scales), at**2 / (at**2 + scales**2)]
        return np.concatenate(parts, axis=-1)

    def __call__(self, fitness: ArrayLike) -> Array:
        return self.basis_at(fitness, self.scales) @ self.coefficients

    def slope_at(self, fitness: ArrayLike) -> Array:
        """Derivative of the curve, (...) -> (...)."""
        at = np.maximum(fitness, 0.0)[..., None]
        once, twice = np.split(self.coefficients[1:], 2)
        slope = self.scales / (at + self.scales) ** 2 @ once
        return slope + 2 * at * self.scales**2 / (at**2 + self.scales**2) ** 2 @ twice


@dataclass(frozen=True)
class OwnKind:
    """The learner's own model of another kind of features, over the public model.

    Parameters
    ----------
    lost : arrays () and (m,), loss over that of the public model: on average, and in each world.
    costs : the same of the cost of decisions.
    """

    lost: tuple[Array, Array]
    costs: tuple[Array, Array]


def compare_own_kinds(
    rows: OtherKind, y: Array, decisions: Decisions, chosen: Sequence[NDArray[np.intp]]
) -> OwnKind:
    """Compare two of the learner's models by rows that were left out, with labels y (n,).

    A possible world has the rows of its bootstrap sample, ``chosen``. Half a wrong decision is
    added to both models, since few rows show few.
    """
    alarmed = rows.scores >= decisions.thresholds(rows.scores, y)[:, None]
    wrong = decisions.costs(alarmed, y)
    half = (decisions.false_alarm + decisions.miss) / 4

    def average(each: Array) -> tuple[Array, Array]:
        return each.mean(axis=1), np.stack([each[:, some].mean(axis=1) for some in chosen], axis=1)

    def divide(pair: tuple[Array, Array], least: float) -> tuple[Array, Array]:
        known, there = (one + least for one in pair)
        return known[0] / known[1], there[0] / there[1]

    return OwnKind(divide(average(rows.lost), 0.0), divide(average(wrong), half / len(y)))


@dataclass(frozen=True)
class DecisionCost(Measure):
    """Mean cost of a case decided by the model: the share of wrong labels, or money.

    Parameters
    ----------
    decisions : costs of wrong ones.
    loss : the loss that is trained.
    rows : the rows (x, y) that the learner chooses a threshold by.
    curve : cost by relative fitness, from rehearsed models.
    worlds : the same in each possible world; one of them where the records are known.
    own_there : arrays (m,) and (m,), relative fitness of the learner's own model in each world, and
        the cost of a case with it.
    own_known : both on average. They need not lie on the curve: few records bias a model otherwise
        than noise does.
    own_kind : the learner's own model where it is of another kind of features; None where not.
    """

    decisions: Decisions
    loss: Loss = field(repr=False)
    rows: tuple[Array, Array] = field(repr=False)
    curve: RisingCurve = field(repr=False)
    worlds: tuple[RisingCurve, ...] = field(repr=False)
    own_there: tuple[Array, Array] = field(repr=False)
    own_known: tuple[float, float] = (0.0, 0.0)
    own_kind: OwnKind | None = field(default=None, repr=False)

    def __call__(self, fitness: ArrayLike) -> Array:
        return self.curve(fitness)

    def slope_at(self, fitness: ArrayLike) -> Array:
        return self.curve.slope_at(fitness)

    def in_worlds(self, fitness: Array) -> Array:
        curves = cycle(self.worlds)
        return np.array([float(curve(one)) for curve, one in zip(curves, fitness, strict=False)])

    def own(self, fitness: ArrayLike) -> Array:
        if self.own_kind is None:
            return self.isolated(fitness)
        lost, costs = self.own_kind.lost[0], self.own_kind.costs[0]
        return self.isolated((1 + np.asarray(fitness, dtype=float)) / lost - 1) * costs

    def isolated(self, fitness: ArrayLike) -> Array:
        """Curve plus the distance of the public model from it; less for a better model."""
        known, cost = self.own_known
        share = np.zeros(())
        if known > 0:
            share = np.clip(np.asarray(fitness, dtype=float) / known, 0.0, 1.0)
        return self(fitness) + (cost - self(known)) * share

    def own_in_worlds(self, fitness: Array) -> Array:
        """Curve of each world plus the distance of the public model there from it.

        A model of another kind costs so many times that of the public model in that world.
        """
        off = self.own_there[1] - self.in_worlds(self.own_there[0])
        costs = np.ones(1)
        if self.own_kind is not None:
            fitness = (1 + fitness) / np.resize(self.own_kind.lost[1], len(fitness)) - 1
            costs = self.own_kind.costs[1]
        public = self.in_worlds(fitness) + np.resize(off, len(fitness))
        return public * np.resize(costs, len(fitness))

    def counted(self, theta: Array, cost: TrainingCost, parts: Sequence[Any]) -> Array:
        x, y = self.rows
        total = np.zeros(len(theta))
        for some in np.array_split(np.arange(len(theta)), 1 + len(theta) * max(len(y), 1) // BLOCK):
            thresholds = self.decisions.thresholds(self.loss.predicted(x, theta[some]), y)
            for part in parts:
                for rows in row_blocks(len(part.y)):
                    alarmed = self.loss.predicted(part.x[rows], theta[some]) >= thresholds[:, None]
                    total[some] += self.decisions.costs(alarmed, part.y[rows]).sum(axis=1)
        return total / sum(len(part.y) for part in parts)
