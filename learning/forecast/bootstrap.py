"""Bootstrap resamples of the public rows: public samples that might have been drawn, and training as each has it.

The public rows stand for the population, a resample of them for what the learner knew: it has its own model, start and
scale. All resamples are computed at once, in blocks that stay in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.forecast.clipped_problem import chance_share, clipped_problems
from learning.forecast.public_sample import PublicSample, curved_dispersion, dispersion
from learning.losses.coordinates import Coordinates
from learning.training.law import Problem, together

LEAST = 1e-6  # of f*: what that of a resample counts as, whose few distinct rows may be fitted without error
BLOCK = 2**17  # numbers handled at once


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
    rows: NDArray[np.intp] = field(repr=False)
    total_size: int
    precondition: bool
    norm: int = 1

    def __len__(self) -> int:
        return len(self.models)

    def first(self, count: int) -> BootstrapSamples:
        """The first resamples only, for a quick look."""
        return self._known.setdefault(count, self._part(slice(count)))

    @cached_property
    def _known(self) -> dict[Any, Any]:
        """What has been computed: planners for the same rows, under other budgets or beside each other, ask for it again."""
        return {}

    def _part(self, which: slice) -> BootstrapSamples:
        return replace(self, models=self.models[which], transforms=self.transforms[which], rows=self.rows[which])

    def within(self, count: int, *, rng: np.random.Generator) -> list[BootstrapSamples]:
        """Resamples of each resample, ``count`` of them: all that a learner whose rows it were would plan with.

        What such a learner forecasts, against what its plan gives on the population, is how far forecasts of this kind
        are off: the population has records that its own rows do not show.
        """
        x, y = self.sample.population()
        learners = []
        for rows in self.rows:
            learner = draw_bootstrap(
                replace(self.sample, x=x[rows], y=y[rows], with_kinks=None),
                start=self.start,
                precondition=self.precondition,
                total_size=self.total_size,
                resamples=count,
                rng=rng,
                norm=self.norm,
            )
            learners.append(replace(learner, optimum=max(learner.optimum, LEAST * self.optimum)))
        return learners

    @property
    def _fitted(self) -> Array:
        """The models as fitted to the resamples, (m, p), not spread."""
        truth = self.sample.truth
        return truth + (self.models - truth) / _stretch(self.sample.n_records, self.total_size)

    @cached_property
    def dispersion(self) -> float:
        """C of the population.

        With labels it is what the resamples' models lose on average, times n_pub: that needs no curvature, which hinge loss
        does not have.
        """
        x, y = self.sample.population()
        if self.sample.loss.quadratic:
            return dispersion(x, y, self.sample.truth)
        return max(0.0, len(y) * (float(np.mean(self.sample.fitness.value(self._fitted))) - self.optimum))

    @cached_property
    def estimates(self) -> tuple[Array, Array]:
        """f* and C as each resample would estimate them, (m,) both."""
        x, y = self.sample.population()
        loss, penalty, truth = self.sample.loss, self.sample.regularisation, self.sample.truth
        optima, spreads = [], []
        for model, rows in zip(self._fitted, self.rows, strict=True):
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

    @cached_property
    def outside(self) -> Array:
        """Excess fitness of each resample's public model, (m,): what the learner has without buying.

        Under a loss with kinks it is that of the model fitted by the loss itself. Where one label is rare, that model may
        answer the other label always, as the best one does: smoothing would hide that nothing is lost.
        """
        sample = self.sample.with_kinks
        if sample is not None:
            fitted = np.stack([sample.fit(sample.x[rows], sample.y[rows])[0] for rows in self.rows])
            models = sample.truth + _stretch(sample.n_records, self.total_size) * (fitted - sample.truth)
            return np.maximum(sample.fitness.value(models) - sample.fitness.optimum, 0.0)
        if not self.sample.loss.quadratic:
            return self.sample.fitness.value(self.models) - self.optimum
        error = self.models - self.sample.truth
        hessian = self.sample.hessian + self.sample.regularisation * np.eye(error.shape[1])
        return 0.5 * np.sum(error @ hessian * error, axis=1)

    @property
    def relative_outside(self) -> float:
        """Relative fitness of the public model, on average."""
        return float(self.outside.mean()) / self.optimum

    def coordinates(self, radius: float, target_bound: float) -> Coordinates:
        """The coordinates of all resamples, one after the other, with the given clipping bounds."""
        centres = self.models if self.start == "public" else np.zeros_like(self.models)
        return Coordinates(centres, self.transforms, radius, target_bound, norm=self.norm, loss=self.sample.loss)

    def under(self, bounds: Coordinates) -> tuple[Coordinates, ...]:
        """Each resample's coordinates under announced bounds."""
        each = self.coordinates(bounds.radius, bounds.target_bound)
        return tuple(
            replace(bounds, centre=centre, transform=transform, loss=self.sample.loss)
            for centre, transform in zip(each.centre, each.transform, strict=True)
        )

    def problem(self, radius: float, target_bound: float, *, corrected: bool = False) -> Problem:
        """The training problem of each resample, its records clipped to the given bounds.

        With ``corrected``, how far clipping moves the optimum is shrunk by what the few public rows add to it by chance
        (`chance_share`): uncorrected, the offset is overstated, which suits the choice of bounds and no forecast.
        """
        return self.problems(radius, [target_bound], corrected=corrected)[0]

    def problems(self, radius: float, target_bounds: Sequence[float], *, corrected: bool = False) -> list[Problem]:
        """The same for several bounds on targets: the features are clipped, and their Hessian diagonalised, once."""
        asked = radius, *target_bounds, corrected
        if asked not in self._known:
            size = max(1, BLOCK // self.sample.x.size)
            parts = (self._part(slice(first, first + size)) for first in range(0, len(self), size))
            made = [part._problems(radius, target_bounds, corrected) for part in parts]
            self._known[asked] = [rows[0] if len(rows) == 1 else together(rows) for rows in zip(*made, strict=True)]
        return self._known[asked]

    def _problems(self, radius: float, target_bounds: Sequence[float], corrected: bool) -> list[Problem]:
        (x, y), truth, penalty = self.sample.population(), self.sample.truth, self.sample.regularisation
        coordinates, whole = self.coordinates(radius, np.inf), x @ self.transforms
        clipped, target = coordinates.within(whole, radius), y - coordinates.centre @ x.T
        targets = [np.clip(target, -bound, bound) for bound in target_bounds]
        hessian = 2 * (clipped.swapaxes(-1, -2) @ clipped) / len(y)
        linears = [2 * np.einsum("wni,wn->wi", clipped, shown) / len(y) for shown in targets]
        made = clipped_problems(coordinates, hessian, linears, self.sample.hessian, truth, penalty, self.optimum)
        if not corrected:
            return list(made)
        missed = y - x @ truth
        return [_corrected(one, clipped, shown, whole, missed) for one, shown in zip(made, targets, strict=True)]


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
    miss theta_pub by 1/n_pub of it: their distance is stretched accordingly. Where there is curvature, each resample
    estimates C by its own: few rows are fitted so well that gradients and curvature look smaller than they are, and a
    resample shows by how much.
    """
    (x, y), truth = sample.population(), sample.truth
    rows = np.stack([_resample(y, sample.loss.labels, rng) for _ in range(resamples)])
    moments, models = _fit_each(sample, x, y, rows)
    optimum = float(sample.fitness.value(truth))
    return BootstrapSamples(
        sample,
        truth + _stretch(len(y), total_size) * (models - truth),
        start,
        sample.scale(moments, precondition),
        optimum,
        rows,
        total_size,
        precondition,
        norm,
    )


def _corrected(problem: Problem, clipped: Array, target: Array, whole: Array, residual: Array) -> Problem:
    """With the offset shrunk by its `chance_share`."""
    share = chance_share(problem, clipped, target, whole, residual)
    offset = np.sqrt(1 - share)[:, None] * problem.offset
    return replace(problem, start_error=problem.start_error + problem.offset - offset, offset=offset)


def _fit_each(sample: PublicSample, x: Array, y: Array, rows: NDArray[np.intp]) -> tuple[Array, Array]:
    """Second moments (m, p, p) of each resample, and the model (m, p) fitted to it."""
    counts = np.stack([np.bincount(chosen, minlength=len(y)) for chosen in rows]).astype(float)
    parts = np.array_split(counts, min(len(rows), 1 + len(rows) * x.size // BLOCK))
    moments = np.concatenate([x.T * some[:, None, :] @ x for some in parts]) / len(y)
    if not sample.loss.quadratic:
        return moments, np.stack([sample.fit(x[chosen], y[chosen])[0] for chosen in rows])
    linear = 2 * (counts * y) @ x / len(y)
    width = x.shape[1]
    hessian = 2 * moments + sample.regularisation * np.eye(width)
    inverse = np.linalg.pinv(hessian, rcond=width * np.finfo(float).eps, hermitian=True)
    return moments, (inverse @ linear[..., None])[..., 0]


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
