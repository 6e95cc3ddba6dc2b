"""What is known before training: the training problem as the public rows suggest it, or as the pooled records are.

Public basis: the public rows stand for the population and their bootstrap resamples for public samples that might have
been drawn; each resample has its own start, scale and clipping. Oracle basis: the pooled
records themselves, the simulator's privilege.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.errors import InputError
from learning.losses.coordinates import Coordinates, whitening
from learning.losses.loss import Loss
from learning.losses.losses import as_loss
from learning.losses.protocols import TrainingCost
from learning.losses.squared import Fitness, Squared, SquaredStatistics
from learning.training.law import Problem, quadratic_problem

LEAST = 1e-6  # of f*: what that of a resample counts as, whose few distinct rows may be fitted without error
ROWS_PER_PARAMETER = 5  # with fewer, the public model's own error is forecast far too high


@dataclass(frozen=True)
class PublicSample:
    """The learner's own rows: a pilot study that costs no privacy.

    Residuals of squared loss are inflated by sqrt(n/(n-p)) (the HC1 correction): a model fitted on few rows looks better
    on them than it is. Labels are taken as they are.

    Parameters
    ----------
    x : array (n, p), encoded features.
    y : array (n,), encoded target.
    regularisation : r >= 0.
    loss : the loss trained, or its name.
    owner : array (n,), the name of whose row each is; None where the rows do not tell.
    """

    x: Array = field(repr=False)
    y: Array = field(repr=False)
    regularisation: float = 0.0
    loss: Loss = Squared()
    owner: NDArray[np.str_] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", as_loss(self.loss))
        rows, width = self.x.shape
        if rows < ROWS_PER_PARAMETER * width:
            raise InputError(
                "data.public_rows",
                f"must be {ROWS_PER_PARAMETER} per encoded column or more, "
                f"{ROWS_PER_PARAMETER * width} here: fewer make no forecast",
                rows,
                "Add public rows, or take fewer features or components.",
            )

    @property
    def n_records(self) -> int:
        return len(self.y)

    def fit(self, x: Array, y: Array) -> tuple[Array, float]:
        """The model of least training cost on some rows, and that cost."""
        return self.loss.fit(x, y, self.regularisation)

    @cached_property
    def model(self) -> Array:
        """The outside option theta_pub, (p,)."""
        return self.fit(self.x, self.y)[0]

    def population(self) -> tuple[Array, Array]:
        """The rows as a population (x, y) whose residuals have the size they would have on fresh records."""
        if self.loss.labels:
            return self.x, self.y
        rows, width = self.x.shape
        fitted = self.x @ self.model
        return self.x, fitted + np.sqrt(rows / (rows - width)) * (self.y - fitted)

    @cached_property
    def fitness(self) -> TrainingCost:
        """The training cost of that population."""
        return self.loss.fitness([self.population()], self.regularisation)

    @cached_property
    def truth(self) -> Array:
        """The optimum of that population, (p,); it is the model itself when nothing is regularised, or with labels."""
        return self.fitness.minimiser if self.loss.quadratic else self.model

    def scale(self, x: Array, precondition: bool) -> Array:
        """W, (p, p): whitening by some rows, or the identity; a network's parameters are left as they are."""
        if self.loss.clips_gradients:
            return np.eye(len(self.model))
        return whitening(x) if precondition else np.eye(x.shape[1])

    def coordinates(self, start: str, precondition: bool, norm: int = 1) -> Coordinates:
        """Start ("public" or "zero"), scale and norm; bounds are chosen later."""
        centre = self.model if start == "public" else np.zeros(len(self.model))
        return Coordinates(centre, self.scale(self.x, precondition), norm=norm, loss=self.loss)


