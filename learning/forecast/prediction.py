"""Predictions of what comes true: intervals of forecasts, by bootstrap samples of the public rows.

Each bootstrap sample stands for a possible world (`learning.forecast.possible`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from learning.arrays import Array
from learning.forecast.bootstrap import BootstrapSamples
from learning.forecast.measures import RELATIVE, Measure
from learning.training.law import Problem, bias_and_gain
from learning.training.plan import Plan

WORLDS = 200  # values of equal chance that represent a distribution
NOTHING = 1e-12  # floor of relative fitness in logs
CHANCE = 0.95  # level of the quantile beyond which an owner is of another kind


def isolated_estimate(bootstrap: BootstrapSamples, models: Array, sizes: Array) -> Array:
    """Relative fitness, on all records, of models trained alone, as their owners can estimate it.

    An owner tries its model on the m public rows. It loses Q_l more there than the learner's own
    model, which was fitted to them and so looks C/m better than the best model is. So Q_l - C/m is
    unbiased, whatever kind of records the owner has. If all owners are of one kind, a model of n_l
    records loses (1/m + 1/n_l)/(1/m + 1/n) times as much as that of a bootstrap sample. Where Q_l
    is within the 95 % quantile of that, the few rows show nothing, and the owner expects C (1/n_l -
    1/n).

    Parameters
    ----------
    bootstrap : bootstrap samples of the public rows.
    models : array (n_owners, p), the best model on each owner's own records.
    sizes : array (n_owners,), records of each.

    Returns
    -------
    array (n_owners,), in units of f* of the public rows.

    Source: ours. Farokhi et al., The Cost of Privacy, Fig. 10, judge the same models on all
        records, which no owner sees.
    """
    sample = bootstrap.sample
    rows = sample.n_records
    total = float(sizes.sum())
    lost = sample.fitness.value(models) - float(sample.fitness.value(sample.truth))
    worst = np.quantile(bootstrap.outside_excess, CHANCE)
    by_chance = worst * (1 + rows / sizes) / (1 + rows / total)
    found = (lost - bootstrap.dispersion / rows) / bootstrap.optimum
    return np.where(lost > by_chance, found, expected_isolated(bootstrap, sizes))


def expected_isolated(bootstrap: BootstrapSamples, sizes: Array) -> Array:
    """Expected relative fitness of models trained alone, C/f* (1/n_l - 1/n), (n_owners,).

    It holds of owners of one kind; sizes (n_owners,) are n_l.
    """
    return np.asarray(bootstrap.dispersion * (1 / sizes - 1 / sizes.sum()) / bootstrap.optimum)


@dataclass(frozen=True)
class Prediction:
    """Relative fitness of two models in each possible world.

    Parameters
    ----------
    trained : array (m,), of the trained model, on average over trainings.
    outside : array (m,), of the learner's own model.
    points : the forecasts of both, trained and outside, which their intervals are widened to
        contain; None where they are not.
    without_doubt : the same worlds, were all records known to be of one kind; None where they are.
    """

    trained: Array
    outside: Array
    points: tuple[float, float] | None = None
    without_doubt: Prediction | None = None

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Interval of the relative fitness of the trained model, on average over trainings."""
        return self._interval_around(self.trained, 0, level)

    def outside_interval(self) -> tuple[float, float]:
        """Interval of the relative fitness of the learner's own model."""
        return self._interval_around(self.outside, 1, 0.95)

    def _interval_around(self, values: Array, model: int, level: float) -> tuple[float, float]:
        if len(values) >= WORLDS or values.min() < 0:
            low, high = quantiles(values, level)
        else:  # forecasts are off by factors: few values are extrapolated in logs
            ends = np.exp(quantiles(np.log(np.maximum(values, NOTHING)), level))
            low, high = ends.tolist()
        point = low if self.points is None else self.points[model]
        return min(low, point), max(high, point)

    def in_doubt(self, kinds: Array) -> Prediction:
        """Add to relative fitness the cost of records of other kinds.

        Parameters
        ----------
        kinds : array (2, m), >= 0, cost to the trained model and to the learner's own.
        """
        if not kinds.any():
            return self
        return Prediction(self.trained + kinds[0], self.outside + kinds[1], self.points, self)

    def if_unlike(self) -> float | None:
        """Median relative fitness of the trained model where records are of other kinds.

        Over the worlds in which they are; None where all records are known to be of one kind.

        >>> alike = Prediction(np.array([0.1, 0.1, 0.2]), np.zeros(3))
        >>> alike.if_unlike(), alike.in_doubt(np.array([[0.0, 0.3, 0.4], [0.0] * 3])).if_unlike()
        (None, 0.5)
        """
        if self.without_doubt is None:
            return None
        worse = self.trained > self.without_doubt.trained
        return float(np.median(self.trained[worse])) if worse.any() else None

    def gain(self, value: float, payments: float, measure: Measure = RELATIVE) -> Array:
        """Compute the learner's gain in each world, (m,): value (outside - trained) - payments.

        Doubt takes away and never adds: in a world where records of other kinds would make buying
        better, by making the learner's own model worse, that is not counted.

        Parameters
        ----------
        value : money per unit of relative fitness, or of another measure of it.
        payments : money paid to all owners.
        measure : of the model, in which money is counted.

        >>> worlds = Prediction(np.array([0.1, 0.3]), np.array([0.4, 0.5]))
        >>> worlds.gain(100.0, 25.0).round(9).tolist()
        [5.0, -5.0]
        """
        saved = measure.own_in_worlds(self.outside) - measure.in_worlds(self.trained)
        gain = value * saved - payments
        if self.without_doubt is None:
            return gain
        return np.minimum(gain, self.without_doubt.gain(value, payments, measure))


