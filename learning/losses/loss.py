"""The interface of a loss.

A new loss of a linear model is a class under `Loss` with a name, ``value`` and ``derivative``,
entered in `learning.losses.losses.LOSSES`. A scenario file can then name it, and the program
forecasts, trains, audits and reports it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
import scipy
from numpy.typing import NDArray

from learning.arrays import Array
from learning.declaration import Declaration
from learning.losses.clipping import PublicCoordinates
from learning.losses.records import (
    ClippedRecords,
    GradientOracle,
    LinearRecords,
    join_parts,
    row_blocks,
)
from learning.losses.slopes import Slopes
from learning.losses.statistics import SquaredStatistics, share_moments, squared_statistics
from learning.spool import allocate_like
from learning.threads import one_blas_thread, over_blocks

LEAST_CURVATURE = 1e-12  # of a record in a Newton step
BLOCK = 4096  # records whose losses are held at once
UNBOUNDED = (-np.inf, np.inf)  # a range that holds no prediction back


class TrainingCost(Protocol):
    """Training cost f(theta) = r/2 |theta|^2 + mean loss, and its minimum."""

    @property
    def regularisation(self) -> float: ...

    @property
    def minimiser(self) -> Array: ...

    @property
    def optimum(self) -> float: ...

    def value(self, theta: Array) -> Array: ...

    def gradient(self, theta: Array) -> Array: ...

    def relative(self, theta: Array) -> Array: ...


@dataclass(frozen=True)
class Loss(Slopes, Declaration):
    """A loss of one number t per record: t = y theta'x for labels y = +-1, theta'x - y for numbers.

    The methods here suit any convex loss of a linear model whose slopes in t are bounded; others
    override them.

    Attributes
    ----------
    Beside those of `Slopes`:

    curvature : its largest second derivative, where it has one.
    curved : whether a record has a curvature at the start, so that Newton's step is defined there.
    certified : whether the minimum of the cost is known; of a cost that is not convex only the best
        found is.
    kinked : whether its slope jumps, so that a mean over few records is unlike one over many;
        `smooth_kinks` then gives another.
    costly : whether a round costs so much that fewer plans are rehearsed.
    measure : the error that it measures, as reports name it.
    """

    where: ClassVar[str] = "learning"
    curvature: ClassVar[float] = 1.0
    curved: ClassVar[bool] = False
    certified: ClassVar[bool] = True
    kinked: ClassVar[bool] = False
    costly: ClassVar[bool] = False
    measure: ClassVar[str] = ""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of its own parameters, keys of a scenario's [learning] table."""
        return tuple(one.name for one in fields(self))

    def count_parameters(self, width: int) -> int:
        """Number of parameters of a model of ``width`` features, the constant counted."""
        return width

    def value(self, t: Any) -> Any:
        """The loss at t, elementwise, in any precision."""
        raise TypeError(f"{type(self).__name__} has no value(t): a loss needs one")

    def second_derivative(self, t: Any) -> Any:
        """Its second derivative at t, elementwise; None of a loss that has none everywhere."""
        return None

    def step_curvature(self, t: Any) -> Any:
        """Curvature at t that a Newton step counts, elementwise, at least 0."""
        return self.second_derivative(t)

    def working_records(self, x: Array, said: Array, y: Array) -> tuple[Array, Array]:
        """Records (z, u) of the least-squares problem that a Newton step of this loss solves.

        z = sqrt(c/2) x and u = -l'(t) y/sqrt(2 c) with the curvature c at t = y said. So sum zz' is
        half the Hessian and sum uz minus half the gradient, as sum xx' and sum ux are of squared
        loss. A record that has next to no curvature is given `LEAST_CURVATURE`, which leaves its
        score as it is.

        Parameters
        ----------
        x : array (..., n, p), records in the coordinates of training.
        said : array (..., n), what the start predicts of them.
        y : array (n,), labels +-1.

        Source: McCullagh and Nelder, Generalized Linear Models, 2.5 (working response).
        """
        t = y * said
        root = np.sqrt(np.maximum(self.step_curvature(t), LEAST_CURVATURE) / 2)
        return x * root[..., None], -self.derivative(t) * y / (2 * root)

    def negative_slopes(self, t: NDArray[np.float32]) -> NDArray[np.float32]:
        """Negative slope, in single precision; may be written over t."""
        return np.asarray(-self.derivative(t), dtype=np.float32)

    @property
    def smooth(self) -> bool:
        """True if its slope has no jumps, so that the largest curvature is finite."""
        return self.quadratic or self.second_derivative(np.zeros(1)) is not None

    def smooth_kinks(self, width: float, lift: float = 0.0) -> Loss:
        """Mean loss over errors in t of deviation ``width``, less ``lift``, if kinked."""
        return self

    def loss_sum(self, x: Array, y: Array, theta: Array) -> Array:
        """Sum of the records' losses at theta (runs, p), (runs,)."""

        def block_sum(rows: slice) -> Array:
            return np.asarray(self.value(self.scores(x[rows], y[rows], theta)).sum(axis=1))

        return sum(over_blocks(block_sum, row_blocks(len(y), BLOCK)), np.zeros(len(theta)))

    def gradient_sum(self, x: Array, y: Array, theta: Array) -> Array:
        """Sum of the records' unclipped gradients at theta (runs, p), (runs, p)."""

        def block_sum(rows: slice) -> Array:
            slopes = self.derivative(self.scores(x[rows], y[rows], theta))
            return np.asarray((slopes * y[rows] if self.labels else slopes) @ x[rows])

        return sum(over_blocks(block_sum, row_blocks(len(y), BLOCK)), np.zeros(theta.shape))

    def error(
        self, x: Array, y: Array, theta: Array, ends: tuple[float, float] = UNBOUNDED
    ) -> float:
        """Mean of `errors` over models theta (runs, p)."""
        return float(self.errors(x, y, theta, ends).mean())

    def errors(
        self, x: Array, y: Array, theta: Array, ends: tuple[float, float] = UNBOUNDED
    ) -> Array:
        """Share of wrong labels, or mean squared error of numbers, of models theta (runs, p).

        Predicted numbers are held to the range ``ends``.
        """
        total = np.zeros(len(theta))
        for rows in row_blocks(len(y)):
            said = self.predicted(x[rows], theta)
            if self.labels:
                total += (np.where(said >= 0, 1.0, -1.0) != y[rows]).sum(axis=1)
            else:
                total += ((y[rows] - np.clip(said, *ends)) ** 2).sum(axis=1)
        return total / len(y)

    def fit(self, x: Array, y: Array, regularisation: float) -> tuple[Array, float]:
        """Minimise the training cost r/2 |theta|^2 + mean loss by L-BFGS; the model and its cost.

        Parameters
        ----------
        x: array (n, p), the last column the constant 1.
        y: array (n,), labels +-1 or numbers.
        regularisation: r of the cost, above 0 for labels.
        """
        signs = y if self.labels else np.ones(len(y))

        def cost(theta: Array) -> tuple[float, Array]:
            t = self.scores(x, y, theta)
            slope = x.T @ (signs * self.derivative(t)) / len(y)
            value = float(np.mean(self.value(t)) + 0.5 * regularisation * theta @ theta)
            return value, slope + regularisation * theta

        options = {"maxiter": 10_000, "maxfun": 20_000, "ftol": 1e-15, "gtol": 1e-10}
        start = np.zeros(x.shape[1])
        found = scipy.optimize.minimize(cost, start, jac=True, method="L-BFGS-B", options=options)
        return np.asarray(found.x, dtype=float), float(found.fun)

    def fit_each(self, parts: Sequence[tuple[Array, Array]], regularisation: float) -> Array:
        """Fit a model to each part's records (x, y) alone, (n_parts, p)."""
        return np.array([self.fit(x, y, regularisation)[0] for x, y in parts])

    def parameter_scale(self, y: Array, n_parameters: int) -> Array:
        """Sizes (n_parameters,) of parameters, by targets (n,), where no record is clipped."""
        return np.ones(n_parameters)

    def fitness(self, parts: Sequence[tuple[Array, Array]], regularisation: float) -> TrainingCost:
        """Training cost of some owners' records (x, y) together."""
        return RecordFitness(self, tuple(parts), regularisation)

    def oracle(
        self, bounds: PublicCoordinates, x: Array, y: Array, *, one_by_one: bool = False
    ) -> GradientOracle:
        """Clip one owner's records to the announced bounds, for training.

        Parameters
        ----------
        bounds: the Coordinates of training.
        x, y: arrays (n, p) and (n,), the owner's records.
        one_by_one: whether queries are for single records.

        Returns
        -------
        Sums of the records of a Newton step, where second moments and scores are asked for; else
        the records, which answer at any point.
        """
        if bounds.scores is not None and not one_by_one:
            return sum_records(bounds, x, y)
        lines = allocate_like((len(y), len(bounds.centre) + 1), np.float32, x)
        for rows in row_blocks(len(y)):
            if self.labels:
                lines[rows, :-1] = y[rows, None] * bounds.clip_features(x[rows])
                lines[rows, -1] = y[rows] * (x[rows] @ bounds.centre)
            else:
                lines[rows, :-1], target = bounds.records(x[rows], y[rows])
                lines[rows, -1] = -target
        held = np.asarray(lines)
        if bounds.clips_gradients:
            return ClippedRecords.within(bounds.radius, self, held, bounds.norm)
        return LinearRecords(self, held)

    def largest_curvature(
        self, bounds: PublicCoordinates, x: Array, regularisation: float
    ) -> float:
        """Largest curvature of the cost in the coordinates of training, the unit of step sizes."""
        moved = bounds.clip_features(x)
        largest = float(np.linalg.eigvalsh(moved.T @ moved / len(moved))[-1])
        penalty = regularisation * bounds.transform @ bounds.transform
        return self.curvature * largest + float(np.linalg.eigvalsh(penalty)[-1])


