"""A network of one hidden layer as an owner's records: mean clipped gradients, for many runs in one pass.

s(x) = a'tanh(V x) + c, loss log(1 + exp(-y s)). Training is not convex and no gradient of it is bounded by ranges
alone in a useful way, so each record's gradient is clipped. Its norm factorises over the layers, so no record's
gradient is ever formed: a round costs two matrix products per block of records.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import scipy
from numpy.typing import ArrayLike, DTypeLike

from learning.arrays import Array
from learning.declaration import Count, parameter
from learning.losses.loss import Loss
from learning.losses.protocols import Clipping, GradientOracle
from learning.threads import over_blocks

STARTS = 3  # of the search for the best cost
BLOCK = 1024  # records whose hidden units of all runs are held at once
ITERATIONS = 1000


@dataclass(frozen=True)
class NetworkRecords:
    """One owner's n records under a network of h hidden units, packed as phi = (V row by row, a, c).

    Parameters
    ----------
    x : (n, p), the constant a column of its own: hidden biases sit in V.
    y : (n,), +1 or -1.
    hidden : h >= 1.
    bound : largest norm that one record's gradient may have; inf: not clipped, and then nothing can be promised.
    norm : 1 (Laplace noise) or 2 (Gaussian noise).
    precision : of the products inside `gradient`; its sums over blocks and its results are float64. Float32 saves about
        a third of the time, and rounds by some 1e-9 of ``bound``: at n = 90,000 that is 1e-4 of what replacing one
        record may do, so it is for pilot runs.
    block : records at a time.
    centre : (P,), what phi is counted from; the origin unless given.

    Source: clipping: Abadi et al., Deep Learning with Differential Privacy, Algorithm 1 (there in 2-norm); norms of
    single records' gradients without forming them: Goodfellow, Efficient Per-Example Gradient Computations.

    >>> one = NetworkRecords(np.ones((3, 1)), np.array([1.0, 1.0, -1.0]), hidden=1, bound=0.5, norm=2)
    >>> one.mean_loss(np.zeros((1, 3))).round(6), one.gradient(np.zeros((1, 3)))[0].round(6) + 0.0
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

    def __post_init__(self) -> None:
        if self.x.ndim != 2 or self.y.shape != self.x.shape[:1] or not len(self.y):
            raise ValueError(f"x must be (n, p) and y (n,) with n >= 1, got {self.x.shape} and {self.y.shape}")
        if not np.all(np.abs(self.y) == 1):
            raise ValueError("labels must be +1 or -1")
        if self.hidden < 1 or self.block < 1:
            raise ValueError(f"hidden and block must be at least 1, got {self.hidden} and {self.block}")
        if not self.bound > 0:
            raise ValueError(f"bound must be positive, got {self.bound}")
        if self.norm not in (1, 2):
            raise ValueError(f"norm must be 1 or 2, got {self.norm}")

    @property
    def n_records(self) -> int:
        return len(self.y)

    @property
    def n_parameters(self) -> int:
        """h p + h + 1."""
        return self.hidden * (self.x.shape[1] + 1) + 1

    def scores(self, phi: ArrayLike) -> Array:
        """Scores s of all records, (runs, n), at phi (runs, P), in float64."""
        phi = self._checked(phi)
        return np.concatenate([_forward(phi, self.x[rows], self.hidden)[1] for rows in self._blocks()]).T

    def mean_loss(self, phi: ArrayLike) -> Array:
        """Mean of log(1 + exp(-y s)) over the records, (runs,), at phi (runs, P), in float64."""
        phi = self._checked(phi)

        def block_sum(rows: slice) -> Array:
            score = _forward(phi, self.x[rows], self.hidden)[1]
            return np.asarray(np.logaddexp(0, -self.y[rows, None] * score).sum(axis=0))

        return sum(over_blocks(block_sum, self._blocks()), np.zeros(len(phi))) / self.n_records

    def gradient(self, phi: ArrayLike) -> Array:
        """Mean over the records of their clipped gradients, (runs, P), at phi (runs, P).

        Replacing one record moves it by at most 2 bound/n in the norm.
        """
        phi = self._checked(phi).astype(self.precision)

        def block_sum(rows: slice) -> Array:
            x, y = self.x[rows].astype(self.precision), self.y[rows, None].astype(self.precision)
            units, score = _forward(phi, x, self.hidden)
            back = np.square(units)
            np.subtract(1, back, out=back)
            back *= _unpacked(phi, self.hidden)[1]
            slope = self._clipped(-y * scipy.special.expit(-y * score), units, back, x)
            back *= slope[:, :, None]
            inner = (back.reshape(len(x), -1).T @ x).reshape(len(phi), -1)
            return np.column_stack([inner, np.einsum("br,brh->rh", slope, units), slope.sum(axis=0)])

        return sum(over_blocks(block_sum, self._blocks()), np.zeros(phi.shape)) / self.n_records

    def record_gradient(self, phi: ArrayLike, rows: ArrayLike) -> Array:
        """Clipped gradient of one record per run, (runs, P), at phi (runs, P) and row numbers (runs,), in float64.

        Raises
        ------
        ValueError
            If there is not one row number per run.
        """
        phi, rows = self._checked(phi), np.asarray(rows)
        if rows.shape != phi.shape[:1]:
            raise ValueError(f"rows must hold one number per run, ({len(phi)},), got {rows.shape}")
        x, y = self.x[rows], self.y[rows]
        inner, outer, offset = _unpacked(phi, self.hidden)
        units = np.tanh(np.einsum("rhp,rp->rh", inner, x))
        slope = -y * scipy.special.expit(-y * (np.einsum("rh,rh->r", units, outer) + offset))
        back = outer * (1 - units**2)
        slope = self._clipped(slope, units, back, x)[:, None]
        hidden = (slope * back)[:, :, None] * x[:, None, :]
        return np.concatenate([hidden.reshape(len(phi), -1), slope * units, slope], axis=1)

    def _clipped(self, slope: Array, units: Array, back: Array, x: Array) -> Array:
        """Slopes scaled so that no gradient slope (back x', units, 1) exceeds the bound; units and back (..., h).

        |gradient|_1 = |slope| (|back|_1 |x|_1 + |units|_1 + 1), and squares under one root for norm 2.
        """
        if np.isinf(self.bound):
            return slope
        size, each = np.abs(slope), (-1, *[1] * (slope.ndim - 1))
        if self.norm == 1:
            lengths = np.abs(x).sum(axis=1).reshape(each)
            ones = np.ones(units.shape[-1], units.dtype)  # a product sums a short last axis faster than sum
            size = size * (np.abs(back) @ ones * lengths + np.abs(units) @ ones + 1)
        else:
            squares = np.einsum("bp,bp->b", x, x).reshape(each)
            inside = np.einsum("...h,...h->...", back, back) * squares + np.einsum("...h,...h->...", units, units)
            size = size * np.sqrt(inside + 1)
        return slope * (self.bound / np.maximum(size, self.bound)).astype(slope.dtype)

    def _blocks(self) -> Iterator[slice]:
        return (slice(i, i + self.block) for i in range(0, self.n_records, self.block))

    def _checked(self, phi: ArrayLike) -> Array:
        phi = np.asarray(phi, dtype=float)
        if phi.ndim != 2 or phi.shape[1] != self.n_parameters:
            raise ValueError(f"phi must be (runs, {self.n_parameters}), got {phi.shape}")
        return self.centre + phi


