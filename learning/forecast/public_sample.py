"""Public sample: the learner's own rows, the tail of their gradients, and estimates from them.

The tail is that of the lengths v of records' gradients. Clipping gradients to a radius c takes
E(v - c)+ from their mean. A learner with few rows sees little of that: none of 150 rows may have a
length that one owner's record in 150 has. Above a threshold lengths are taken to be generalised
Pareto distributed; the estimate averages over shapes and scales by their likelihood and a prior.

Source: Pickands, Statistical Inference Using Extreme Order Statistics (the law of what exceeds a
    high threshold); the prior, the radius that follows and the stretched rows are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from learning.arrays import Array
from learning.errors import InputError
from learning.losses.clipping import RECORD
from learning.losses.coordinates import Coordinates, whitening_transform
from learning.losses.loss import Loss, TrainingCost
from learning.losses.squared import Squared
from learning.training.algorithms import ALGORITHMS
from learning.training.engine import Trained

KERNEL_WIDTH = 1.06  # times spread and n^(-1/5): best for a normal density
LEAST_WIDTH = 1e-3  # of a kernel
ROWS_PER_PARAMETER = 5  # with fewer, the public model's own error is forecast far too high
WIDE = 100  # columns, up to which nothing is computed less of

TAIL_SHARE = 0.2  # of the lengths, the longest, that a tail is fitted to
SHAPE = 0.1  # mean and spread of the normal prior of the shape; 0 is an exponential tail
SPREAD = 0.2
SHAPES = np.arange(-0.39, 0.62, 0.05)  # none of them 0, where the formulas need a limit
SCALES = np.geomspace(0.35, 2.5, 40)  # in units of the mean excess
FURTHEST = 60.0  # end of the tail, in those units
CELLS = 64  # quantiles that the mean of one row's share of the tail is taken over
MOST_LEVERAGE = 0.8  # of a row on its own model, beyond which it hardly shows a fresh row's length
FURTHER_OUT = 3.0  # squared mean direction of what is clipped, over that at the threshold
RADII = np.geomspace(0.05, 50.0, 400)  # tried, in units of the threshold
SHOWN = 0.1  # least curvature of a direction that is not drowned by noise, over the largest


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
    """Affordable number of some values (k,), both ends among them.

    >>> [thin_out([1.0, 2.0, 3.0, 4.0, 5.0], 2, width).tolist() for width in (100, 200)]
    [[1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 5.0]]
    """
    count = affordable_count(len(values), least, width)
    return np.asarray(values)[np.linspace(0, len(values) - 1, count).round().astype(int)]


@dataclass(frozen=True)
class PublicSample:
    """Learner's own rows: a pilot study that costs no privacy.

    Residuals of squared loss are inflated by sqrt(n/(n-p)) (the HC1 correction): a model fitted on
    few rows looks better on them than it is. Labels are taken as they are.

    Parameters
    ----------
    x : array (n, p), encoded features.
    y : array (n,), encoded target.
    regularisation : r >= 0.
    loss : the loss trained.
    owner : array (n,), name of each row's owner; None where rows carry no names.
    drawn : True if the rows are known to be a random sample of all records.
    with_kinks : the same rows under the loss itself, where ``loss`` is a smoothed one.
    """

    x: Array = field(repr=False)
    y: Array = field(repr=False)
    regularisation: float = 0.0
    loss: Loss = Squared()
    owner: NDArray[np.str_] | None = field(default=None, repr=False)
    drawn: bool = True
    with_kinks: PublicSample | None = field(default=None, repr=False)

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
        return self.fit(self.x, self.y)[0]

    def population(self) -> tuple[Array, Array]:
        """Rows (x, y) with residuals of the size they would have on fresh records."""
        if self.loss.labels:
            return self.x, self.y
        rows, width = self.x.shape
        fitted = self.x @ self.model
        return self.x, fitted + np.sqrt(rows / (rows - width)) * (self.y - fitted)

    @cached_property
    def fitness(self) -> TrainingCost:
        """Training cost of that population."""
        return self.loss.fitness([self.population()], self.regularisation)

    @cached_property
    def hessian(self) -> Array:
        """Hessian of the mean squared loss, 2 X'X/n, (p, p), without the penalty."""
        return np.asarray(2 * (self.x.T @ self.x) / len(self.y))

    @cached_property
    def truth(self) -> Array:
        """Optimum of that population, (p,): the model itself without a penalty, or with labels."""
        return self.fitness.minimiser if self.loss.quadratic else self.model

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

    def scale_matrix(self, moments: Array, precondition: bool) -> Array:
        """Scale W, (..., p, p): whitening by second moments of rows, or the identity."""
        if precondition and not self.loss.clips_gradients:
            return whitening_transform(moments)
        width = len(self.model)
        return np.broadcast_to(np.eye(width), (*moments.shape[:-2], width, width))

    def coordinates(self, start: str, precondition: bool, norm: int = 1) -> Coordinates:
        """Coordinates from a start ("public" or "zero"), without bounds yet."""
        centre = self.model if start == "public" else np.zeros(len(self.model))
        scale = self.scale_matrix(self.x.T @ self.x / len(self.y), precondition)
        return Coordinates(centre, scale, norm=norm, loss=self.loss)


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
    curvature = loss.second_derivative(score)
    hessian = (x * curvature[:, None]).T @ x / len(y) + regularisation * np.eye(x.shape[1])
    gradients = loss.derivative(score)[:, None] * (y[:, None] * x if loss.labels else x)
    spread = np.cov(gradients, rowvar=False, bias=True)  # the penalty adds no variance
    return 0.5 * float(np.trace(np.linalg.pinv(hessian) @ spread))