def sum_records(bounds: PublicCoordinates, x: Array, y: Array) -> SquaredStatistics:
    """Sum the clipped records of squared loss, or of a Newton step under another one."""
    blocks = [*row_blocks(len(y))] or [slice(0)]
    first, *rest = (squared_statistics(*bounds.records(x[rows], y[rows])) for rows in blocks)
    whole = sum(rest, first)
    return whole if bounds.targets == 1 else share_moments(whole, bounds.targets)


@dataclass(frozen=True)
class RecordFitness:
    """Training cost under a loss without sufficient statistics, in double precision on the records.

    Parameters
    ----------
    loss: the loss, whose best model is f*.
    parts: records (x (n, p), y (n,)) of each owner.
    regularisation: r of the cost, above 0 for labels.
    """

    loss: Loss
    parts: Sequence[tuple[Array, Array]] = field(repr=False)
    regularisation: float

    @cached_property
    def _best(self) -> tuple[Array, float]:
        x, y = join_parts(self.parts)
        with one_blas_thread():
            return self.loss.fit(x, y, self.regularisation)

    @property
    def minimiser(self) -> Array:
        """The non-private optimum theta*."""
        return self._best[0]

    @property
    def optimum(self) -> float:
        """f*, the smallest training cost."""
        return self._best[1]

    @property
    def n_records(self) -> int:
        """Number of records of all owners."""
        return sum(len(y) for _, y in self.parts)

    def mean_loss(self, theta: Array) -> Array:
        """Mean loss of the records at theta (runs, p), (runs,)."""
        total = sum((self.loss.loss_sum(x, y, theta) for x, y in self.parts), np.zeros(len(theta)))
        return total / self.n_records

    def value(self, theta: Array) -> Array:
        """f at theta (..., p)."""
        flat = theta.reshape(-1, theta.shape[-1])
        value = self.mean_loss(flat) + 0.5 * self.regularisation * np.sum(flat**2, axis=1)
        return value.reshape(theta.shape[:-1])

    def gradient(self, theta: Array) -> Array:
        """Gradient of f at theta (..., p), in double precision."""
        flat = theta.reshape(-1, theta.shape[-1])
        sums = (self.loss.gradient_sum(x, y, flat) for x, y in self.parts)
        mean = sum(sums, np.zeros(flat.shape)) / self.n_records
        return np.asarray(mean + self.regularisation * flat).reshape(theta.shape)

    def relative(self, theta: Array) -> Array:
        """Relative fitness f(theta)/f* - 1 at theta (..., p).

        Below 0 only where f* is the best found, and a better model turns up; elsewhere that would
        be rounding.
        """
        relative = self.value(theta) / self.optimum - 1
        return np.maximum(relative, 0.0) if self.loss.certified else relative


