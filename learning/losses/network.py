"""A network of one hidden layer: mean clipped gradients of an owner's records for many runs.

s(x) = a'tanh(V x) + c, loss log(1 + exp(-y s)) of labels and (s - y)^2 of numbers. Training is not
convex and public ranges give no useful bound on gradients, so each record's gradient is clipped.
Its norm factorises over the layers, so a round forms no record's gradient: it costs two matrix
products per block of records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, DTypeLike

from learning.arrays import Array
from learning.declaration import Count, parameter
from learning.losses.clipping import PublicCoordinates
from learning.losses.loss import Loss
from learning.losses.records import NUMBERS_IN_A_BLOCK, row_blocks
from learning.threads import over_blocks

STARTS = 3  # of the search for the best cost
BLOCK = 1024  # records at most whose hidden units of all runs are held at once
FEWEST = 512  # records of a block, for any number of runs
ITERATIONS = 1000
STEEPEST_OF = 1024  # records at most that the largest curvature is counted on


class RecordCost(NamedTuple):
    """What a record costs, and its slope, both by its target and its score."""

    value: Callable[[Any, Array], Array]
    slope: Callable[[Any, Array], Array]


def _logistic_slope(y: Any, score: Array) -> Array:
    """Slope -y/(1 + exp(y s))."""
    rise = np.asarray(y * score)
    with np.errstate(over="ignore"):
        np.exp(rise, out=rise)
    rise += 1
    np.divide(-y, rise, out=rise)
    return rise


LABELS = RecordCost(lambda y, score: np.logaddexp(0, -y * score), _logistic_slope)
NUMBERS = RecordCost(lambda y, score: np.square(score - y), lambda y, score: 2 * (score - y))
SCORES = RecordCost(lambda y, score: score, lambda y, score: np.ones_like(score))


@dataclass(frozen=True)
class NetworkRecords:
    """One owner's n records under a network of h hidden units, phi = (V row by row, (a, c)/S).

    Parameters
    ----------
    x : (n, p), the constant a column of its own: hidden biases sit in V.
    y : (n,), +1 or -1, or numbers.
    hidden : h >= 1.
    bound : largest norm of one record's gradient; inf for no clipping, and then no promise.
    norm : 1 (Laplace noise) or 2 (Gaussian noise).
    precision : of the products inside `gradient`; its sums over blocks and its results are float64.
        Training takes float32, which saves about a third of the time and rounds by some 1e-9 of
        ``bound``: at n = 90,000 that is 1e-4 of what replacing one record may do.
    block : records at a time, at most.
    centre : (P,), the origin of phi, in the network's own parameters.
    cost : of a record.
    unit : S > 0, which a and c are counted in, and gradients with them.

    Source: clipping: Abadi et al., Deep Learning with Differential Privacy, Algorithm 1 (there in
        2-norm); norms of single records' gradients without forming them: Goodfellow, Efficient
        Per-Example Gradient Computations.

    >>> y, phi = np.array([1.0, 1.0, -1.0]), np.zeros((1, 3))
    >>> one = NetworkRecords(np.ones((3, 1)), y, hidden=1, bound=0.5, norm=2)
    >>> one.mean_loss(phi).round(6), one.gradient(phi)[0].round(6) + 0.0
    (array([0.693147]), array([ 0.      ,  0.      , -0.166667]))
    """

    x: Array = field(repr=False)
    y: Array = field(repr=False)
    hidden: int
    bound: float
    norm: int
    precision: DTypeLike = np.float64
    block: int = BLOCK
    centre: Array | float = field(default=0.0, repr=False)
    cost: RecordCost = LABELS
    unit: float = 1.0

    def __post_init__(self) -> None:
        if not self.bound > 0:
            raise ValueError(f"bound must be positive, got {self.bound}")

    @property
    def n_records(self) -> int:
        return len(self.y)

    @property
    def n_parameters(self) -> int:
        """h p + h + 1."""
        return self.hidden * (self.x.shape[1] + 1) + 1

    def scores(self, phi: ArrayLike) -> Array:
        """Scores s of all records, (runs, n), at phi (runs, P), in float64."""
        phi = self._shift_points(phi)
        blocks = self._row_blocks(len(phi))
        scores = [_forward_pass(phi, self.x[rows], self.hidden)[1] for rows in blocks]
        return np.concatenate(scores, axis=1)

    def mean_loss(self, phi: ArrayLike) -> Array:
        """Mean cost of the records, (runs,), at phi (runs, P), in float64."""
        phi = self._shift_points(phi)

        def block_sum(rows: slice) -> Array:
            score = _forward_pass(phi, self.x[rows], self.hidden)[1]
            return np.asarray(self.cost.value(self.y[rows], score).sum(axis=1))

        sums = over_blocks(block_sum, self._row_blocks(len(phi)))
        return sum(sums, np.zeros(len(phi))) / self.n_records

    def gradient(self, phi: ArrayLike) -> Array:
        """Mean clipped gradient over the records, (runs, P), at phi (runs, P).

        Replacing one record moves it by at most 2 bound/n in the norm.
        """
        phi = self._shift_points(phi).astype(self.precision)
        outer = _unpack_layers(phi, self.hidden)[1]

        def block_sum(rows: slice) -> Array:
            x = self.x[rows].astype(self.precision)
            units, score = _forward_pass(phi, x, self.hidden)
            slope = self.cost.slope(self.y[rows].astype(self.precision), score)
            back = np.square(units)
            np.subtract(1, back, out=back)
            slope = self._clip_slopes(slope, units, back, outer, self._lengths(x))
            back *= slope[:, None]
            inner = (back.reshape(-1, len(x)) @ x).reshape(*outer.shape, -1) * outer[:, :, None]
            answers = (units @ slope[:, :, None])[:, :, 0]
            return np.column_stack([inner.reshape(len(phi), -1), answers, slope.sum(axis=1)])

        sums = over_blocks(block_sum, self._row_blocks(len(phi)))
        return self._in_units(sum(sums, np.zeros(phi.shape)) / self.n_records)

    def record_gradient(self, phi: ArrayLike, rows: ArrayLike) -> Array:
        """Clipped gradient of one record per run, (runs, P), at phi (runs, P) and rows (runs,)."""
        phi = self._shift_points(phi)
        rows = np.asarray(rows)
        x = self.x[rows]
        inner, outer, offset = _unpack_layers(phi, self.hidden)
        units = np.tanh(np.einsum("rhp,rp->rh", inner, x))[:, :, None]
        score = np.einsum("rh,rh->r", units[:, :, 0], outer) + offset
        slope = self.cost.slope(self.y[rows], score)
        back = 1 - units**2
        slope = self._clip_slopes(slope[:, None], units, back, outer, self._lengths(x)[:, None])
        hidden = (slope * outer * back[:, :, 0])[:, :, None] * x[:, None, :]
        answers = slope * units[:, :, 0]
        return self._in_units(np.hstack([hidden.reshape(len(phi), -1), answers, slope]))

    def _row_blocks(self, runs: int) -> Iterator[slice]:
        """Blocks of records whose hidden units of all runs fit a core's own cache."""
        count = NUMBERS_IN_A_BLOCK // max(1, runs * self.hidden)
        return row_blocks(self.n_records, min(max(FEWEST, count), self.block))

    def _lengths(self, x: Array) -> Array:
        """|x|_1 of records x (b, p), or |x|_2^2 for norm 2, (b,)."""
        return np.abs(x).sum(axis=1) if self.norm == 1 else np.einsum("bp,bp->b", x, x)

    def _clip_slopes(
        self, slope: Array, units: Array, back: Array, outer: Array, lengths: Array
    ) -> Array:
        """Scale slopes so that no gradient slope (a back x', S units, S) exceeds the bound.

        |gradient|_1 = |slope| (|a back|_1 |x|_1 + S (|units|_1 + 1)); squares under one root for
        norm 2. Since back = 1 - units^2, its sum gives that of units^2.

        Parameters
        ----------
        slope: array (runs, b).
        units, back: arrays (runs, h, b).
        outer: array (runs, h), a.
        lengths: `_lengths` of the records, (b,), or (runs, 1) where each run has its own record.
        """
        if np.isinf(self.bound):
            return slope
        if self.norm == 1:
            size = _weighted_sum(np.abs(outer), back) * lengths
            size += self.unit * (_weighted_sum(np.ones_like(outer), np.abs(units)) + 1)
        else:
            square = self.unit**2
            inside = _weighted_sum(np.square(outer), np.square(back)) * lengths
            inside += square * (self.hidden - _weighted_sum(np.ones_like(outer), back))
            size = np.sqrt(inside + square)
        size *= np.abs(slope)
        np.maximum(size, self.bound, out=size)
        np.divide(self.bound, size, out=size)
        size *= slope
        return size

    def _shift_points(self, phi: ArrayLike) -> Array:
        return self.centre + self._in_units(np.array(phi, dtype=float))

    def _in_units(self, phi: Array) -> Array:
        """Multiply the parts of a and c by S, in place."""
        phi[:, -self.hidden - 1 :] *= self.unit
        return phi


