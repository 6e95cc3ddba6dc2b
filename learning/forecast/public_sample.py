"""Public sample: the learner's own rows, and estimates from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.data.fitting import ROWS_PER_PARAMETER
from learning.errors import InputError
from learning.losses.coordinates import (
    SOLVED_FLOOR,
    WHITENING_FLOOR,
    Coordinates,
    whitening_transform,
)
from learning.losses.loss import UNBOUNDED, Loss, TrainingCost
from learning.losses.ridge import chance_in_slopes, fit_ridge
from learning.losses.squared import Squared
from learning.losses.statistics import repeat_block, target_blocks

KERNEL_WIDTH = 1.06  # times spread and n^(-1/5): best for a normal density
LEAST_WIDTH = 1e-3  # of a kernel
WIDE = 100  # columns up to which as much is computed as wanted
NO_CURVATURE = 1e-10  # of the largest: directions with less have none
MOST_LEVERAGE = 0.99  # of a row: one that alone decides a parameter has no residual
TELLING = 15  # rows that a second moment must rest on to be divided by wherever it is small
SHOWN = 5  # standard errors of a slope that rows show, however small its direction is


def affordable_count(most: int, least: int, width: int, power: float = 1.0) -> int:
    """Number of resamples, candidates or draws to compute for a model of p columns.

    Beyond `WIDE` it falls as (WIDE/p)^power, since matrices of n x p and p x p are multiplied and
    diagonalised for each. Averages over fewer resamples are less exact, an interval is made of
    fewer worlds, and a protocol from fewer candidates has a forecast a little above the smallest.

    Parameters
    ----------
    most, least : number wanted, and number that suffices.
    width : p, columns.
    power : of the fall.

    >>> [affordable_count(200, 8, width, power=2) for width in (10, 100, 200, 400, 1000)]
    [200, 200, 50, 12, 8]
    """
    return max(min(least, most), min(most, round(most * (WIDE / width) ** power)))


def thin_out(values: Array | Sequence[float], least: int, width: int) -> Array:
    """Select an affordable number of values (k,), both ends among them.

    >>> [thin_out([1.0, 2.0, 3.0, 4.0, 5.0], 2, width).tolist() for width in (100, 200)]
    [[1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 5.0]]
    """
    count = affordable_count(len(values), least, width)
    return np.asarray(values)[np.linspace(0, len(values) - 1, count).round().astype(int)]


@dataclass(frozen=True)
class OtherKind:
    """Public rows, when left out, under the learner's best model of another kind of features.

    Parameters
    ----------
    lost : array (2, n), the loss of each row under that model, and under that of the market's kind.
    scores : array (2, n), what both predict of it.
    held : array (2, n), their losses if predictions are held to the target's range.
    """

    lost: Array = field(repr=False)
    scores: Array = field(repr=False)
    held: Array = field(repr=False)


@dataclass(frozen=True)
class PublicSample:
    """Learner's own rows: a pilot study that costs no privacy.

    Residuals of squared loss are inflated by sqrt(n/(n-p)) (the HC1 correction): a model fitted on
    few rows looks better on them than it is. Labels are taken as they are. The population has the
    model of least cost for its optimum, also where the public model is shrunk: how far a shrunk
    model is from the optimum is forecast at a weaker signal (`chance`).

    Parameters
    ----------
    x : array (n, p), encoded features.
    y : array (n,), encoded target.
    regularisation : r >= 0.
    loss : the loss trained.
    owner : array (n,), name of each row's owner; None where rows carry no names.
    drawn : True if the rows are known to be a random sample of all records.
    with_kinks : the same rows under the loss itself, where ``loss`` is a smoothed one.
    shrinks : True if the public model is shrunk (`fit_ridge`), under squared loss.
    floor : least second moment that whitening divides by, as a share of the largest.
    lift : array (p, p), added to second moments before (`thin_lift`); None for nothing.
    other_kind : the rows under the learner's best model of another kind of features; None where no
        other kind is better.
    made : True if features are made of columns (splines, bins, products). A few rows then decide a
        parameter and are fitted closely, where errors are large. So residuals are inflated by each
        row's leverage h, by 1/(1-h) (the HC2 correction).
    ends : range of the encoded target, to which predicted numbers are held.
    targets : number k of targets, for which every k rows one after another are one row of a table
        (`learning.data.targets`).
    """

    x: Array = field(repr=False)
    y: Array = field(repr=False)
    regularisation: float = 0.0
    loss: Loss = Squared()
    owner: NDArray[np.str_] | None = field(default=None, repr=False)
    drawn: bool = True
    with_kinks: PublicSample | None = field(default=None, repr=False)
    shrinks: bool = False
    floor: float = WHITENING_FLOOR
    lift: Array | None = field(default=None, repr=False)
    other_kind: OtherKind | None = field(default=None, repr=False)
    made: bool = False
    ends: tuple[float, float] = UNBOUNDED
    targets: int = 1

    def __post_init__(self) -> None:
        rows, width = self.x.shape
        least = ROWS_PER_PARAMETER * width
        if rows < least:
            rule = (
                f"must be {ROWS_PER_PARAMETER} per encoded column or more, {least} here: "
                "fewer make no forecast"
            )
            advice = "Add public rows, or take fewer features or components."
            raise InputError("data.public_rows", rule, rows, advice)

    @property
    def n_records(self) -> int:
        """Number of rows."""
        return len(self.y)

    def fit(self, x: Array, y: Array) -> tuple[Array, float]:
        """Fit the model of least training cost to some rows; return it with that cost."""
        return self.loss.fit(x, y, self.regularisation)

    @cached_property
    def model(self) -> Array:
        """Outside option theta_pub, (p,)."""
        return self.fit_model(self.x, self.y)

    def fit_model(self, x: Array, y: Array) -> Array:
        """Fit the public model to some rows, (p,): that of least cost, or a shrunk one.

        It has no slope along directions that the sample leaves open.
        """
        model = fit_ridge(x, y)[0] if self.shrinks else self.fit(x, y)[0]
        return drop_open(model, *self.open_moments)

    @cached_property
    def open_moments(self) -> tuple[Array, Array]:
        """Moments (p,) that `find_open_moments` misses, and directions (p, p); none by labels.

        Nor does it miss any under a penalty, which settles what rows leave open, or of several
        targets.
        """
        moments = self.x.T @ self.x / len(self.y)
        if not self.loss.quadratic or self.regularisation or self.targets > 1:
            values, vectors = np.linalg.eigh(moments)
            return np.zeros_like(values), vectors
        return find_open_moments(self.x, self.y, moments)

    def population(self) -> tuple[Array, Array]:
        """Rows (x, y) with residuals of the size they would have on fresh records."""
        if self.loss.labels:
            return self.x, self.y
        fitted = self.loss.predicted(self.x, self._best)
        return self.x, fitted + np.sqrt(self._inflation(self.y - fitted)) * (self.y - fitted)

    @cached_property
    def _best(self) -> Array:
        return self.fit(self.x, self.y)[0]

    @property
    def freedom(self) -> int:
        """Number of rows less that of parameters fitted to them, and at least half of the rows."""
        return self.n_records - min(len(self._best), self.n_records // 2)

    def _inflation(self, residuals: Array) -> float:
        """Mean squared error on fresh records over that of the residuals (n,)."""
        if not self.made or not residuals.any():
            return self.n_records / self.freedom
        leverage = np.einsum("ij,ji->i", self.x, np.linalg.pinv(self.x))
        unseen = residuals**2 / (1 - np.minimum(leverage, MOST_LEVERAGE))
        return float(unseen.mean() / np.mean(residuals**2))

    @cached_property
    def fitness(self) -> TrainingCost:
        """Training cost of that population."""
        return self.loss.fitness([self.population()], self.regularisation)

    @cached_property
    def hessian(self) -> Array:
        """Hessian of the mean squared loss, 2 X'X/n, (p, p), without the penalty."""
        return 2 * (self.x.T @ self.x) / len(self.y)

    @cached_property
    def truth(self) -> Array:
        """Optimum of that population, (p,): the model itself without a penalty, or with labels."""
        return self.fitness.minimiser if self.loss.quadratic else self.model

    @cached_property
    def chance(self) -> Array:
        """Part of the truth, (p,), that is left out where models are shrunk: chance in few rows.

        A shrunk model loses more the stronger the signal is. It is forecast by models of rows with
        a signal as strong as the population's, and errs from the truth as these do from that.
        """
        return chance_in_slopes(*self.population()) if self.shrinks else np.zeros(self.x.shape[1])

    @cached_property
    def smoothed(self) -> PublicSample:
        """Sample under a loss whose kinks are smoothed, as a mean over many records has them.

        Scores are moved by errors of the width of a kernel density estimate, 1.06 times their
        spread within a label times n^(-1/5); the smallest cost f* is kept.

        Source: Horowitz, Bootstrap Methods for Median Regression Models (a smoothed loss is
            resampled); Silverman, Density Estimation, 3.28 (the width).
        """
        if not self.loss.kinked:
            return self
        scores = self.loss.scores(self.x, self.y, self.model)
        of_label = [scores[self.y == label] for label in np.unique(self.y)]
        within = np.concatenate([shown - shown.mean() for shown in of_label])
        width = KERNEL_WIDTH * float(within.std()) * self.n_records ** (-1 / 5)
        width = max(width, LEAST_WIDTH)
        _, least = self.fit(self.x, self.y)
        _, lifted = self.loss.smooth_kinks(width).fit(self.x, self.y, self.regularisation)
        return replace(self, loss=self.loss.smooth_kinks(width, lifted - least), with_kinks=self)

    @cached_property
    def solved(self) -> PublicSample:
        """The same rows, whitened for a release of moments that a model is solved for.

        They are whitened as for other trainings where there are several targets, or unless a small
        moment rests on many rows. Moments too small to show a slope are raised: owners' records may
        lie far out along them.
        """
        values, _, carried = principal_directions(self.x)
        small = values < WHITENING_FLOOR * values[-1]
        if self.targets > 1 or not np.any(small & (carried >= TELLING)):
            return self
        short, vectors = self.open_moments
        lift = thin_lift(self.x) + (vectors * short) @ vectors.T
        return replace(self, floor=SOLVED_FLOOR, lift=lift)

    def scale_matrix(self, moments: Array, precondition: bool) -> Array:
        """Scale W, (..., p, p): whitening by second moments of rows, or sizes of parameters."""
        if precondition and not self.loss.clips_gradients:
            lifted = moments if self.lift is None else moments + self.lift
            own = target_blocks(lifted, self.targets).mean(axis=-3)
            return repeat_block(whitening_transform(own, self.floor), self.targets)
        scale = np.ones(len(self.model))
        if precondition:
            scale = self.loss.parameter_scale(self.y, len(scale))
        return np.broadcast_to(np.diag(scale), (*moments.shape[:-2], len(scale), len(scale)))

    def coordinates(self, start: str, precondition: bool, norm: int = 1) -> Coordinates:
        """Coordinates from a start ("public" or "zero"), without bounds yet."""
        centre = self.model if start != "zero" else np.zeros(len(self.model))
        scale = self.scale_matrix(self.x.T @ self.x / len(self.y), precondition)
        return Coordinates(centre, scale, norm=norm, loss=self.loss, targets=self.targets)


