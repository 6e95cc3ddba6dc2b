"""Doubts that public rows leave: of what kinds owners' records are, and how far apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.random import Generator

from learning.arrays import Array
from learning.forecast.bootstrap import BootstrapSamples, chance_distance, draw_bootstrap
from learning.forecast.fitness import FitnessForecast
from learning.forecast.homogeneity import (
    SPREADS,
    BetweenOwners,
    analyse_variance,
    draw_unknown_kind,
    kind_distance,
    record_gradients,
)
from learning.forecast.inputs import PlanningInputs
from learning.forecast.public_sample import PublicSample, dispersion
from learning.losses.coordinates import Coordinates
from learning.privacy.mechanism import Mechanism
from learning.randomness import Streams

DOUBTS = 200  # draws of how far the owners' records are from the public rows


def bootstrap_of(
    inputs: PlanningInputs, mechanism: Mechanism, count: int, distances: Array | None = None
) -> BootstrapSamples:
    """Draw bootstrap samples of the learner's own rows, smoothed as a population.

    They are of the owners' kind, or at some distances from it (count,), as `draw_bootstrap` has it.
    """
    return draw_bootstrap(
        inputs.public.smoothed,
        start=inputs.settings.start,
        precondition=inputs.settings.precondition,
        total_size=int(inputs.owners.sizes.sum()),
        resamples=count,
        rng=Streams(inputs.seed, "data").rng("worlds"),
        norm=mechanism.norm,
        distances=distances,
    )


def draw_doubts(inputs: PlanningInputs, between: BetweenOwners | None, worlds: int) -> list[Array]:
    """Draw the cost of public rows of another kind than the owners', over C/f*, (2, worlds) each.

    Each has a row for the trained model and one for the learner's own. The first is of kinds that
    nothing excludes, and does not depend on reports that differ; the second is of kinds that
    reports show. Either may be missing.
    """
    sample = inputs.sample
    reports = inputs.reports
    streams = Streams(inputs.seed, "data")
    found = reports is not None and reports.nameless and reports.differ
    drawn = []
    if sample is not None and not sample.drawn:
        rng = streams.rng("unknown kind")
        sizes = inputs.owners.sizes
        if between is not None and between.by_names:
            away = between.rows / between.rows.sum() - sizes / sizes.sum()
            shifts = [between.draw_shifts(away, worlds, rng=rng) for _ in range(2)]
            drawn.append(np.stack(shifts))
        elif inputs.spread is not None and sample.loss.quadratic:
            drawn.append(draw_stated_kind(inputs.spread, sample, sizes, worlds, rng=rng))
        else:
            odds = np.ones(len(SPREADS)) if reports is None or found else reports.kind_odds
            drawn.append(draw_unknown_kind(sizes, inputs.n_parameters, worlds, odds=odds, rng=rng))
    if reports is not None and found:
        rng = streams.rng("another kind")
        drawn.append(reports.draw_distances(inputs.n_parameters, worlds, rng=rng))
    return drawn


def draw_stated_kind(
    spread: float, sample: PublicSample, sizes: Array, worlds: int, *, rng: Generator
) -> Array:
    """Draw the distance of rows of one more kind from all records, (2, worlds), at a stated spread.

    Kinds differ by T: their own optima lie b from the common one, and E b'Mb = spread f*. As
    `draw_unknown_kind` has it, with one spread in place of a prior over many.

    Parameters
    ----------
    spread : in relative fitness.
    sample : the learner's own rows.
    sizes : array (n_owners,), records of each owner.
    worlds : number of draws.
    rng : of the draws.
    """
    x, y = sample.population()
    lost = dispersion(x, y, sample.truth) / float(sample.fitness.value(sample.truth))
    away = kind_distance(np.full((2, worlds), spread / lost), sizes)
    return np.asarray(away * rng.chisquare(x.shape[1], (2, worlds)) / x.shape[1])


def bootstrap_in_doubt(
    inputs: PlanningInputs, mechanism: Mechanism, count: int
) -> BootstrapSamples | None:
    """Draw bootstrap samples of the kinds that nothing excludes (`draw_bootstrap`).

    None where records are known to be of one kind, or no further from it than by chance, or
    training starts at zero, which is as far from records of any kind.
    """
    if inputs.settings.start == "zero":
        return None
    between = compare_owners(inputs, inputs.public_coordinates(mechanism))
    doubts = draw_doubts(inputs, between, DOUBTS)
    if not doubts:
        return None
    own = [kinds[1] for kinds in doubts]
    if len(own) > 1:  # where losses show the distance, it is not drawn from what was known before
        own[0][::2] = 0.0
    levels = (np.arange(count) + 0.5) / count
    distances = np.quantile(sum(own), levels)
    if distances[-1] <= chance_distance(inputs.public.n_records, inputs.owners.sizes.sum()):
        return None
    rng = Streams(inputs.seed, "data").rng("kinds of starts")
    return bootstrap_of(inputs, mechanism, count, rng.permutation(distances))


def compare_owners(inputs: PlanningInputs, coordinates: Coordinates) -> BetweenOwners | None:
    """Differences between owners by public rows with names, or by loss reports if there are any.

    Reports are used where no row has a name, or names show no difference.
    """
    sample = inputs.sample
    reports = inputs.reports
    between = None
    if sample is not None and sample.owner is not None:
        gradients = record_gradients(coordinates, *sample.population())
        rng = Streams(inputs.seed, "data").rng("kinds")
        between = analyse_variance(gradients, sample.owner, inputs.owners.names, rng=rng)
    if reports is not None and (between is None or not between.differ):
        between = reports.between_owners(len(coordinates.centre))
    return between


def add_kinds(
    forecast: FitnessForecast, inputs: PlanningInputs, coordinates: Coordinates
) -> tuple[FitnessForecast, BetweenOwners | None]:
    """Forecast with the settings' weights, and owners' differences."""
    between = compare_owners(inputs, coordinates)
    made = replace(forecast, weighting=inputs.base_weighting).with_weights(
        inputs.settings.weights, inputs.owners.reference, between.ratio if between else 0.0
    )
    return made, between