def _unpack_layers(phi: Array, hidden: int) -> tuple[Array, Array, Array]:
    """V (runs, h, p), a (runs, h) and c (runs,) of phi (runs, P)."""
    inner = phi[:, : -hidden - 1]
    outer = phi[:, -hidden - 1 : -1]
    offset = phi[:, -1]
    return inner.reshape(len(phi), hidden, -1), outer, offset


def _forward_pass(phi: Array, x: Array, hidden: int) -> tuple[Array, Array]:
    """Hidden units (runs, h, b) and scores (runs, b) of a block of records."""
    inner, outer, offset = _unpack_layers(phi, hidden)
    units = inner.reshape(-1, x.shape[1]) @ x.T
    np.tanh(units, out=units)
    units = units.reshape(len(phi), hidden, len(x))
    return units, _weighted_sum(outer, units) + offset[:, None]


def _weighted_sum(weights: Array, units: Array) -> Array:
    """Sum of units (runs, h, b) with weights (runs, h), (runs, b)."""
    return np.asarray((weights[:, None] @ units)[:, 0])


def draw_start(hidden: int, n_features: int, *, rng: np.random.Generator) -> Array:
    """Draw a start phi, (h p + h + 1,), without records: at zero all hidden units stay equal.

    V is normal with variance 1/p and a with variance 1/h, so that units and score start of order
    one; c = 0.

    Parameters
    ----------
    hidden : the number h of units, at least 1.
    n_features : the number p of features, the constant column counted.
    rng : a seeded generator; the start is public.

    Source: LeCun et al., Efficient BackProp, section 4.6.

    >>> draw_start(2, 3, rng=np.random.default_rng(0)).shape
    (9,)
    """
    inner = rng.normal(scale=n_features**-0.5, size=hidden * n_features)
    return np.concatenate([inner, rng.normal(scale=hidden**-0.5, size=hidden), [0.0]])