@dataclass(frozen=True)
class Tail:
    """Lengths of gradients, with likely tails beyond the longest.

    Parameters
    ----------
    lengths : array (n,), rising, of the known rows.
    count : number of them in the tail.
    unit : their mean excess over the longest of the others.
    odds : array (shapes, scales), probability of each tail; sum 1.
    """

    lengths: Array = field(repr=False)
    count: int
    unit: float
    odds: Array = field(repr=False)

    @property
    def threshold(self) -> float:
        """Length where the tail begins."""
        return float(self.lengths[-self.count - 1])

    def squared_cut(self, radius: Array) -> Array:
        """Expected square of E(v - radius)+, (k,)."""
        below = np.minimum(self.lengths[:, None], self.threshold)
        inside = np.maximum(below - radius, 0.0).mean(axis=0)
        excess = np.maximum(radius - self.threshold, 0.0) / self.unit
        scales = self.unit * self.count / len(self.lengths) * SCALES / (1 - SHAPES[:, None])
        cut = inside + scales[..., None] * _pareto_powers(excess, 1 - 1 / SHAPES)
        return np.asarray(np.einsum("ab,abk->k", self.odds, cut**2))

    def draw_tail(self, rng: Generator) -> Tail:
        """Draw one of the likely tails."""
        odds = np.zeros(self.odds.size)
        odds[rng.choice(self.odds.size, p=self.odds.ravel())] = 1.0
        return replace(self, odds=odds.reshape(self.odds.shape))

    def expected_lengths(self) -> Array:
        """Mean length of each row of the tail, (count,), which divide it by quantiles."""
        grid = np.concatenate([[0.0], np.geomspace(1e-3, FURTHEST, 400)])
        survives = np.einsum("ab,abk->k", self.odds, _pareto_powers(grid, -1 / SHAPES))
        cells = self.count * CELLS
        levels = 1 - (np.arange(cells) + 0.5) / cells
        excess = np.interp(-np.log(levels), -np.log(np.maximum(survives, 1e-300)), grid)
        mean = excess.reshape(self.count, CELLS).mean(axis=1)
        return np.asarray(self.threshold + self.unit * mean)


def _pareto_powers(excess: Array, powers: Array) -> Array:
    """(1 + shape excess/scale)+^power, (shapes, scales, k), with a power for each shape."""
    base = np.maximum(1 + SHAPES[:, None, None] * excess / SCALES[:, None], 0.0)
    return np.asarray(base ** powers[:, None, None])


