"""Bootstrap samples of the public rows.

The public rows are taken for the population, and each bootstrap sample for the rows of a learner in
one possible world: it has its own model, start and scale. All samples are computed at once, in
blocks that stay in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from learning.arrays import Array
from learning.forecast.law import chance_share, clipped_problems
from learning.forecast.public_sample import (
    NO_CURVATURE,
    PublicSample,
    curved_dispersion,
    curved_hessian,
    dispersion,
    drop_open,
    find_open_moments,
)
from learning.losses.coordinates import Coordinates
from learning.losses.ridge import fit_ridge, possible_models
from learning.training.law import Problem, concatenate_problems

LEAST = 1e-6  # floor of f* of a bootstrap sample, over that of the population
BLOCK = 2**17  # numbers handled at once
STEEP = 0.95  # level of the quantile beyond which a population's curvature is not feared
MOMENTS = 1.2  # spread of the log of second moments of another kind: ten-fold in one of 40


@dataclass(frozen=True)
class BootstrapSamples:
    """Bootstrap samples of the public rows, against one population.

    Parameters
    ----------
    sample : the public rows themselves.
    models : array (m, p), the public model of each sample, spread as theta_pub is around the pooled
        optimum.
    start : "public" (each sample's own model) or "zero", where training starts.
    transforms : array (m, p, p), the scale W of each.
    optimum : f* of the population.
    rows : array (m, n), rows of the population that each sample is made of.
    total_size : records of all owners, on which the models are judged.
    precondition : True if the scales whiten.
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

    @cached_property
    def _known(self) -> dict[Any, Any]:
        """Cache of parts and problems, which other planners for the same rows use as well."""
        return {}

    def keep(self, name: Any, make: Callable[[], Any]) -> Any:
        """Keep what is made of these samples alone, under a name."""
        if name not in self._known:
            self._known[name] = make()
        return self._known[name]

    def first_samples(self, count: int) -> BootstrapSamples:
        """Select the first ``count`` samples."""
        return self._known.setdefault(count, self._select_samples(slice(count)))

    def _select_samples(self, which: slice) -> BootstrapSamples:
        models = self.models[which]
        transforms = self.transforms[which]
        return replace(self, models=models, transforms=transforms, rows=self.rows[which])

    @cached_property
    def counts(self) -> Array:
        """How often each sample has each row, (m, n)."""
        return count_rows(self.rows, self.sample.n_records)

    def possible_sample(self, number: int) -> PublicSample:
        """Rows of one bootstrap sample, as a population that the public rows may be drawn from."""
        rows = self.rows[number]
        x, _ = self.sample.population()
        y = self.possible_target(number)[rows]
        return replace(self.sample, x=x[rows], y=y, with_kinks=None)

    def possible_target(self, number: int) -> Array:
        """Target of all rows (n,) in one possible world, where a sample of them is the population.

        Where models are shrunk, its best model is moved to that of `possible_models`.
        """
        x, y = self.sample.population()
        if not self.sample.shrinks:
            return y
        rows = self.rows[number]
        return y + x @ (self.possible_models[number] - self.sample.fit(x[rows], y[rows])[0])

    @cached_property
    def possible_models(self) -> Array:
        """Best model of all records in each possible world, (m, p), stretched."""
        if not self.sample.shrinks:
            return self.models
        return possible_models(*self.sample.population(), self.counts, self.total_size)

    @property
    def stretch(self) -> float:
        """Distance of theta_pub from the optimum of all records over that of a sample's model."""
        return _stretch_factor(self.sample, self.total_size)

    @property
    def fitted_models(self) -> Array:
        """Models as fitted to the samples, (m, p), not spread."""
        truth = self.sample.truth
        return truth + (self.models - truth) / self.stretch

    @cached_property
    def dispersion(self) -> float:
        """C of the population.

        Under another loss than the squared one it is n_pub times the mean excess of the samples'
        models: that needs no second derivative, which hinge loss does not have.
        """
        x, y = self.sample.population()
        if self.sample.loss.quadratic:
            return dispersion(x, y, self.sample.truth)
        lost = float(np.mean(self.sample.fitness.value(self.fitted_models))) - self.optimum
        return max(0.0, len(y) * lost)

    @cached_property
    def best_models(self) -> Array:
        """Model of least cost on each sample, (m, p), whatever shrinks the public one."""
        if not self.sample.shrinks:
            return self.fitted_models
        unshrunk = replace(self.sample, shrinks=False)
        x, y = self.sample.population()
        return _fit_each(unshrunk, x, y, self.rows)[1]

    @cached_property
    def estimated_scales(self) -> tuple[Array, Array]:
        """Estimates of f* and C by each sample, (m,) both.

        By its model of least cost: a shrunk model leaves more than residuals are inflated for.
        """
        x, y = self.sample.population()
        loss = self.sample.loss
        penalty = self.sample.regularisation
        freedom = len(y) if loss.labels else self.sample.freedom  # by which residuals are inflated
        optima = []
        spreads = []
        for model, rows in zip(self.best_models, self.rows, strict=True):
            own = (x[rows], y[rows])
            if loss.quadratic:
                square = np.mean((own[1] - own[0] @ model) ** 2) * len(y) / freedom
                optima.append(float(square + 0.5 * penalty * model @ model))
                spreads.append(dispersion(*own, model) * len(y) / freedom)
            else:
                lost = float(loss.fitness([own], penalty).value(model))
                optima.append(lost * (len(y) / freedom))
                spreads.append(curved_dispersion(loss, *own, model, penalty))
        if not loss.quadratic:
            whole = max(curved_dispersion(loss, x, y, self.sample.truth, penalty), 1e-300)
            spreads = [self.dispersion * found / whole for found in spreads]
        return np.maximum(optima, LEAST * self.optimum), np.array(spreads)

    @cached_property
    def outside_excess(self) -> Array:
        """Excess fitness of each sample's public model, (m,): the learner's outside option.

        Under a loss with kinks the model is fitted by the loss itself. Where one label is rare, it
        may answer the other label always, as the best model does: smoothing would hide that nothing
        is lost.
        """
        sample = self.sample.with_kinks
        if sample is not None:
            fitted = np.stack([sample.fit(sample.x[rows], sample.y[rows])[0] for rows in self.rows])
            models = sample.truth + self.stretch * (fitted - sample.truth)
            return np.maximum(sample.fitness.value(models) - sample.fitness.optimum, 0.0)
        if not self.sample.loss.quadratic:
            return self.sample.fitness.value(self.models) - self.optimum
        chance = self.sample.chance
        # along directions without a slope
        unseen = chance - drop_open(chance, *self.sample.open_moments)
        error = self.models - self.sample.truth + unseen
        hessian = self.sample.hessian + self.sample.regularisation * np.eye(error.shape[1])
        return 0.5 * np.sum(error @ hessian * error, axis=1)

    @property
    def relative_outside(self) -> float:
        """Mean relative fitness of the learner's own model: public, or of a better kind."""
        found = float(self.outside_excess.mean()) / self.optimum
        if self.sample.other_kind is None:
            return found
        other, same = self.sample.other_kind.lost
        return float((1 + found) * other.mean() / same.mean()) - 1

    def count_alternative(self, relative: Array) -> Array:
        """Relative fitness of the learner's own model in each world, (m,), from the public one's.

        The cost of a model of another kind of features is to that of the public model as their
        losses on rows that were left out, those of the world's own bootstrap sample.
        """
        if self.sample.other_kind is None:
            return relative
        other, same = (lost[self.rows].mean(axis=1) for lost in self.sample.other_kind.lost)
        return np.asarray((1 + relative) * other / same - 1)

    def steepest_curvature(self, coordinates: Coordinates) -> float:
        """Largest curvature of a population, in coordinates in use; 95 % of samples show less.

        With labels it depends on the model: where one is rare, on how rare. Starts vary in their
        scales only, which is all that the curvature of squared loss depends on. So it is 0 of that;
        of a loss without curvature; and of scores, whose steps are measured in their own curvature.
        """
        loss = self.sample.loss
        curved = loss.second_derivative(np.zeros(1)) is not None
        if not curved or self.sample.with_kinks is not None or coordinates.scores is not None:
            return 0.0
        x, y = self.sample.population()
        found = []
        for model, rows in zip(self.fitted_models, self.rows, strict=True):
            weights = loss.second_derivative(loss.scores(x[rows], y[rows], model))
            hessian = curved_hessian(x[rows], weights, self.sample.regularisation)
            moved = coordinates.transform.T @ hessian @ coordinates.transform
            found.append(np.linalg.eigvalsh(moved)[-1])
        return float(np.quantile(found, STEEP))

    def clipped_coordinates(self, radius: float, target_bound: float) -> Coordinates:
        """Coordinates of all samples with the given clipping bounds."""
        centres = self.models if self.start != "zero" else np.zeros_like(self.models)
        loss = self.sample.loss
        bounds = radius, target_bound
        targets = self.sample.targets
        return Coordinates(
            centres, self.transforms, *bounds, norm=self.norm, loss=loss, targets=targets
        )

    def start_coordinates(self, bounds: Coordinates) -> tuple[Coordinates, ...]:
        """Coordinates of each sample under announced bounds."""
        each = self.clipped_coordinates(bounds.radius, bounds.target_bound)
        pairs = zip(each.centre, each.transform, strict=True)
        bounds = replace(bounds, loss=each.loss)
        return tuple(replace(bounds, centre=one, transform=scale) for one, scale in pairs)

    def training_problem(
        self, radius: float, target_bound: float, *, corrected: bool = False
    ) -> Problem:
        """Training problem of each sample, its records clipped to the given bounds.

        Chance in few rows overstates how far clipping moves the optimum. A forecast is made with
        ``corrected``, which shrinks that offset by its share of chance (`chance_share`); bounds are
        chosen without.
        """
        return self.training_problems(radius, [target_bound], corrected=corrected)[0]

    def training_problems(
        self, radius: float, target_bounds: Sequence[float], *, corrected: bool = False
    ) -> list[Problem]:
        """Training problems for several bounds on targets: features are clipped once."""
        asked = radius, *target_bounds, corrected
        if asked not in self._known:
            size = max(1, BLOCK // self.sample.x.size)
            parts = [self._select_samples(slice(i, i + size)) for i in range(0, len(self), size)]
            made = [part._clip_block(radius, target_bounds, corrected) for part in parts]
            self._known[asked] = [concatenate_problems(rows) for rows in zip(*made, strict=True)]
        return self._known[asked]

    def _clip_block(
        self, radius: float, target_bounds: Sequence[float], corrected: bool
    ) -> list[Problem]:
        x, y = self.sample.population()
        truth = self.sample.truth
        coordinates = self.clipped_coordinates(radius, np.inf)
        whole = x @ self.transforms
        clipped = coordinates.within(whole, radius)
        target = y - coordinates.centre @ x.T
        targets = [np.clip(target, -bound, bound) for bound in target_bounds]
        hessian = 2 * (clipped.swapaxes(-1, -2) @ clipped) / len(y)
        linears = [2 * np.einsum("wni,wn->wi", clipped, shown) / len(y) for shown in targets]
        counted = self.sample.hessian, truth, self.sample.regularisation, self.optimum
        made = list(clipped_problems(coordinates, hessian, linears, *counted))
        if not corrected:
            return made
        shrunk = []
        for problem, shown in zip(made, targets, strict=True):
            share = chance_share(problem, clipped, shown, whole, y - x @ truth)
            offset = np.sqrt(1 - share)[:, None] * problem.offset
            start_error = problem.start_error + problem.offset - offset
            shrunk.append(replace(problem, start_error=start_error, offset=offset))
        return shrunk


def chance_distance(rows: int, total_size: float) -> float:
    """Squared distance 1/n_pub + 1/n of the public model from the optimum of all, by chance."""
    return 1 / rows + 1 / total_size


def draw_bootstrap(
    sample: PublicSample,
    *,
    start: str,
    precondition: bool,
    total_size: int,
    resamples: int,
    rng: Generator,
    norm: int = 1,
    distances: Array | None = None,
) -> BootstrapSamples:
    """Resample the public rows with replacement, ``resamples`` times.

    theta_pub misses the optimum of n pooled records by a covariance (1/n_pub + 1/n) H^-1 Sigma_g
    H^-1. The samples' models miss theta_pub by 1/n_pub H^-1 Sigma_g H^-1 only, so their distances
    from it are stretched by sqrt(1 + n_pub/n).

    Samples may be of a kind of their own. Their models then lie further off. Where that is further
    than by chance, their features vary otherwise, too: in whitened directions drawn at random, the
    second moments of the population are e^z times those of a sample, z ~ N(0, MOMENTS^2).

    Parameters
    ----------
    sample : the public rows.
    start : "public" or "zero", where training starts.
    precondition : True if the scales whiten.
    total_size : n, records of all owners.
    resamples : number of bootstrap samples.
    rng : of the draws.
    norm : 1 or 2, in which records are clipped.
    distances : array (resamples,), increase of 1/n_pub + 1/n by the kind of each sample
        (`kind_distance`); 0 unless given.
    """
    x, y = sample.population()
    truth = sample.truth
    away = np.zeros(resamples)
    if distances is not None:
        away = distances / chance_distance(len(y), total_size)
    several = sample.targets  # rows of a record are drawn together
    rows = np.stack([_draw_rows(y[::several], sample.loss.labels, rng) for _ in range(resamples)])
    rows = (several * rows[..., None] + np.arange(several)).reshape(resamples, -1)
    moments, models = _fit_each(sample, x, y, rows)
    optimum = float(sample.fitness.value(truth))
    stretch = _stretch_factor(sample, total_size) * np.sqrt(1 + away)
    models = truth + stretch[:, None] * (models - truth)
    scale = sample.scale_matrix(moments, precondition)
    if precondition and not sample.loss.clips_gradients and np.any(away > 1):
        scale = scale.copy()
        for place in np.flatnonzero(away > 1):
            scale[place] = _stretch_scale(scale[place], rng)
    return BootstrapSamples(
        sample, models, start, scale, optimum, rows, total_size, precondition, norm
    )


def _fit_each(
    sample: PublicSample, x: Array, y: Array, rows: NDArray[np.intp]
) -> tuple[Array, Array]:
    """Second moments (m, p, p) of each sample, and the model (m, p) fitted to it."""
    counts = count_rows(rows, len(y))
    moments = resampled_moments(x, counts)
    if not sample.loss.quadratic:
        return moments, np.stack([sample.fit(x[chosen], y[chosen])[0] for chosen in rows])
    if sample.shrinks:
        models = fit_ridge(x, y - x @ sample.chance, counts) + sample.chance
    else:
        linear = 2 * (counts * y) @ x / len(y)
        hessian = 2 * moments + sample.regularisation * np.eye(x.shape[1])
        inverse = np.linalg.pinv(hessian, rcond=NO_CURVATURE, hermitian=True)
        models = (inverse @ linear[..., None])[..., 0]
    if sample.regularisation or sample.targets > 1:
        return moments, models
    each = zip(models, rows, moments, strict=True)
    return moments, np.stack(
        [
            drop_open(model, *find_open_moments(x[own], y[own], moment))
            for model, own, moment in each
        ]
    )


def count_rows(rows: NDArray[np.intp], among: int) -> Array:
    """How often samples of row numbers (m, n) have each row, (m, among)."""
    return np.stack([np.bincount(chosen, minlength=among) for chosen in rows]).astype(float)


def resampled_moments(x: Array, counts: Array) -> Array:
    """Second moments (m, p, p) of rows (n, p) that are taken so many times, (m, n)."""
    parts = np.array_split(counts, min(len(counts), 1 + len(counts) * x.size // BLOCK))
    return np.concatenate([x.T * some[:, None, :] @ x for some in parts]) / len(x)


def _stretch_factor(sample: PublicSample, total_size: int) -> float:
    """Distance of theta_pub from the optimum of all records over that of a sample's model.

    1 of networks: on a straight line through two of them the others are unlike both.
    """
    return float(np.sqrt(1 + sample.n_records / total_size)) if sample.loss.linear else 1.0


def _stretch_scale(scale: Array, rng: Generator) -> Array:
    """Stretch random directions of records by e^(z/2) beyond a symmetric scale W (p, p).

    With S the stretch, W S has the singular values and left vectors of the result, which is the
    symmetric root of W S^2 W: records differ from x W S by a rotation.
    """
    width = len(scale)
    axes, _ = np.linalg.qr(rng.standard_normal((width, width)))
    stretched = scale @ axes * np.exp(MOMENTS / 2 * rng.standard_normal(width))
    left, values, _ = np.linalg.svd(stretched)
    return np.asarray(left * values @ left.T)


def _draw_rows(y: Array, labels: bool, rng: Generator) -> NDArray[np.intp]:
    """Draw row numbers with replacement; with labels until both are there."""
    while True:
        chosen = rng.integers(len(y), size=len(y))
        if not labels or len(np.unique(y[chosen])) > 1:
            return chosen