def find_open_moments(x: Array, y: Array, moments: Array) -> tuple[Array, Array]:
    """Second moments (p,) by which rows fall short of showing a slope, and directions (p, p).

    A slope of squared loss has the standard error s/sqrt(n l) along a direction of second moment l.
    Over the features' range in it, w, that must not move a prediction further than the target's
    range R: so l must be at least s^2 w^2/(n R^2). A column that nearly repeats others among the
    public rows, but not among all records, falls short of that by far. Powers of a column do, too,
    but have slopes of many standard errors, carried by many rows: those the rows do show.

    Parameters
    ----------
    x, y : arrays (n, p) and (n,), the rows.
    moments : array (p, p), their second moments.
    """
    rows, width = x.shape
    values, vectors = np.linalg.eigh(moments)
    values = np.maximum(values, 0.0)
    curved = values > NO_CURVATURE * values[-1]
    slopes = np.divide(vectors.T @ (x.T @ y) / rows, values, out=np.zeros(width), where=curved)
    missed = y - x @ (vectors @ slopes)
    variance = float(missed @ missed) / max(rows - width, 1)
    error = variance * (np.ptp(x, axis=0) @ np.abs(vectors)) ** 2
    reach = rows * float(np.ptp(y)) ** 2
    needed = np.divide(error, reach, out=np.zeros(width), where=reach > 0)
    short = np.maximum(needed - values, 0.0)
    sure = (short > 0) & (slopes**2 * rows * values > SHOWN**2 * variance)
    sure[sure] = count_carriers(x @ vectors[:, sure]) >= TELLING
    return np.where(sure, 0.0, short), vectors