def quantiles(values: Array, level: float) -> tuple[float, float]:
    """Prediction interval for one more value, by values (m,) of equal chance.

    Few values hardly reach the tails: one more lies between the 2.5 and 97.5 % quantiles of 24 but
    87 times in 100. Of fewer than `WORLDS`, quantiles are moved away from the median until those of
    as many normal values would lie, on average, at the ends of Student's prediction interval.

    Source: Blom, Statistical Estimates and Transformed Beta-Variables (expected order statistics of
        normal values).
    """
    share = (1 + level) / 2
    low, middle, high = np.quantile(values, [(1 - level) / 2, 0.5, share])
    count = len(values)
    if 1 < count < WORLDS:
        order = scipy.special.ndtri((np.arange(1, count + 1) - 0.375) / (count + 0.25))
        student = scipy.special.stdtrit(count - 1, share) * np.sqrt(1 + 1 / count)
        further = student / np.quantile(order, share)
        low = middle - further * (middle - low)
        high = middle + further * (high - middle)
    return float(low), float(high)


def predict_outside(bootstrap: BootstrapSamples) -> Array:
    """Relative fitness of the learner's own model in each world, (m,).

    A forecast from a bootstrap sample rescales the loss by its own C/f*. A loss with kinks has no
    curvature to estimate C by; the samples' models are judged as they are.
    """
    if bootstrap.dispersion == 0:  # no sample misses the optimum
        return np.full(len(bootstrap), bootstrap.relative_outside)
    relative = bootstrap.outside_excess / bootstrap.optimum
    if bootstrap.sample.with_kinks is None:
        optima, spreads = bootstrap.estimated_scales
        relative = relative / ((spreads / optima) / (bootstrap.dispersion / bootstrap.optimum))
    return bootstrap.count_alternative(relative)


def law_fitness(
    problem: Problem, plan: Plan, noise_power: float | Array, relative: Array | None
) -> Array:
    """Relative fitness of each problem's trained model by the exact law, at a noise or one each."""
    bias, gain = bias_and_gain(problem, plan.steps, plan.returned, relative)
    noise = np.zeros_like(gain)
    if np.all(np.isfinite(noise_power)) and len(plan.steps):
        noise = gain * noise_power
    return (bias + noise) / problem.optimum


def chance_of_parts(bootstrap: BootstrapSamples) -> Array:
    """Cost, on all records, of the optimum of the owners who share, in each world, over its mean.

    (m,). Their records are drawn as the public rows were, and independently of them: the excess of
    the public model of another world represents that cost.
    """
    missed = np.roll(bootstrap.outside_excess, 1)
    return missed / missed.mean() if missed.mean() > 0 else np.ones(len(missed))


def predict_permuted(measured: Array, point: float) -> Array:
    """Relative fitness in possible worlds, (m,), where only the owners of the records are unknown.

    It is a gamma variable. Its mean is that of the measurements. Its variance is the sum of that
    between worlds, that of the mean, and the square of the forecast's error.

    Parameters
    ----------
    measured : array (worlds, runs), relative fitness in worlds of equal chance; one run where
        nothing is random in a world.
    point : forecast of relative fitness.
    """
    count, runs = measured.shape
    centre = float(measured.mean())
    chance = 0.0
    if runs > 1:
        chance = float(measured.var(axis=1, ddof=1).mean()) / runs
    total = chance
    if count > 1:
        total = float(measured.mean(axis=1).var(ddof=1))
    wider = 1.0
    if count > 3:  # Student's, of an estimated variance
        wider = (count - 1) / (count - 3)
    variance = wider * (max(total - chance, 0.0) + total / count) + (point - centre) ** 2
    if not (variance > 0 and centre > 0):
        return np.array([point])
    levels = (np.arange(WORLDS) + 0.5) / WORLDS
    return np.asarray(scipy.special.gammaincinv(centre**2 / variance, levels) * (variance / centre))