def dispersion(x: Array, y: Array, model: Array) -> float:
    """C = tr(H^-1 Sigma_g)/2 of squared loss: a model from m fresh rows costs C/m more than the best, on average.

    C = mean of residual^2 x'(X'X/n)^-1 x, since H = 2 X'X/n and g = -2 residual x.
    """
    inverse = np.linalg.pinv(x.T @ x / len(y))
    leverage = np.sum(x @ inverse * x, axis=1)
    return float(np.mean((y - x @ model) ** 2 * leverage))


def curved_dispersion(loss: Loss, x: Array, y: Array, model: Array, regularisation: float) -> float:
    """The same, C = tr(H^-1 Sigma_g)/2, of any loss at its best model (p,); 1 of one without a second derivative."""
    if loss.second_derivative(np.zeros(1)) is None:
        return 1.0
    score = loss.scores(x, y, model)
    curvature = loss.second_derivative(score)
    hessian = (x * curvature[:, None]).T @ x / len(y) + regularisation * np.eye(x.shape[1])
    gradients = loss.derivative(score)[:, None] * (y[:, None] * x if loss.labels else x)
    spread = np.cov(gradients, rowvar=False, bias=True)  # the penalty moves every record's gradient alike
    return 0.5 * float(np.trace(np.linalg.pinv(hessian) @ spread))


@dataclass(frozen=True)
class BootstrapSamples:
    """Bootstrap resamples of the public rows: what the learner's sample might have been, against one population.

    Parameters
    ----------
    sample : the public rows themselves.
    models : array (m, p), the public model of each resample, spread as theta_pub is around the pooled optimum.
    start : "public" or "zero", where training starts.
    transforms : array (m, p, p), the scale W of each.
    optimum : f* of the population.
    dispersion : C of the population.
    rows : array (m, n), which of the population's records each resample is made of.
    total_size : records of all owners, on which the models are judged.
    precondition : whether the scales whiten.
    norm : 1 or 2, in which records are clipped.
    """

    sample: PublicSample
    models: Array
    start: str
    transforms: Array
    optimum: float
    dispersion: float
    rows: NDArray[np.intp] = field(repr=False)
    total_size: int
    precondition: bool
    norm: int = 1

    def __len__(self) -> int:
        return len(self.models)

    def first(self, count: int) -> BootstrapSamples:
        """The first resamples only, for a quick look."""
        return replace(
            self,
            models=self.models[:count],
            transforms=self.transforms[:count],
            rows=self.rows[:count],
        )

    def within(self, count: int, *, rng: np.random.Generator) -> list[BootstrapSamples]:
        """Resamples of each resample, ``count`` of them: all that a learner whose rows it were would plan with.

        What such a learner forecasts, against what its plan gives on the population, is how far forecasts of this kind
        are off: the population has records that its own rows do not show.
        """
        x, y = self.sample.population()
        learners = []
        for rows in self.rows:
            learner = draw_bootstrap(
                replace(self.sample, x=x[rows], y=y[rows]),
                start=self.start,
                precondition=self.precondition,
                total_size=self.total_size,
                resamples=count,
                rng=rng,
                norm=self.norm,
            )
            learners.append(replace(learner, optimum=max(learner.optimum, LEAST * self.optimum)))
        return learners

    @cached_property
    def estimates(self) -> tuple[Array, Array]:
        """f* and C as each resample would estimate them, (m,) both."""
        x, y = self.sample.population()
        loss, penalty, truth = self.sample.loss, self.sample.regularisation, self.sample.truth
        models = truth + (self.models - truth) / _stretch(len(y), self.total_size)
        optima, spreads = [], []
        for model, rows in zip(models, self.rows, strict=True):
            if loss.quadratic:
                optima.append(_inflated_optimum(x[rows], y[rows], model, penalty))
                spreads.append(dispersion(x[rows], y[rows], model) * len(y) / (len(y) - x.shape[1]))
            else:
                optima.append(float(loss.fitness([(x[rows], y[rows])], penalty).value(model)))
                spreads.append(curved_dispersion(loss, x[rows], y[rows], model, penalty))
        if not loss.quadratic:
            whole = curved_dispersion(loss, x, y, truth, penalty)
            spreads = [self.dispersion * found / max(whole, 1e-300) for found in spreads]
        return np.maximum(optima, LEAST * self.optimum), np.array(spreads)

    @property
    def outside(self) -> Array:
        """Excess fitness of each resample's public model, (m,): what the learner has without buying."""
        if not self.sample.loss.quadratic:
            return self.sample.fitness.value(self.models) - self.optimum
        x, _ = self.sample.population()
        error = self.models - self.sample.truth
        hessian = 2 * x.T @ x / len(x) + self.sample.regularisation * np.eye(x.shape[1])
        return 0.5 * np.einsum("wi,ij,wj->w", error, hessian, error)

    @property
    def relative_outside(self) -> float:
        """Relative fitness of the public model, on average."""
        return float(self.outside.mean()) / self.optimum

    def coordinates(self, radius: float, target_bound: float) -> list[Coordinates]:
        """Each resample's coordinates with the given clipping bounds."""
        centres = self.models if self.start == "public" else np.zeros_like(self.models)
        return [
            Coordinates(centre, transform, radius, target_bound, norm=self.norm, loss=self.sample.loss)
            for centre, transform in zip(centres, self.transforms, strict=True)
        ]

    def under(self, bounds: Coordinates) -> tuple[Coordinates, ...]:
        """Each resample's coordinates under announced bounds."""
        each = self.coordinates(bounds.radius, bounds.target_bound)
        return tuple(one.bounded(bounds.radius, bounds.target_bound, bounds.theta_max) for one in each)

    def problem(self, radius: float, target_bound: float, *, corrected: bool = False) -> Problem:
        """The training problem of each resample, its records clipped to the given bounds.

        With ``corrected``, how far clipping moves the optimum is shrunk by what the few public rows add to it by chance
        (`chance_share`): uncorrected, the offset is overstated, which suits the choice of bounds and no forecast.
        """
        x, y = self.sample.population()
        truth = self.sample.truth
        penalty = self.sample.regularisation
        parts, kept = [], []
        for coordinates in self.coordinates(radius, target_bound):
            seen = coordinates.statistics(x, y)
            part = _in_coordinates(coordinates, seen, 2 * x.T @ x / len(y), truth, penalty)
            parts.append(part)
            kept.append(np.sqrt(1 - chance_share(coordinates, x, y, truth, *part)) if corrected else 1.0)
        hessian, linear, true_hessian, optimum = (np.stack(part) for part in zip(*parts, strict=True))
        problem = quadratic_problem(hessian, linear, true_hessian, optimum, np.full(len(self), self.optimum))
        offset = np.array(kept)[:, None] * problem.offset
        return replace(problem, start_error=problem.start_error + problem.offset - offset, offset=offset)