@dataclass(frozen=True)
class Network(Loss):
    """log(1 + exp(-y s)), s the score of a network of one hidden layer, with clipped gradients.

    Parameters
    ----------
    hidden: number of units h of a fitted network; that of a given model follows from its length.
    """

    name: ClassVar[str] = "network"
    linear: ClassVar[bool] = False
    certified: ClassVar[bool] = False
    clips_gradients: ClassVar[bool] = True
    costly: ClassVar[bool] = True
    measure: ClassVar[str] = "mean logistic loss"
    cost: ClassVar[RecordCost] = LABELS
    starts: ClassVar[int] = STARTS
    decay: ClassVar[float] = 0.0
    hidden: Count = parameter("Give the number of hidden units.", default=8)

    def value(self, t: Any) -> Any:
        """Cost of the score t under the target 1, or of a number missed by t."""
        return self.cost.value(float(self.labels), t)

    def count_parameters(self, width: int) -> int:
        """h (p + 1) + 1.

        >>> Network(hidden=2).count_parameters(3)
        9
        """
        return self.hidden * (width + 1) + 1

    def predicted(self, x: Array, theta: Array) -> Array:
        """Scores of records (n, p) by networks (..., P), (..., n)."""
        held = self._unclipped(x, np.ones(len(x)), theta.shape[-1])
        return held.scores(theta.reshape(-1, held.n_parameters)).reshape(*theta.shape[:-1], len(x))

    def loss_sum(self, x: Array, y: Array, theta: Array) -> Array:
        """Sum of the records' losses at theta (runs, P), (runs,)."""
        return self._unclipped(x, y, theta.shape[-1]).mean_loss(theta) * len(y)

    def gradient_sum(self, x: Array, y: Array, theta: Array) -> Array:
        """Sum of the records' gradients at theta (runs, P), not clipped."""
        return self._unclipped(x, y, theta.shape[-1]).gradient(theta) * len(y)

    def fit(
        self,
        x: Array,
        y: Array,
        regularisation: float,
        *,
        starts: int | None = None,
        seed: int = 0,
    ) -> tuple[Array, float]:
        """Fit a network by L-BFGS from several starts; its cost is an upper bound on the least.

        In phi, with costs in units of S^2, the network of numbers fits a target in any unit alike.

        Parameters
        ----------
        regularisation : r >= 0, of every parameter; at 0 separable records have no minimum.
        starts : number of starts of `draw_start`, >= 1; more with the same seed are never worse.
        """
        starts = starts or self.starts
        rng = np.random.default_rng(seed)
        begins = [draw_start(self.hidden, x.shape[1], rng=rng) for _ in range(starts)]
        scale = self.parameter_scale(y, len(begins[0]))
        unit = float(scale[-1])
        records = replace(self._unclipped(x, y, len(scale)), unit=unit)

        def cost(phi: Array) -> tuple[float, Array]:
            value = records.mean_loss(phi[None])[0]
            gradient = records.gradient(phi[None])[0]
            theta = scale * phi
            penalised = float(value + 0.5 * regularisation * (theta @ theta)) / unit**2
            slope = (gradient + regularisation * scale * theta) / unit**2
            return penalised + 0.5 * self.decay * float(phi @ phi), slope + self.decay * phi

        options: dict[str, Any] = {"maxiter": ITERATIONS, "maxfun": 2 * ITERATIONS}
        options |= {"ftol": 1e-12, "gtol": 1e-8, "maxcor": 20}
        ends = [
            scipy.optimize.minimize(cost, phi, jac=True, method="L-BFGS-B", options=options)
            for phi in begins
        ]
        best = min(ends, key=lambda end: float(end.fun))
        found = float(best.fun) - 0.5 * self.decay * float(best.x @ best.x)
        return scale * best.x, found * unit**2

    def oracle(
        self, bounds: PublicCoordinates, x: Array, y: Array, *, one_by_one: bool = False
    ) -> NetworkRecords:
        """Make records with gradients clipped to the radius, relative to the public start."""
        return NetworkRecords(
            x,
            y,
            hidden_units(len(bounds.centre), x.shape[1]),
            bounds.radius,
            bounds.norm,
            np.float32,
            centre=bounds.centre,
            cost=self.cost,
            unit=float(bounds.transform[-1, -1]),
        )

    def largest_curvature(
        self, bounds: PublicCoordinates, x: Array, regularisation: float
    ) -> float:
        """Rough guess from the number of features alone."""
        return 0.25 * x.shape[1]

    def _unclipped(self, x: Array, y: Array, n_parameters: int) -> NetworkRecords:
        """Make records with unclipped gradients."""
        return NetworkRecords(
            x, y, hidden_units(n_parameters, x.shape[1]), np.inf, 2, cost=self.cost
        )


