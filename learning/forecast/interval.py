"""What may come of a forecast from public rows: both models' relative fitness in every world that the rows may show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from learning.arrays import Array
from learning.forecast.bootstrap import BootstrapSamples
from learning.forecast.measures import RELATIVE, Measure
from learning.training.law import Problem, bias_and_gain
from learning.training.plan import Plan

WORLDS = 200  # of equal chance that stand for a distribution
NOTHING = 1e-12  # relative fitness that 0 counts as in logs


@dataclass(frozen=True)
class Prediction:
    """Relative fitness in each possible world; the two of one place are of one world, in which they go together.

    In each world the public rows are taken for the truth and a resample for what the learner knew. The ratio of what then
    comes true to what the learner then forecast is the error of the method; times the forecast from all public rows, it is
    one value that the truth may have.

    Parameters
    ----------
    trained : array (m,), of the trained model, on average over trainings.
    outside : array (m,), of the learner's own model.
    points : the forecasts of both, trained and outside, which their intervals contain; None: the medians.
    without_doubt : the same worlds, were all records known to be of one kind; None where they are.
    """

    trained: Array
    outside: Array
    points: tuple[float, float] | None = None
    without_doubt: Prediction | None = None

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Where the relative fitness of the trained model is expected, on average over trainings."""
        return self._around(self.trained, 0, level)

    def outside_interval(self) -> tuple[float, float]:
        """Where the relative fitness of the learner's own model is expected."""
        return self._around(self.outside, 1)

    def _around(self, values: Array, model: int, level: float = 0.95) -> tuple[float, float]:
        low, high = _by_factors(values, level)
        point = low if self.points is None else self.points[model]
        return min(low, point), max(high, point)

    def in_doubt(self, kinds: Array) -> Prediction:
        """The same worlds with what records of other kinds add to relative fitness there.

        Parameters
        ----------
        kinds : array (2, m), >= 0, what they add to the trained model and to the learner's own.
        """
        if not kinds.any():
            return self
        trained, outside = self.trained + kinds[0], self.outside + kinds[1]
        return Prediction(trained, outside, self.points, self)

    def gain(self, value: float, payments: float, measure: Measure = RELATIVE) -> Array:
        """Compute the learner's gain in each world, (m,): value (outside - trained) - payments.

        Doubt takes away and never adds: in a world where records of other kinds would make buying better than it is
        without them, by making the learner's own model worse than the trained one, that is not counted.

        Parameters
        ----------
        value : money per unit of relative fitness, or of another measure of it.
        payments : money paid to all owners.
        measure : what money is counted of.

        >>> Prediction(np.array([0.1, 0.3]), np.array([0.4, 0.5])).gain(100.0, 25.0).round(9).tolist()
        [5.0, -5.0]
        """
        gain = value * (measure.own_in_worlds(self.outside) - measure.in_worlds(self.trained)) - payments
        if self.without_doubt is None:
            return gain
        return np.minimum(gain, self.without_doubt.gain(value, payments, measure))


def quantiles(values: Array, level: float) -> tuple[float, float]:
    """The ends between which one value more lies with chance ``level``, as much below as above, of values (m,) alike likely.

    Few values hardly reach the tails: one more lies between the 2.5 and 97.5 % quantiles of 24 but 87 times in 100. Of fewer
    than `WORLDS`, quantiles are moved away from the median until those of as many normal values would lie, on average,
    where Student's interval for one value more ends.

    Source: Blom, Statistical Estimates and Transformed Beta-Variables (expected order statistics of normal values).
    """
    low, middle, high = np.quantile(values, [(1 - level) / 2, 0.5, (1 + level) / 2])
    count, share = len(values), (1 + level) / 2
    if 1 < count < WORLDS:
        expected = np.quantile(scipy.special.ndtri((np.arange(1, count + 1) - 0.375) / (count + 0.25)), share)
        further = scipy.special.stdtrit(count - 1, share) * np.sqrt(1 + 1 / count) / expected
        low, high = middle - further * (middle - low), middle + further * (high - middle)
    return float(low), float(high)


def _by_factors(values: Array, level: float) -> tuple[float, float]:
    """The same of relative fitness (m,), which forecasts miss by factors: few values are moved in logs."""
    if len(values) >= WORLDS or values.min() < 0:
        return quantiles(values, level)
    low, high = np.exp(quantiles(np.log(np.maximum(values, NOTHING)), level))
    return float(low), float(high)