def drop_open(model: Array, short: Array, vectors: Array) -> Array:
    """Model (p,) without its slopes along the directions whose moments fall short."""
    if not short.any():
        return model
    shown = vectors[:, short == 0]
    return np.asarray(shown @ (shown.T @ model))


def principal_directions(x: Array) -> tuple[Array, Array, Array]:
    """Rising second moments (p,) of rows, their directions (p, p), and the rows that carry each.

    With z a row's place along a direction, (sum z^2)^2 / sum z^4 rows carry its moment: k where k
    rows have one place and the others none, a third of the rows where z is normal.

    Source: participation ratio (Bell and Dean, Atomic Vibrations in Vitreous Silica).

    >>> x = np.eye(400)[:, :4].sum(axis=1, keepdims=True)
    >>> [found.tolist() for found in principal_directions(x)]
    [[0.01], [[1.0]], [4.0]]
    """
    values, vectors = np.linalg.eigh(x.T @ x / len(x))
    return values, vectors, count_carriers(x @ vectors)


def count_carriers(places: Array) -> Array:
    """Number of rows that carry each moment (k,) of places (n, k), by the participation ratio."""
    fourth = np.sum(places**4, axis=0)
    return np.asarray(np.sum(places**2, axis=0) ** 2 / np.where(fourth > 0, fourth, 1.0))


