"""The protocol of one step: bounds on moments and scores, and the noise between them, by its law on the public rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from learning.arrays import Array
from learning.errors import InputError
from learning.forecast.bootstrap import BootstrapSamples
from learning.forecast.wide import affordable, thinned
from learning.losses.coordinates import Coordinates
from learning.losses.scores import Scores
from learning.progress import Did

RADII = tuple(
    np.geomspace(1.2, 4.6, 9)
)  # bounds on a record tried, in units of the root of the public rows' mean |x|^2
SCORES = tuple(np.geomspace(1.8, 9.0, 11))  # bounds on a score, in units of that root times the size of a residual
SHARES = tuple(np.geomspace(0.08, 0.9, 11))  # of the noise; more than is best where moments cost nothing
TYPICAL = 0.3  # share, at which mechanisms are told apart by their noise
LEAST_BOUNDS, LEAST_SHARES = 4, 6  # of a wide model
DESIGN_RESAMPLES, LEAST_RESAMPLES = 24, 2


@dataclass(frozen=True)
class StepLaw:
    """One step from each of several starts, records shortened to some bounds, before any noise.

    Relative fitness of the step is ``bias + v^2 by_scores + s^2 by_moments`` to first order, with deviations v of the noise
    on mean ux and s of that on mean xx' (on its diagonal; off it smaller by sqrt(2)); averaged over the starts.

    Parameters
    ----------
    bias, by_scores, by_moments : numbers.
    """

    bias: float
    by_scores: float
    by_moments: float

    def at(self, scores: Array, moments: Array) -> Array:
        """Relative fitness at some deviations (...)."""
        return self.bias + scores**2 * self.by_scores + moments**2 * self.by_moments


def step_law(bootstrap: BootstrapSamples, bounds: Coordinates) -> StepLaw:
    """The law of a step under some bounds: from the start of each resample, on the population that the public rows are.

    With M and g the population's moments and score as shortened records give them, A those of whole records and phi* their
    optimum, phi = M^-1 g misses phi* by a bias, and noise e on g and E on M moves it by M^-1 (e - E phi). E has the
    covariance s^2/2 (|phi|^2 I + phi phi') times phi.

    Parameters
    ----------
    bootstrap : the starts.
    bounds : Coordinates with radius and scores.
    """
    (x, y), sample = bootstrap.sample.population(), bootstrap.sample
    found = []
    for start in bootstrap.under(bounds):
        (ridge, pull), (short, target) = start.penalty(sample.regularisation), start.records(x, y)
        whole = x @ start.transform
        curvature = whole.T @ whole / len(y) + ridge / 2
        inverse = np.linalg.pinv(short.T @ short / len(y) + ridge / 2, hermitian=True)
        phi = inverse @ (target @ short / len(y) + pull / 2)
        missed = phi - np.linalg.solve(start.transform, sample.truth - start.centre)
        weight = inverse @ curvature @ inverse
        trace = np.trace(weight)
        found.append((missed @ curvature @ missed, trace, (phi @ phi * trace + phi @ weight @ phi) / 2))
    return StepLaw(*(np.mean(found, axis=0) / bootstrap.optimum).tolist())


def one_step_protocol(
    bootstrap: BootstrapSamples, whole: Coordinates, ball: float, clip: float | None, noise: Array, did: Did
) -> Coordinates:
    """The bounds, and the share of the noise, with the smallest forecast by `step_law`.

    Parameters
    ----------
    bootstrap : resamples of the public rows.
    whole : the coordinates, without bounds.
    ball : radius that the step is kept in.
    clip : the bound on a record's gradient, twice its score, where the scenario states it.
    noise : array (shares,), for each of `shares`: the variance of the owners' noise on a mean gradient, for a bound on
        gradients of 1.
    did : called with 1 for each bound that was tried.

    Raises
    ------
    InputError
        If the gradients are to be left whole.
    """
    if clip is not None and np.isinf(clip):
        rule = "must bound a record's gradient, twice its score, with one release of moments and scores"
        raise InputError("learning.clip", rule, "none", 'Leave it at "optimal".')
    width = len(whole.centre)
    (x, y), some = (
        bootstrap.sample.population(),
        bootstrap.first(affordable(DESIGN_RESAMPLES, LEAST_RESAMPLES, width, 2)),
    )
    size = float(np.sqrt(np.mean(whole.lengths(x @ whole.transform) ** 2)))
    residual = float(np.sqrt(np.mean((y - x @ bootstrap.sample.truth) ** 2)))
    radii = [size * float(one) for one in thinned(RADII, LEAST_BOUNDS, width)]
    steps = thinned(SCORES, LEAST_BOUNDS, width)
    scores = [size * residual * float(one) for one in steps] if clip is None else [clip / 2]
    share, best, chosen = shares(width), np.inf, whole
    for radius, bound, alike in product(radii, scores, (True, False)):
        tried = Coordinates(**vars(whole) | {"radius": radius, "theta_max": ball, "scores": Scores(bound, 1.0, alike)})
        deviation = whole.rows_per_person * bound * np.sqrt(noise)  # of mean ux: half that of a mean gradient
        heights = step_law(some, tried).at(deviation, radius**2 / (2 * bound * share) * deviation)
        if heights.min() < best:
            best = float(heights.min())
            made = Scores(bound, float(share[np.argmin(heights)]), alike)
            chosen = Coordinates(**vars(tried) | {"scores": made})
        did(1)
    return chosen


def shares(width: int) -> Array:
    """The shares tried of a model of so many parameters."""
    return np.asarray(thinned(SHARES, LEAST_SHARES, width))