def predict_outside(bootstrap: BootstrapSamples) -> Array:
    """Relative fitness of the learner's own model in each world, (m,).

    A forecast from a resample rescales what is lost by its own C/f*. A loss with kinks has no curvature to tell C by;
    its resamples' models are judged as they are.
    """
    if bootstrap.dispersion == 0:  # no sample misses the optimum: nothing to be off by
        return np.full(len(bootstrap), bootstrap.relative_outside)
    if bootstrap.sample.with_kinks is not None:
        return bootstrap.outside / bootstrap.optimum
    return bootstrap.outside / bootstrap.optimum / _scale(bootstrap)


def predict_trained(
    problem: Problem, hindsight: Problem, plan: Plan, noise_power: float, point: float, relative: Array | None = None
) -> Array:
    """Relative fitness of the trained model in each world, (m,), by the exact law.

    What the learner's rows do not show (records in the tails, which clipping shortens) is in it: the public rows have
    records that their resample has not.

    Parameters
    ----------
    problem : the training problem of each resample, (m) rows, under the coordinates in use.
    hindsight : what its learner would forecast from, (m k) rows: `BootstrapSamples.within`, under the same bounds.
    plan : the plan in use.
    noise_power : S, variance per coordinate of one round's aggregated noise.
    point : forecast of relative fitness, >= 0.
    relative : array (queries,), the deviation of each answer's noise over that of S, 1 unless given.
    """
    came, told = (_expected(one, plan, noise_power, relative) for one in (problem, hindsight))
    return by_hindsight(point, came, told.reshape(len(came), -1).mean(axis=1))


def _expected(problem: Problem, plan: Plan, noise_power: float, relative: Array | None) -> Array:
    """Relative fitness of each problem's trained model."""
    bias, gain = bias_and_gain(problem, plan.steps, plan.returned, relative)
    noise = gain * noise_power if np.isfinite(noise_power) and len(plan.steps) else np.zeros_like(gain)
    return (bias + noise) / problem.optimum


def by_hindsight(point: float, came: Array, told: Array) -> Array:
    """What came true in each world (m,) by what was told there, times the point; the point where nothing can be off.

    In a world whose learner would not take the plan, training diverging on its own rows (or, with a network, its fitness
    below 0), what came true is taken by its mean.
    """
    sound = np.isfinite(told) & (told > 0)
    if not sound.any() or not came.mean() > 0:
        return np.full(len(came), point)
    return point * came / np.where(sound, told, came.mean())


def _scale(bootstrap: BootstrapSamples) -> Array:
    """C/f* as each resample estimates it, over that of the population, (m,)."""
    optima, spreads = bootstrap.estimates
    return (spreads / optima) / (bootstrap.dispersion / bootstrap.optimum)


def chance_of_parts(bootstrap: BootstrapSamples) -> Array:
    """What the optimum of some records costs on all of them in each world, (m,), over its mean.

    Those of the owners who share are drawn as the public rows were, but apart from them: the excess of a public model in
    another world stands for theirs.
    """
    missed = np.roll(bootstrap.outside, 1)
    return missed / missed.mean() if missed.mean() > 0 else np.ones(len(missed))


def predict_dealt(measured: Array, point: float) -> Array:
    """Relative fitness in possible worlds, (m,), where the records are known, but not who holds which.

    A gamma variable: its mean is that of what was measured; its variance is that between worlds, the error of the mean, and
    the square of what the forecast misses it by.

    Parameters
    ----------
    measured : array (worlds, runs), relative fitness in worlds of equal chance; one run where nothing is random in a world.
    point : forecast of relative fitness.
    """
    count, runs = measured.shape
    means, centre = measured.mean(axis=1), float(measured.mean())
    chance = float(measured.var(axis=1, ddof=1).mean()) / runs if runs > 1 else 0.0
    total = float(means.var(ddof=1)) if count > 1 else chance
    wider = (count - 1) / (count - 3) if count > 3 else 1.0  # a variance that is estimated itself: Student's
    variance = wider * (max(total - chance, 0.0) + total / count) + (point - centre) ** 2
    if not (variance > 0 and centre > 0):
        return np.array([point])
    return np.asarray(
        scipy.special.gammaincinv(centre**2 / variance, (np.arange(WORLDS) + 0.5) / WORLDS) * (variance / centre)
    )
