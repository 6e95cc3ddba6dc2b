"""What is known before training: the training problem as the public rows suggest it, or as the pooled records are.

Public basis: the public rows stand for the population and their bootstrap resamples for public samples that might have
been drawn; each resample is one possible world, with its own start, scale and clipping. Oracle basis: the pooled
records themselves, the simulator's privilege.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from learning.coordinates import Coordinates, whitening
from learning.errors import InputError
from learning.law import Problem, quadratic_problem
from learning.losses import Fitness, SquaredStatistics, squared_statistics

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PublicSample:
    """The learner's own rows: a pilot study that costs no privacy.

    Residuals are inflated by sqrt(n/(n-p)) (the HC1 correction): a model fitted on few rows looks better on them
    than it is.

    Parameters
    ----------
    x : array (n, p), encoded features. y : array (n,), encoded target. regularisation : r >= 0.
    """

    x: Array = field(repr=False)
    y: Array = field(repr=False)
    regularisation: float = 0.0

    def __post_init__(self) -> None:
        rows, width = self.x.shape
        if rows <= 2 * width:
            raise InputError("data.public_rows", f"must exceed twice the number of encoded columns, {width}", rows,
                             "Add public rows, or take fewer features or components.")

    @property
    def n_records(self) -> int:
        return len(self.y)

    @property
    def model(self) -> Array:
        """The outside option theta_pub, (p,)."""
        return Fitness(squared_statistics(self.x, self.y), self.regularisation).minimiser

    def population(self) -> tuple[Array, Array]:
        """The rows as a population (x, y) whose residuals have the size they would have on fresh records."""
        rows, width = self.x.shape
        fitted = self.x @ self.model
        return self.x, fitted + np.sqrt(rows / (rows - width)) * (self.y - fitted)

    @property
    def truth(self) -> Array:
        """The optimum of that population, (p,); it is the model itself when nothing is regularised."""
        return Fitness(squared_statistics(*self.population()), self.regularisation).minimiser

    def coordinates(self, start: str, precondition: bool) -> Coordinates:
        """Start ("public" or "zero") and scale; bounds are chosen later."""
        width = self.x.shape[1]
        centre = self.model if start == "public" else np.zeros(width)
        return Coordinates(centre, whitening(self.x) if precondition else np.eye(width))


def dispersion(x: Array, y: Array, model: Array) -> float:
    """C = tr(H^-1 Sigma_g)/2 of squared loss: a model from m fresh rows costs C/m more than the best, on average.

    C = mean of residual^2 x'(X'X/n)^-1 x, since H = 2 X'X/n and g = -2 residual x.
    """
    inverse = np.linalg.pinv(x.T @ x / len(y))
    leverage = np.einsum("ni,ij,nj->n", x, inverse, x)
    return float(np.mean((y - x @ model) ** 2 * leverage))


@dataclass(frozen=True)
class Worlds:
    """Bootstrap worlds of the public rows: what the learner's sample might have been, against one population.

    Parameters
    ----------
    starts : array (worlds, p), the public model of each world, spread as theta_pub is around the pooled optimum.
    transforms : array (worlds, p, p).
    optimum : f* of the population; estimated : array (worlds,), f* as each world would estimate it.
    dispersion : C of the population; dispersions : array (worlds,), as each world would estimate it.
    """

    sample: PublicSample
    starts: Array
    transforms: Array
    optimum: float
    estimated: Array
    dispersion: float
    dispersions: Array

    def __len__(self) -> int:
        return len(self.starts)

    def first(self, count: int) -> Worlds:
        """The first worlds only, for a quick look."""
        return Worlds(self.sample, self.starts[:count], self.transforms[:count], self.optimum, self.estimated[:count],
                      self.dispersion, self.dispersions[:count])

    def problem(self, radius: float, target_bound: float) -> Problem:
        """The training problem of each world, its records clipped to the given bounds."""
        x, y = self.sample.population()
        truth = self.sample.truth
        penalty = self.sample.regularisation
        parts = []
        for centre, transform in zip(self.starts, self.transforms, strict=True):
            coordinates = Coordinates(centre, transform, radius, target_bound)
            parts.append(_in_coordinates(coordinates, coordinates.statistics(x, y), 2 * x.T @ x / len(y), truth, penalty))
        hessian, linear, true_hessian, optimum = (np.stack(part) for part in zip(*parts, strict=True))
        return quadratic_problem(hessian, linear, true_hessian, optimum, np.full(len(self), self.optimum))


def _in_coordinates(coordinates: Coordinates, seen: SquaredStatistics, true_hessian: Array, truth: Array,
                    regularisation: float) -> tuple[Array, Array, Array, Array]:
    """Training Hessian and linear part, true Hessian, and true optimum, all in phi."""
    penalty, pull = coordinates.penalty(regularisation)
    transform = coordinates.transform
    counted = transform @ (true_hessian + regularisation * np.eye(len(truth))) @ transform
    return (seen.hessian + penalty, seen.linear + pull, counted,
            np.asarray(np.linalg.solve(transform, truth - coordinates.centre), dtype=float))


def bootstrap_worlds(sample: PublicSample, *, start: str, precondition: bool, total_size: int, worlds: int,
                     rng: np.random.Generator) -> Worlds:
    """Resample the public rows with replacement, ``worlds`` times.

    theta_pub misses the optimum of n pooled records by a covariance (1/n_pub + 1/n) H^-1 Sigma_g H^-1, the resamples
    miss theta_pub by 1/n_pub of it: their distance is stretched accordingly.
    """
    x, y = sample.population()
    rows, width = x.shape
    truth = sample.truth
    stretch = np.sqrt(1 + rows / total_size)
    starts, transforms, optima, spreads = [], [], [], []
    for _ in range(worlds):
        chosen = rng.integers(rows, size=rows)
        drawn, target = x[chosen], y[chosen]
        model = Fitness(squared_statistics(drawn, target), sample.regularisation).minimiser
        starts.append(truth + stretch * (model - truth) if start == "public" else np.zeros(width))
        transforms.append(whitening(drawn) if precondition else np.eye(width))
        optima.append(_inflated_optimum(drawn, target, model, sample.regularisation))
        spreads.append(dispersion(drawn, target, model) * rows / (rows - width))
    optimum = float(Fitness(squared_statistics(x, y), sample.regularisation).value(truth))
    least = 1e-6 * optimum  # a resample of few distinct rows may be fitted without error
    return Worlds(sample, np.stack(starts), np.stack(transforms), optimum, np.maximum(optima, least), dispersion(x, y, truth),
                  np.array(spreads))


def _inflated_optimum(x: Array, y: Array, model: Array, regularisation: float) -> float:
    """f* with the residual part inflated by n/(n-p)."""
    rows, width = x.shape
    return float(np.mean((y - x @ model) ** 2) * rows / (rows - width) + 0.5 * regularisation * model @ model)


def oracle_problem(coordinates: Coordinates, seen: SquaredStatistics, fitness: Fitness) -> Problem:
    """The true training problem: one world, from the pooled records themselves.

    Parameters
    ----------
    coordinates : Coordinates
    seen : statistics of the clipped records of those who share, in phi.
    fitness : Fitness of all pooled records, in the model's own parameters.
    """
    hessian, linear, counted, truth = _in_coordinates(coordinates, seen, fitness.statistics.hessian, fitness.minimiser,
                                                      fitness.regularisation)
    return quadratic_problem(hessian[None], linear[None], counted[None], truth[None], np.array([fitness.optimum]))