def thin_lift(x: Array) -> Array:
    """Matrix (p, p) that adds `WHITENING_FLOOR` of the largest to moments that rest on few rows.

    Below `TELLING` rows the moment of other records may be many times as large, and so their length
    in coordinates that it has stretched; a bootstrap sample may have no such row at all.
    """
    values, vectors, carried = principal_directions(x)
    raised = np.where(carried < TELLING, WHITENING_FLOOR * values[-1], 0.0)
    return (vectors * raised) @ vectors.T


def dispersion(x: Array, y: Array, model: Array) -> float:
    """C = tr(H^-1 Sigma_g)/2 of squared loss: a model from m fresh rows costs C/m too much.

    C = mean of residual^2 x'(X'X/n)^-1 x, since H = 2 X'X/n and g = -2 residual x.
    """
    inverse = np.linalg.pinv(x.T @ x / len(y), hermitian=True)
    leverage = np.sum(x @ inverse * x, axis=1)
    return float(np.mean((y - x @ model) ** 2 * leverage))


def curved_dispersion(loss: Loss, x: Array, y: Array, model: Array, regularisation: float) -> float:
    """C of any loss at its best model (p,); 1 of a loss without a second derivative."""
    if loss.second_derivative(np.zeros(1)) is None:
        return 1.0
    score = loss.scores(x, y, model)
    hessian = curved_hessian(x, loss.second_derivative(score), regularisation)
    gradients = loss.derivative(score)[:, None] * (y[:, None] * x if loss.labels else x)
    spread = np.cov(gradients, rowvar=False, bias=True)  # the penalty adds no variance
    return 0.5 * float(np.trace(np.linalg.pinv(hessian) @ spread))


def curved_hessian(x: Array, curvature: Array, regularisation: float) -> Array:
    """Hessian (p, p) of a training cost, by the curvature of the loss of each row, (n,)."""
    return (x * curvature[:, None]).T @ x / len(x) + regularisation * np.eye(x.shape[1])


def leave_out_shifts(loss: Loss, x: Array, y: Array, model: Array, regularisation: float) -> Array:
    """Amount by which y times its score falls if a row of labels is left out of the fit, (n,).

    One Newton step from the best model (p,): s h/(1 - w h), with s and w the slope (negative) and
    the curvature of a row's loss, and h = x'(nH)^-1 x. It is 0 of a loss without curvature.

    Source: Pregibon, Logistic Regression Diagnostics.
    """
    if loss.second_derivative(np.zeros(1)) is None:
        return np.zeros(len(y))
    score = loss.scores(x, y, model)
    curvature = loss.second_derivative(score)
    inverse = np.linalg.pinv(curved_hessian(x, curvature, regularisation), hermitian=True)
    lengths = np.sum(x @ inverse * x, axis=1) / len(y)
    kept = 1 - np.minimum(curvature * lengths, MOST_LEVERAGE)
    return np.asarray(-loss.derivative(score) * lengths / kept)