@dataclass(frozen=True)
class FreshRecords:
    """Rows that are not trained on, in memory.

    Parameters
    ----------
    x, y : arrays (n, p) and (n,).
    ends : range of the encoded target, to which predicted numbers are held.
    """

    x: Array = field(repr=False)
    y: Array = field(repr=False)
    ends: tuple[float, float] = UNBOUNDED

    @property
    def n_records(self) -> int:
        return len(self.y)

    def error(self, loss: Loss, theta: Array) -> float:
        """`Loss.error` of models theta (runs, p) on the rows."""
        return loss.error(self.x, self.y, theta, self.ends)

    def errors(self, loss: Loss, theta: Array) -> Array:
        """`Loss.errors` of models theta (runs, p) on the rows, (runs,)."""
        return loss.errors(self.x, self.y, theta, self.ends)

    def baseline_error(self, loss: Loss) -> float:
        """Error of the best constant: the smaller share of a label, or the variance of a number."""
        if loss.labels:
            return float(min(np.mean(self.y > 0), np.mean(self.y < 0)))
        return float(self.y.var())


@dataclass(frozen=True)
class FreshSums:
    """Rows that are not trained on, as sums under squared loss.

    Sums cannot hold predictions to a range: the error of a model that does is at most as large.

    Parameters
    ----------
    told: returns the sums; the last column of x is the constant 1.

    >>> from learning.losses.losses import make_loss
    >>> from learning.losses.statistics import squared_statistics
    >>> x = np.array([[2.0, 1.0], [0.0, 1.0], [1.0, 1.0]])
    >>> y, loss = np.array([1.0, 2.0, 6.0]), make_loss("squared")
    >>> kinds = FreshSums(lambda: squared_statistics(x, y)), FreshRecords(x, y)
    >>> [round(fresh.error(loss, np.ones((1, 2))), 9) for fresh in kinds]
    [7.0, 7.0]
    >>> [round(fresh.baseline_error(loss), 9) for fresh in kinds]
    [4.666666667, 4.666666667]
    """

    told: Callable[[], SquaredStatistics] = field(repr=False)

    @property
    def n_records(self) -> int:
        return self.told().n_records

    def error(self, loss: Loss, theta: Array) -> float:
        return float(self.errors(loss, theta).mean())

    def errors(self, loss: Loss, theta: Array) -> Array:
        return self.told().mean_loss(theta)

    def baseline_error(self, loss: Loss) -> float:
        sums = self.told()
        return sums.yy / sums.n_records - float(sums.xy[-1] / sums.n_records) ** 2


Fresh = FreshRecords | FreshSums