@dataclass(frozen=True)
class NetworkSquared(Network):
    """(s - y)^2 of a number y, s the prediction of a network of one hidden layer.

    The inner parameters are of order one, the outer ones of the target's size: each is trained in
    its own unit. Fits are held back by ``decay``: the least cost often lies at infinity, where
    outer parameters cancel each other, and steps from there must be tiny.
    """

    name: ClassVar[str] = "network_squared"
    labels: ClassVar[bool] = False
    squares: ClassVar[bool] = True
    measure: ClassVar[str] = "mean squared error"
    cost: ClassVar[RecordCost] = NUMBERS
    starts: ClassVar[int] = 4
    decay: ClassVar[float] = 1e-4

    def parameter_scale(self, y: Array, n_parameters: int) -> Array:
        """Standard deviation of targets (n,) for the outer parameters, 1 for inner ones."""
        scale = np.ones(n_parameters)
        scale[-self.hidden - 1 :] = y.std() or 1.0
        return scale

    def largest_curvature(
        self, bounds: PublicCoordinates, x: Array, regularisation: float
    ) -> float:
        """Largest eigenvalue of the Gauss-Newton matrix at the start, and of the penalty.

        Source: Nocedal and Wright, Numerical Optimization, 10.3.
        """
        some = x[:: -(-len(x) // STEEPEST_OF)]
        held = self.oracle(replace(bounds, radius=np.inf), some, np.zeros(len(some)))
        start = np.zeros((len(some), len(bounds.centre)))
        slopes = replace(held, cost=SCORES).record_gradient(start, np.arange(len(some)))
        penalty = regularisation * max(1.0, float(bounds.transform[-1, -1])) ** 2
        return 2 * float(np.linalg.norm(slopes, ord=2)) ** 2 / len(some) + penalty


def hidden_units(n_parameters: int, n_features: int) -> int:
    """h of a network with P = h (p + 1) + 1 parameters.

    >>> hidden_units(9, 3)
    2
    """
    return (n_parameters - 1) // (n_features + 1)