def _unpacked(phi: Array, hidden: int) -> tuple[Array, Array, Array]:
    """V (runs, h, p), a (runs, h) and c (runs,) of phi (runs, P)."""
    inner, outer, offset = phi[:, : -hidden - 1], phi[:, -hidden - 1 : -1], phi[:, -1]
    return inner.reshape(len(phi), hidden, -1), outer, offset


def _forward(phi: Array, x: Array, hidden: int) -> tuple[Array, Array]:
    """Hidden units (b, runs, h) and scores (b, runs) of a block of records, in the precision of phi and x."""
    inner, outer, offset = _unpacked(phi, hidden)
    units = x @ inner.reshape(-1, x.shape[1]).T
    np.tanh(units, out=units)
    units = units.reshape(len(x), len(phi), hidden)
    return units, np.einsum("brh,rh->br", units, outer) + offset


def initial(hidden: int, n_features: int, *, rng: np.random.Generator) -> Array:
    """A random start phi, (h p + h + 1,), that reads no records: at zero every hidden unit stays what all others are.

    V is normal with variance 1/p and a with variance 1/h, so that units and score start of order one; c = 0.

    Parameters
    ----------
    hidden : the number h of units, at least 1.
    n_features : the number p of features, the constant column counted.
    rng : a seeded generator; the start is public.

    Source: LeCun et al., Efficient BackProp, section 4.6.

    >>> initial(2, 3, rng=np.random.default_rng(0)).shape
    (9,)
    """
    inner = rng.normal(scale=n_features**-0.5, size=hidden * n_features)
    return np.concatenate([inner, rng.normal(scale=hidden**-0.5, size=hidden), [0.0]])