def fit_tail(lengths: Array) -> Tail:
    """Fit the tail of some lengths (n,), n >= 2: the posterior of its shape and scale.

    >>> tail = fit_tail(np.random.default_rng(0).exponential(size=10_000))
    >>> np.sqrt(tail.squared_cut(np.array([1.0, 3.0]))).round(3), np.exp([-1.0, -3.0]).round(3)
    (array([0.365, 0.05 ]), array([0.368, 0.05 ]))
    """
    rising = np.sort(lengths)
    count = max(1, int(TAIL_SHARE * len(lengths)))
    excess = rising[-count:] - rising[-count - 1]
    unit = max(float(excess.mean()), 1e-9 * float(rising[-1]), np.finfo(float).tiny)
    base = 1 + SHAPES[:, None, None] * (excess / unit) / SCALES[:, None]
    possible = base > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(np.where(possible, base, 0.0)).sum(axis=-1)
    likelihood = -count * np.log(SCALES) - (1 + 1 / SHAPES[:, None]) * logs
    prior = 0.5 * ((SHAPES[:, None] - SHAPE) / SPREAD) ** 2
    posterior = np.where(possible.all(axis=-1), likelihood, -np.inf) - prior
    odds = np.exp(posterior - posterior.max())
    return Tail(rising, count, unit, odds / odds.sum())


def _whiten_rows(x: Array) -> Array:
    return np.asarray(x @ whitening_transform(x.T @ x / len(x)))


def fresh_gradients(sample: PublicSample, coordinates: Coordinates) -> Array:
    """Gradients at the start, (n, p), as of rows that neither model nor scale was fitted to.

    A row of leverage h lies 1/(1 - h) times as far from a model fitted without it, and is 1/sqrt(1
    - h) times as long under a scale found without it. (Of labels, only the latter.)
    """
    x = sample.x
    y = sample.y
    loss = sample.loss
    left = 1 - np.minimum(np.sum(_whiten_rows(x) ** 2, axis=1) / len(y), MOST_LEVERAGE)
    if not loss.labels:
        fitted = x @ sample.model
        y = fitted + (y - fitted) / left
    slopes = loss.derivative(loss.scores(x, y, coordinates.centre)) * (y if loss.labels else 1.0)
    return np.asarray((slopes / np.sqrt(left))[:, None] * (x @ coordinates.transform))


def best_radius(sample: PublicSample, coordinates: Coordinates, noise: float) -> float:
    """Clipping radius of gradients that balances noise, which grows with it, and clipping bias.

    Both pass through the same curvature on their way to the model, so that it plays no part. What
    is clipped is a bias as far as its mean direction on the public rows beyond the threshold goes,
    more so further out.

    Parameters
    ----------
    sample : the public rows.
    coordinates : with the norm that gradients are clipped in.
    noise : variance per coordinate of an answer at a radius of 1, all owners' together.
    """
    gradients = fresh_gradients(sample, coordinates)
    lengths = coordinates.lengths(gradients)
    tail = fit_tail(lengths[lengths > 0])
    kept = np.maximum(0.0, 1 - tail.threshold / np.maximum(lengths, tail.unit))
    excess = gradients * kept[:, None]
    total = float(coordinates.lengths(excess).sum())
    aligned = 0.0
    if total > 0:
        mean_square = FURTHER_OUT * float(np.sum(excess.sum(axis=0) ** 2))
        aligned = max(mean_square, float(np.sum(excess**2))) / total**2
    radii = RADII * max(tail.threshold, tail.unit)
    error = aligned * tail.squared_cut(radii) + gradients.shape[1] * noise * radii**2
    return float(radii[np.argmin(error)])


def chance_of_bias(whole: Array, kept: Array) -> float:
    """Share of the squared bias of clipping, as some rows show it, that is chance.

    The bias is a difference of two means; its variance over the rows is that of their influence,
    with the curvature of unclipped rows. (`law.chance_share` is that of clipped records.)

    Parameters
    ----------
    whole : array (n, p), gradients at the optimum.
    kept : array (n, p), the same clipped.
    """
    free = max(float(np.mean((whole == kept).all(axis=1))), 1 / len(whole))
    bias = float(np.sum(kept.mean(axis=0) ** 2)) / free**2
    chance = float((kept / free - whole).var(axis=0).sum()) / len(whole)
    return min(1.0, chance / bias) if bias > 0 else 0.0


def stretch_residuals(
    sample: PublicSample, bounds: Coordinates, rng: Generator | None = None
) -> PublicSample:
    """Public rows with residuals of the lengths that the tail implies, and the same optimum.

    Where each record's gradient of squared loss is clipped; else the rows themselves. The longest
    rows get the mean lengths of their parts of the tail.

    Parameters
    ----------
    sample : the rows.
    bounds : of the training.
    rng : draws one of the likely tails; None averages over all of them.
    """
    if bounds.clipping != RECORD or sample.loss.labels:
        return sample
    missed = sample.y - sample.x @ sample.model
    lengths = np.abs(missed) * np.linalg.norm(_whiten_rows(sample.x), axis=1)
    if not lengths.any():
        return sample
    tail = fit_tail(lengths)
    if rng is not None:
        tail = tail.draw_tail(rng)
    longest = np.argsort(lengths, kind="stable")[-tail.count :]
    shown = lengths[longest]
    longer = np.ones(len(lengths))
    ones = np.ones(tail.count)
    longer[longest] = np.divide(tail.expected_lengths(), shown, out=ones, where=shown > 0)
    added = (longer - 1) * missed
    away, *_ = np.linalg.lstsq(sample.x, added, rcond=None)
    return replace(sample, y=sample.y + added - sample.x @ away)