def chance_share(
    coordinates: Coordinates,
    x: Array,
    y: Array,
    truth: Array,
    hessian: Array,
    linear: Array,
    counted: Array,
    optimum: Array,
) -> float:
    """How much of the squared offset of clipping, |fixed point - optimum|^2 in the counted Hessian, is chance.

    The offset is a difference of two means over the n public rows; its variance is mean_i d_i'G d_i/n, with
    d_i = 2 H^-1 x~_i (u_i - x~_i'phi_fixed) - 2 G^-1 W x_i (y_i - x_i'theta*) the influence of row i on it.

    Returns
    -------
    float in [0, 1]
    """
    clipped, target = coordinates.records(x, y)
    inverse = np.linalg.pinv(hessian)
    fixed = inverse @ linear
    offset = fixed - optimum
    size = float(offset @ counted @ offset)
    if size <= 0:
        return 0.0
    seen = 2 * (target - clipped @ fixed)[:, None] * (clipped @ inverse)
    true = 2 * (y - x @ truth)[:, None] * (x @ coordinates.transform @ np.linalg.pinv(counted))
    influence = seen - true
    variance = float(np.sum(influence @ counted * influence)) / len(y) ** 2
    return min(1.0, variance / size)


def _in_coordinates(
    coordinates: Coordinates, seen: SquaredStatistics, true_hessian: Array, truth: Array, regularisation: float
) -> tuple[Array, Array, Array, Array]:
    """Training Hessian and linear part, true Hessian, and true optimum, all in phi."""
    penalty, pull = coordinates.penalty(regularisation)
    transform = coordinates.transform
    counted = transform @ (true_hessian + regularisation * np.eye(len(truth))) @ transform
    return (
        seen.hessian + penalty,
        seen.linear + pull,
        counted,
        np.asarray(np.linalg.solve(transform, truth - coordinates.centre), dtype=float),
    )