@dataclass(frozen=True)
class Network(Loss):
    """log(1 + exp(-y s)), s the score of a network of one hidden layer: not convex, and each gradient is clipped.

    Parameters
    ----------
    hidden: number of units h of a network that is fitted; of a model that is given it follows from its length.
    """

    name: ClassVar[str] = "network"
    linear: ClassVar[bool] = False
    certified: ClassVar[bool] = False
    clips_gradients: ClassVar[bool] = True
    costly: ClassVar[bool] = True
    measure: ClassVar[str] = "mean logistic loss"
    hidden: Count = parameter("Give the number of hidden units.", default=8)

    def predicted(self, x: Array, theta: Array) -> Array:
        """Scores of records (n, p) by networks (runs, P), (runs, n)."""
        return _whole(x, np.ones(len(x)), theta.shape[-1]).scores(theta)

    def loss_sum(self, x: Array, y: Array, theta: Array) -> Array:
        """Sum of the records' losses at theta (runs, P), (runs,)."""
        return _whole(x, y, theta.shape[-1]).mean_loss(theta) * len(y)

    def gradient_sum(self, x: Array, y: Array, theta: Array) -> Array:
        """Sum of the records' gradients at theta (runs, P), not clipped."""
        return _whole(x, y, theta.shape[-1]).gradient(theta) * len(y)

    def fit(
        self, x: Array, y: Array, regularisation: float, *, starts: int = STARTS, seed: int = 0
    ) -> tuple[Array, float]:
        """The best network found, by L-BFGS from several starts, and its cost: an upper bound, with no certificate.

        Parameters
        ----------
        regularisation : r >= 0, of every parameter; at 0 separable records have no minimum.
        starts : how many, >= 1, each drawn by `initial`. More starts with the same seed are never worse.

        Raises
        ------
        ValueError
            If starts is below 1, r negative, or a label neither +1 nor -1.
        """
        if starts < 1 or not 0 <= regularisation < np.inf:
            raise ValueError(f"starts must be at least 1 and regularisation >= 0, got {starts} and {regularisation}")
        records, rng = NetworkRecords(x, y, self.hidden, np.inf, 2), np.random.default_rng(seed)

        def cost(phi: Array) -> tuple[float, Array]:
            value, gradient = records.mean_loss(phi[None])[0], records.gradient(phi[None])[0]
            return float(value + 0.5 * regularisation * (phi @ phi)), gradient + regularisation * phi

        options = {"maxiter": ITERATIONS, "maxfun": 2 * ITERATIONS, "ftol": 1e-12, "gtol": 1e-8, "maxcor": 20}
        begins = [initial(self.hidden, x.shape[1], rng=rng) for _ in range(starts)]
        ends = [scipy.optimize.minimize(cost, phi, jac=True, method="L-BFGS-B", options=options) for phi in begins]
        best = min(ends, key=lambda end: float(end.fun))
        return np.asarray(best.x, dtype=float), float(best.fun)

    def gradient_norms(self, x: Array, y: Array, theta: Array, norm: int) -> Array:
        """Norm of each record's gradient at theta (P,), not clipped, (n,)."""
        each = _whole(x, y, len(theta)).record_gradient(np.tile(theta, (len(y), 1)), np.arange(len(y)))
        return np.linalg.norm(each, ord=norm, axis=1)

    def oracle(self, bounds: Clipping, x: Array, y: Array, *, one_by_one: bool = False) -> GradientOracle:
        """Records whose gradients are clipped to the radius, counted from the public start."""
        hidden = units(len(bounds.centre), x.shape[1])
        return NetworkRecords(x, y, hidden, bounds.radius, bounds.norm, np.float32, centre=bounds.centre)

    def largest_curvature(self, bounds: Clipping, x: Array, regularisation: float) -> float:
        """A rough guess, from the number of features alone."""
        return 0.25 * x.shape[1]


def units(n_parameters: int, n_features: int) -> int:
    """h of a network with P = h (p + 1) + 1 parameters.

    >>> units(9, 3)
    2
    """
    return (n_parameters - 1) // (n_features + 1)


def _whole(x: Array, y: Array, n_parameters: int) -> NetworkRecords:
    """Records whose gradients are not clipped."""
    return NetworkRecords(x, y, units(n_parameters, x.shape[1]), np.inf, 2)