@dataclass(frozen=True)
class Seen:
    """Unbiased estimate of relative fitness, or of a difference of it, and its standard error."""

    relative_fitness: float
    std_error: float


def estimate_start(trained: Trained, sample: PublicSample) -> Seen | None:
    """Estimate relative fitness of the start of training from the first answers.

    The first step shows the noisy gradient a = g + w. With H the Hessian of training and G that of
    fitness, both on the public rows, and S the known variance of w, the start's excess is

        (g'A g)/2 = E (a'A a)/2 - S tr(A)/2,    A = H^-1 G H^-1,

    over directions that the public rows show well (`SHOWN`). The bias of clipping does not show in
    clipped answers, and is not counted.

    Parameters
    ----------
    trained : the training, of which the first run's first step is used.
    sample : the learner's own rows.

    Returns
    -------
    Seen, below 0 where noise makes it so; None where no owner was asked, the loss, the first step
    or the aggregate is another, gradients are clipped, or the ball bent the step.
    """
    task = trained.task
    steps = trained.plan.steps
    lawful = sample.loss.quadratic and ALGORITHMS[trained.plan.algorithm].exact and len(steps)
    if task is None or not lawful or not task.aggregation.sums or task.coordinates.clips_gradients:
        return None
    coordinates = task.coordinates
    path = np.linalg.solve(coordinates.transform, (trained.path[:2] - coordinates.centre).T).T
    reached = np.asarray(path[1:] * (1 + 1e-9))
    if not np.array_equal(coordinates.project(reached), reached):
        return None
    gradient = (path[0] - path[1]) / steps[0]
    scales = np.array([np.broadcast_to(owner.scale, (task.runs,))[0] for owner in task.owners])
    variance = np.sum((task.shares * (scales * task.relative_scales[0])) ** 2)
    power = float(variance) * task.mechanism.unit_variance
    x, y = sample.population()
    transform = coordinates.transform
    whole = 2 * x.T @ x / len(y) + task.regularisation * np.eye(x.shape[1])
    counted = transform @ whole @ transform
    hessian = coordinates.statistics(x, y).hessian + coordinates.penalty(task.regularisation)[0]
    inverse = np.linalg.pinv(hessian, rcond=SHOWN, hermitian=True)
    form = inverse @ counted @ inverse
    value = 0.5 * (gradient @ form @ gradient - power * np.trace(form))
    square = form @ form
    tilt = max(0.0, float(gradient @ square @ gradient - power * np.trace(square)))
    std_error = np.sqrt(power * tilt + power**2 * np.trace(square) / 2)  # of Gaussian noise
    optimum = float(sample.fitness.optimum)
    return Seen(float(value) / optimum, float(std_error) / optimum)


def compare_models(sample: PublicSample, x: Array, y: Array, models: Array) -> Seen:
    """Estimate the gain in relative fitness of the second of two models (2, p) over the first.

    On public rows kept aside, (n, p) and (n,), which had no part in either model.
    """
    loss = sample.loss
    penalty = 0.5 * sample.regularisation * np.sum(models**2, axis=1)
    first, second = loss.value(loss.scores(x, y, models)) + penalty[:, None]
    return fitness_gain(first, second, float(sample.fitness.optimum))


def fitness_gain(first: Array, second: Array, optimum: float) -> Seen:
    """Difference in relative fitness by two models' losses on the same rows, each (n,).

    >>> fitness_gain(np.array([2.0, 3.0, 1.0, 2.0]), np.array([1.0, 1.0, 1.0, 2.0]), 0.5)
    Seen(relative_fitness=1.5, std_error=0.9574271077563381)
    """
    found = first - second
    std_error = float(np.std(found, ddof=1)) / len(found) ** 0.5
    return Seen(float(np.mean(found)) / optimum, std_error / optimum)