def draw_bootstrap(
    sample: PublicSample,
    *,
    start: str,
    precondition: bool,
    total_size: int,
    resamples: int,
    rng: np.random.Generator,
    norm: int = 1,
) -> BootstrapSamples:
    """Resample the public rows with replacement, ``resamples`` times.

    theta_pub misses the optimum of n pooled records by a covariance (1/n_pub + 1/n) H^-1 Sigma_g H^-1, the resamples
    miss theta_pub by 1/n_pub of it: their distance is stretched accordingly. With labels, C is what the resamples' models
    lose on average, times n_pub: it needs no curvature, which hinge loss does not have. Where there is one, each resample
    estimates C by its own: few rows are fitted so well that gradients and curvature look smaller than they are, and a
    resample shows by how much.
    """
    x, y = sample.population()
    rows = len(y)
    truth = sample.truth
    stretch = _stretch(rows, total_size)
    picked, models, transforms, missed = [], [], [], []
    optimum = float(sample.fitness.value(truth))
    for _ in range(resamples):
        chosen = _resample(y, sample.loss.labels, rng)
        picked.append(chosen)
        drawn, target = x[chosen], y[chosen]
        model, _ = sample.fit(drawn, target)
        models.append(truth + stretch * (model - truth))
        transforms.append(sample.scale(drawn, precondition))
        if not sample.loss.quadratic:
            missed.append(float(sample.fitness.value(model)) - optimum)
    lost = dispersion(x, y, truth) if sample.loss.quadratic else max(0.0, rows * float(np.mean(missed)))
    return BootstrapSamples(
        sample,
        np.stack(models),
        start,
        np.stack(transforms),
        optimum,
        lost,
        np.stack(picked),
        total_size,
        precondition,
        norm,
    )


def _stretch(rows: int, total_size: int) -> float:
    """How much further apart theta_pub and the optimum of all records are than a resample's model and theta_pub."""
    return float(np.sqrt(1 + rows / total_size))


def _resample(y: Array, labels: bool, rng: np.random.Generator) -> NDArray[np.intp]:
    """Row numbers drawn with replacement; with labels until both are there, as both are in the learner's own sample."""
    while True:
        chosen = rng.integers(len(y), size=len(y))
        if not labels or len(np.unique(y[chosen])) > 1:
            return chosen


def _inflated_optimum(x: Array, y: Array, model: Array, regularisation: float) -> float:
    """f* with the residual part inflated by n/(n-p)."""
    rows, width = x.shape
    return float(np.mean((y - x @ model) ** 2) * rows / (rows - width) + 0.5 * regularisation * model @ model)


def oracle_problem(coordinates: Coordinates, seen: SquaredStatistics, fitness: Fitness) -> Problem:
    """The true training problem, in one row, from the pooled records themselves.

    Parameters
    ----------
    coordinates : Coordinates
    seen : statistics of the clipped records of those who share, in phi.
    fitness : Fitness of all pooled records, in the model's own parameters.
    """
    hessian, linear, counted, truth = _in_coordinates(
        coordinates, seen, fitness.statistics.hessian, fitness.minimiser, fitness.regularisation
    )
    return quadratic_problem(hessian[None], linear[None], counted[None], truth[None], np.array([fitness.optimum]))
