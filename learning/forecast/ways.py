"""Ways to train: what is open to the learner, and a quick forecast of each."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from learning.errors import InputError
from learning.forecast.calibrated_planner import calibrated_planner
from learning.forecast.doubts import bootstrap_in_doubt, bootstrap_of
from learning.forecast.exact_planner import exact_planner
from learning.forecast.inputs import PlanningInputs, Settings
from learning.forecast.one_step import (
    TYPICAL,
    geometric_mean,
    price_first_moments,
    price_moments,
)
from learning.forecast.planner import Choice, Planner
from learning.forecast.protocol import MOMENTS_SHARES, design_protocol
from learning.forecast.rehearsal import Rehearsal
from learning.forecast.tail import stretch_residuals
from learning.privacy.mechanism import Mechanism, NoiseSettings
from learning.privacy.mechanisms import candidate_mechanisms
from learning.privacy.wrapped import Remaining
from learning.training.plan import Plan

RESAMPLES = 24  # starts of a quick forecast
REPEATS = 4  # draws from each


@dataclass(frozen=True)
class Way:
    """Way to train, all decided but the plan.

    Parameters
    ----------
    inputs : of the forecast, with decided settings.
    mechanism : mechanism of the answers.
    """

    inputs: PlanningInputs = field(repr=False)
    mechanism: Mechanism

    @property
    def settings_and_norm(self) -> tuple[Settings, int]:
        """Settings and norm of records: ways that share both differ in their noise alone."""
        return self.inputs.settings, int(self.mechanism.norm)

    def make_planner(self, like: Planner | None = None) -> Planner:
        """Make its planner, with the mechanism named in the settings."""
        name = self.mechanism.name
        accounting = self.mechanism.accounting
        settings = replace(self.inputs.settings, mechanism=name, accounting=accounting)
        return planner_under(replace(self.inputs, settings=settings), self.mechanism, like)

    def noise_level(self, horizon: int, growth: float) -> float:
        """Noise on the last of ``horizon`` answers at the reference budgets, at a bound of 1."""
        mechanism = self.mechanism
        widened = 1.0
        if self.inputs.settings.trains_by.scores:
            mechanism = mechanism.with_moments(TYPICAL, self.inputs.owners.rows_per_person)
            widened = mechanism.beside_moments(TYPICAL) ** 2
        if self.inputs.settings.trains_by.moments:
            rows = self.inputs.owners.rows_per_person
            mechanism = price_first_moments(mechanism, MOMENTS_SHARES[0], rows)
        even = widened * float(mechanism.horizon_factor(horizon)) * self._noise_of(mechanism)
        return even * float(mechanism.relative_scales(growth, horizon)[-1]) ** 2

    def _noise_of(self, mechanism: Mechanism) -> float:
        """Aggregated noise at the reference budgets, over the factor of the rounds."""
        owners = self.inputs.owners
        return owners.noise_at(owners.reference, mechanism, self.inputs.base_weighting)

    def forecast_at(self, horizon: int, growth: float) -> QuickForecast:
        """Quick forecast for a number of rounds and a growth of shares: the best of some steps."""
        rehearsal = self.own_rehearsal
        settings = self.inputs.settings
        level = np.array([self._noise_of(rehearsal.mechanism)])
        steps = rehearsal.open_step_sizes(settings.step_size, horizon)
        points = rehearsal.trains_by.trial_points(settings.returned, horizon)
        found = rehearsal.rehearse(
            horizon, steps, level, repeats=REPEATS, returned=points, growth=growth
        ).mean(axis=(3, 4))
        lowest = float(found.min())
        point, step, _ = np.unravel_index(int(found.argmin()), found.shape)
        plan = rehearsal.make_plan(points[point], horizon, float(steps[step]), growth)
        return QuickForecast(lowest, horizon, growth, self, plan)

    def forecast_in_doubt(self, plan: Plan) -> float | None:
        """Geometric mean of relative fitness under a plan over the kinds that records may be of.

        So ways are compared by factors: a gain of a third does not make up for an error that may be
        ten times as large, and kinds under which all ways fail do not decide. The plan is the best
        one if all records are of one kind, since nothing shows that they are not before owners
        answer. None where there is no doubt (`bootstrap_in_doubt`).
        """
        rehearsal = self.own_rehearsal
        moved = bootstrap_in_doubt(self.inputs, self.mechanism, RESAMPLES)
        if moved is None:
            return None
        starts = moved.start_coordinates(rehearsal.starts[0])
        level = np.array([self._noise_of(rehearsal.mechanism)])
        found = replace(rehearsal, starts=starts).rehearse_plan(plan, level, REPEATS)
        return float(geometric_mean(found[0].mean(axis=1), axis=0))

    @cached_property
    def own_rehearsal(self) -> Rehearsal:
        """Rehearsal of this way."""
        inputs = price_rounds(self.inputs, self.mechanism)
        settings = self.inputs.settings
        bootstrap = bootstrap_of(inputs, self.mechanism, RESAMPLES)
        coordinates = design_protocol(inputs, self.mechanism, bootstrap)
        return Rehearsal.from_sample(
            stretch_residuals(bootstrap.sample, coordinates),
            bootstrap.start_coordinates(coordinates),
            inputs.owners.sizes.astype(float),
            price_moments(self.mechanism, coordinates),
            settings.algorithm,
            seed=inputs.seed,
            aggregation=settings.aggregation,
            decline=settings.step_decline,
            steepest=bootstrap.steepest_curvature(coordinates),
        )


class QuickForecast(NamedTuple):
    """Forecast of a way to train at the reference budgets, quick or full.

    ``horizon`` is the best number of rounds, ``growth`` that of the shares of a budget, ``plan``
    the best plan of a quick forecast. ``in_doubt`` is the geometric mean of its relative fitness
    over the kinds that records may be of; None where all are known to be of one kind.
    """

    relative_fitness: float
    horizon: int
    growth: float
    way: Way
    plan: Plan | None = None
    in_doubt: float | None = None

    @property
    def expected(self) -> float:
        """Relative fitness by which ways are compared."""
        return self.relative_fitness if self.in_doubt is None else self.in_doubt

    @property
    def counted(self) -> float:
        """The same with what its rounds cost: zero where nothing is asked."""
        assert self.plan is not None
        return self.expected + self.way.inputs.round_cost * self.plan.exchanges

    def count_doubt(self) -> QuickForecast:
        """The same, on average over the kinds that records may be of."""
        assert self.plan is not None
        return self._replace(in_doubt=self.way.forecast_in_doubt(self.plan))

    @property
    def choice(self) -> Choice:
        """Facts of the way to train, for reports."""
        settings = self.way.inputs.settings
        mechanism = self.way.mechanism
        return Choice(
            settings.algorithm,
            settings.clipping,
            mechanism.name,
            mechanism.accounting,
            self.growth,
            settings.step_power,
            self.horizon,
            self.relative_fitness,
            self.in_doubt,
        )


def planner_under(
    inputs: PlanningInputs, mechanism: Mechanism, like: Planner | None = None
) -> Planner:
    """Make the planner under one mechanism, with the rounds that its noise is priced for.

    By the exact law where there is one, the ball does not bind and answers are summed up; else by
    rehearsal, which counts the effects of projections, aggregation and clipped gradients.

    Parameters
    ----------
    inputs : of the forecast.
    mechanism : mechanism of the answers.
    like : a planner with the same rows, records and seed; its bootstrap samples are used where both
        go by the exact law.
    """
    inputs = price_rounds(inputs, mechanism)
    settings = inputs.settings
    if not (settings.keeps_sums and settings.trains_by.exact):
        return calibrated_planner(inputs, mechanism)
    drawn = None
    if like is not None and like.forecast.kind == "exact":
        drawn = like.bootstrap
    planner = exact_planner(inputs, mechanism, drawn)
    if not settings.aggregation.sums or planner.ball_binds():
        return calibrated_planner(inputs, mechanism, planner.forecast.plan_set)
    return planner


def price_rounds(inputs: PlanningInputs, mechanism: Mechanism) -> PlanningInputs:
    """Inputs with the rounds that the noise is priced for, and the growth of its shares."""
    settings = inputs.settings
    horizon = mechanism.horizon
    if horizon is None:
        return inputs
    growth = mechanism.growth
    if growth is None:
        growth = settings.growth
    elif growth != 1:
        horizon += settings.trains_by.stops_short
    return replace(inputs, settings=replace(settings, horizon=horizon, growth=growth))


def list_open_ways(inputs: PlanningInputs) -> list[Way]:
    """List every way to train that is open to the learner, without those that are inconsistent.

    Raises
    ------
    InputError
        The first refusal, where none is consistent.
    """
    found: list[Way] = []
    refused: list[InputError] = []
    for settings in inputs.among or (inputs.settings,):
        if settings.exact and inputs.among and not settings.is_exchanged:
            continue
        decided = replace(inputs, settings=settings, among=())
        try:
            found += [Way(decided, mechanism) for mechanism in open_mechanisms(decided)]
        except InputError as error:
            refused.append(error)
    if not found:
        raise refused[0]
    return found


def open_mechanisms(inputs: PlanningInputs) -> list[Mechanism]:
    """List the mechanisms left open: one where it is named, several under "best" or by horizon.

    Each is under the budget that remains after loss reports.
    """
    settings = inputs.settings
    algorithm = settings.trains_by
    announced = NoiseSettings(
        sizes=tuple(int(size) for size in inputs.owners.sizes),
        delta=settings.delta,
        accounting=settings.accounting,
        overlap=settings.overlap,
        formula=algorithm.published_formula,
        weights=settings.weights,
        single_record=algorithm.one_by_one,
        horizon=settings.horizon,
        horizons=algorithm.trial_horizons,
        width=algorithm.answer_width(inputs.n_parameters),
        growth=settings.growth,
        unasked=int(algorithm.stops_short),
        moments=algorithm.scores or algorithm.moments,
        exact=settings.exact,
    )
    found = candidate_mechanisms(settings.mechanism, announced)
    found = [one for one in found if algorithm.noise_norm in (None, one.norm)]
    if algorithm.moments:
        found = [one for one in found if one.apart]
    if inputs.trust.secure:  # under "best", those that owners can make together
        able = [one.made_by(len(inputs.owners)) for one in found if one.divides]
        found = [inputs.trust.check_divisible(one, len(inputs.owners)) for one in able or found]
    if inputs.reports is None:
        return found
    return [Remaining(one, inputs.reports.query.epsilon) for one in found]
