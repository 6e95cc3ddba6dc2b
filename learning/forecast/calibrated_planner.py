"""Calibrated planner, where no law is known: the learner rehearses the training before it buys."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from learning.arrays import Array
from learning.forecast.bootstrap import BootstrapSamples
from learning.forecast.calibration import (
    MEASURED,
    STARTS_SCREENED,
    Curves,
    calibrate,
    fit_at_one,
    lower_envelope,
    noise_levels,
)
from learning.forecast.decision_study import DecisionStudy
from learning.forecast.decisions import Decisions, compare_own_kinds
from learning.forecast.doubts import add_kinds, bootstrap_in_doubt, bootstrap_of
from learning.forecast.fitness import FitnessForecast, agree_rounds
from learning.forecast.inputs import PlanningInputs
from learning.forecast.kept import load_or_compute
from learning.forecast.law import Candidates, with_printed_step
from learning.forecast.measures import Measure
from learning.forecast.one_step import geometric_mean, price_moments
from learning.forecast.planner import Decomposition, Planner
from learning.forecast.possible import even_out_runs, possible_rehearsals, reflect_optimum
from learning.forecast.possible_releases import PossibleReleases
from learning.forecast.prediction import predict_permuted
from learning.forecast.protocol import design_protocol
from learning.forecast.public_sample import affordable_count
from learning.forecast.rehearsal import Rehearsal
from learning.forecast.tail import stretch_residuals
from learning.losses.coordinates import Coordinates
from learning.losses.loss import TrainingCost
from learning.privacy.mechanism import Mechanism
from learning.privacy.wrapped import at_given_bound
from learning.progress import ReportWork, count_progress, ignore_work
from learning.randomness import Streams
from learning.training.engine import Trained, train
from learning.training.plan import Plan
from learning.training.task import Task

RESAMPLES = 24
COMPARED = 1200  # trainings with owners' own noise, and as many with equal noise, over all starts
EQUAL = 1e-3  # relative difference of noise terms up to which they are equal
MEASURED_ONCE = 120  # draws on the oracle basis, which has one start
MEASURED_CHEAPLY = 300  # the same where sums suffice, and a round costs next to nothing
PERMUTATIONS = 16  # draws of the records that each owner has
RUNS = 240  # trainings over all permutations, on the oracle basis
TRUTHS = 60  # possible populations of the interval
REPEATS = 24  # draws in each of them
FACTORS = (0.0, 0.4, 0.8, 1.25, 2.5)  # of the noise power, at which the oracle is trained
ORACLE_RUNS = 40  # at each of them
PARTS = 36  # parts of the pooled records, from which C is estimated
PART = 1000  # records of each


@dataclass(frozen=True)
class CalibratedPlanner(Planner):
    """Planner whose forecast is fitted to rehearsals, on records that one may look at.

    Parameters
    ----------
    rehearsal : of the training where all owners share.
    """

    rehearsal: Rehearsal = field(repr=False)

    def at(self, epsilon: Array) -> float:
        """Relative fitness forecast, corrected for unequal noise where the aggregate is no sum."""
        return self.forecast.at(epsilon) * self._inequality_at(epsilon)

    def noise_part(self, epsilon: Array) -> float:
        return self.forecast.noise_part(epsilon) * self._inequality_at(epsilon)

    def _inequality_at(self, epsilon: Array) -> float:
        """Relative fitness with the noise and weight of each owner, over that of the rehearsal."""
        if self.rehearsal.aggregation.sums or not self.asks(epsilon):
            return 1.0
        epsilon = np.asarray(epsilon, dtype=float)
        key = epsilon.tobytes()
        if key not in self._inequalities:
            self._inequalities[key] = self._compare_noise(epsilon)
        return self._inequalities[key]

    @cached_property
    def _inequalities(self) -> dict[bytes, float]:
        return {}

    def _compare_noise(self, epsilon: Array) -> float:
        rehearsal = self.rehearsal
        sharing = epsilon > 0
        terms = self.mechanism.noise_term(epsilon[sharing])
        weights = self.forecast.weights(epsilon)
        equal = np.ptp(terms) <= EQUAL * terms.max()
        if sharing.all() and equal and np.allclose(weights, rehearsal.weights):
            return 1.0
        sizes = rehearsal.sizes[sharing]
        own = replace(rehearsal, sizes=sizes, weights=weights[sharing], noises=terms)
        plan = self.forecast.plan(epsilon)
        level = np.array([self.forecast.noise_at(epsilon)])
        starts = rehearsal.starts * -(-PERMUTATIONS // len(rehearsal.starts))
        repeats = -(-COMPARED // len(starts))
        unequal, even = (
            replace(one, starts=starts).rehearse_plan(plan, level, repeats).mean()
            for one in (own, rehearsal)
        )
        return float(unequal / even)

    @cached_property
    def worlds(self) -> BootstrapSamples | None:
        """More bootstrap samples than the forecast has starts: the tails of few are unsure."""
        if self.bootstrap is None:
            return None
        count = affordable_count(TRUTHS, len(self.bootstrap), self.inputs.n_parameters)
        return bootstrap_of(self.inputs, self.mechanism, count)

    def predict_trained(self, epsilon: Array) -> Array:
        plan = self.forecast.plan(epsilon)
        assert self.worlds is not None
        factor = reflect_optimum(self.worlds)
        levels = self.forecast.noise_at(epsilon) * factor
        spent = np.asarray(epsilon, dtype=float)
        key = self.inputs.key_of([(self.inputs.settings, self.mechanism)])
        outcome = load_or_compute(
            lambda: {"outcome": even_out_runs(self._train_possible(plan, levels))},
            *("possible", self.rehearsal.cache_key, repr(plan), spent, levels, key),
        )["outcome"]
        sound = np.isfinite(outcome)
        outcome = np.where(sound, outcome, outcome.max(initial=self.forecast.outside, where=sound))
        return factor * outcome * self._inequality_at(epsilon)

    def _train_possible(self, plan: Plan, levels: Array) -> Array:
        """Relative fitness (m, REPEATS) in each possible population under its noise (m,)."""
        worlds = self.possible_rehearsals
        if plan not in self._releases:
            self._releases[plan] = PossibleReleases.under(worlds, plan, REPEATS)
        releases = self._releases[plan]
        if releases is not None:
            return releases.fitness(levels)
        work = plan.horizon * REPEATS * len(worlds)
        did = count_progress(self.inputs.progress, "forecasting: how sure it is", work)
        measured = [
            replace(world, did=did).rehearse_plan(plan, level[None], REPEATS).ravel()
            for world, level in zip(worlds, levels, strict=True)
        ]
        return np.array(measured)

    @cached_property
    def _releases(self) -> dict[Plan, PossibleReleases | None]:
        return {}

    @cached_property
    def possible_rehearsals(self) -> list[Rehearsal]:
        """Rehearsal in each possible population, from the start in use."""
        assert self.worlds is not None
        return possible_rehearsals(self.rehearsal, self.worlds, self.coordinates)

    def predict_known(self, epsilon: Array, point: float) -> Array:
        matters = self.forecast.partial_cost_at(epsilon) > 0 or not self.rehearsal.sums_suffice
        count = PERMUTATIONS if matters else 1
        did = count_progress(self.inputs.progress, "forecasting: how sure it is", count)
        fitness = self.inputs.pooled.fitness
        found = []
        for world in range(count):
            rng = Streams(self.inputs.seed, "deals").rng(world)
            permuted = replace(self, inputs=self.inputs.permute_records(rng))
            trained = permuted.trained(epsilon, RUNS // count, f"deal {world}", did=did)
            found.append(fitness.relative(trained.theta))
        return predict_permuted(np.array(found), point)

    def projected(self, epsilon: Array) -> float:
        if not self.asks(epsilon):
            return 0.0
        plan = self.forecast.plan(epsilon)
        few = replace(self.rehearsal, starts=self.rehearsal.starts[:STARTS_SCREENED])
        level = np.array([self.forecast.noise_at(epsilon)])
        runs = few.trainings(plan.horizon, np.array([plan.step_size]), level, REPEATS, plan.growth)
        return float(np.mean([trained.projected for _, trained in runs]))

    def decision_cost(self, decisions: Decisions) -> Measure:
        curves = self.forecast.plan_set
        assert isinstance(curves, Curves)
        own_models = self.own_model[None]
        rows = [np.arange(len(self.rehearsal.y))]
        if self.bootstrap is not None:
            own_models = self.bootstrap.models
            rows = list(self.bootstrap.rows)
        cost = DecisionStudy(self.rehearsal, curves, own_models, rows, decisions).measure()
        other = self.bootstrap and self.bootstrap.sample.other_kind
        if not other:
            return cost
        own_kind = compare_own_kinds(other, self.inputs.public.y, decisions, rows)
        return replace(cost, own_kind=own_kind)

    def trained(
        self,
        epsilon: Array,
        runs: int,
        purpose: str,
        noise_scale: Array | None = None,
        *,
        did: ReportWork = ignore_work,
    ) -> Trained:
        """Train on the pooled records at given budgets (n_owners,), with draws of a purpose."""
        clients, weights, plan = self.clients(epsilon, noise_scale)
        streams = Streams(self.inputs.seed, purpose)
        penalty = self.inputs.settings.regularisation
        law = self.mechanism_at(epsilon).training_mechanism
        task = Task(clients, self.coordinates, plan, law, runs, streams, penalty, weights, did=did)
        return train(replace(task, aggregation=self.inputs.settings.aggregation))

    def oracle(self, epsilon: Array) -> Decomposition:
        """Published form, fitted to trainings on the pooled records at other levels of noise."""
        fitness = self.inputs.pooled.fitness
        if not self.forecast.plan(epsilon).asks or not np.any(epsilon > 0):
            return self.outside_decomposition()
        scale = np.repeat(np.sqrt(FACTORS), ORACLE_RUNS)
        did = count_progress(self.inputs.progress, "counting up: trainings to compare with", 1)
        trained = self.trained(epsilon, len(scale), "oracle", scale, did=did)
        measured = fitness.relative(trained.theta).reshape(len(FACTORS), ORACLE_RUNS)
        bias, noise, error = fit_at_one(np.array(FACTORS), measured)
        return Decomposition(bias, noise, fitness.optimum, error)


def calibrated_planner(
    inputs: PlanningInputs, mechanism: Mechanism, law: Candidates | None = None
) -> CalibratedPlanner:
    """Protocol and forecast by rehearsal, on the learner's own rows and on bootstrap samples.

    Without public rows both come from the pooled records, which only a simulator knows. Where a law
    holds nearly, the plans that are best by it at some noise are measured too: its grid is finer
    than that of rehearsals.

    Parameters
    ----------
    inputs : of the forecast.
    mechanism : mechanism of the answers.
    law : candidate plans by a law that holds nearly; None without such a law.
    """
    bootstrap = None
    if inputs.sample is None:
        coordinates = inputs.stated_coordinates(mechanism)
        records = (*inputs.known_records.records, inputs.pooled.fitness)
        starts: tuple[Coordinates, ...] = (coordinates,)
        outside = float(inputs.pooled.fitness.relative(coordinates.centre))
    else:
        bootstrap = bootstrap_of(inputs, mechanism, RESAMPLES)
        coordinates = design_protocol(inputs, mechanism, bootstrap)
        shown = stretch_residuals(bootstrap.sample, coordinates)
        records = (*shown.population(), shown.fitness)
        starts = bootstrap.start_coordinates(coordinates)
        outside = bootstrap.relative_outside
    mechanism = at_given_bound(price_moments(mechanism, coordinates), coordinates)
    rehearsal = _market_rehearsal(inputs, records, starts, mechanism)
    if bootstrap is not None:
        rehearsal = replace(rehearsal, steepest=bootstrap.steepest_curvature(coordinates))
    least, largest = rehearsal.smallest_curvature, rehearsal.curvature
    inputs = with_printed_step(inputs, coordinates, mechanism, (least, largest))
    lost = _relative_dispersion(inputs, bootstrap)
    moved = None
    if coordinates.scores is not None and inputs.sample is not None:
        moved = bootstrap_in_doubt(inputs, mechanism, RESAMPLES)
    if moved is not None:
        kinds = moved.start_coordinates(coordinates)
        rehearsal = replace(rehearsal, starts=kinds, in_doubt=True)
        outside = max(outside, float(geometric_mean(rehearsal.untrained, axis=0)))
    forecast = _calibrated_forecast(inputs, rehearsal, outside, lost, law)
    forecast = agree_rounds(forecast, inputs.round_cost, inputs.owners.reference)
    forecast, between = add_kinds(forecast, inputs, coordinates)
    optimum = float(rehearsal.cost.optimum) if bootstrap is None else bootstrap.optimum
    curvatures = least, largest if coordinates.loss.smooth else np.inf
    away = optimum * float(np.mean(replace(rehearsal, starts=starts).untrained))
    made = inputs, coordinates, mechanism, forecast, bootstrap, optimum, curvatures, away
    return CalibratedPlanner(*made, rehearsal, between=between)


def _market_rehearsal(
    inputs: PlanningInputs,
    records: tuple[Array, Array, TrainingCost],
    starts: tuple[Coordinates, ...],
    mechanism: Mechanism,
) -> Rehearsal:
    """Rehearsal where all owners share, on records (x, y) and their training cost."""
    settings = inputs.settings
    everyone = np.ones(len(inputs.owners), dtype=bool)
    groups = inputs.owners.groups_among(everyone)
    sizes = np.array([inputs.owners.sizes[group].sum() for group in groups], dtype=float)
    raw = np.ones(len(sizes)) if settings.weights == "equal" else sizes
    if inputs.owners.reach is not None:
        reached = inputs.owners.sizes * np.array(inputs.owners.reach)
        raw = np.array([reached[group].sum() for group in groups])
    return Rehearsal(
        *records,
        starts,
        sizes,
        raw / raw.sum(),
        mechanism,
        settings.algorithm,
        inputs.owners.clocks_among(everyone),
        inputs.seed,
        settings.aggregation,
        decline=settings.step_decline,
    )


def _calibrated_forecast(
    inputs: PlanningInputs,
    rehearsal: Rehearsal,
    outside: float,
    dispersion: float,
    law: Candidates | None,
) -> FitnessForecast:
    """Forecast on curves calibrated over all the noise that budgets may cause."""
    settings = inputs.settings
    owners = inputs.owners
    mechanism = rehearsal.mechanism
    weighting = inputs.base_weighting
    budgets = owners.epsilon_max, owners.epsilon_min
    levels = noise_levels(*(owners.noise_at(one, mechanism, weighting) for one in budgets))
    measured = MEASURED
    if inputs.sample is None:
        measured = MEASURED_CHEAPLY if settings.keeps_sums else MEASURED_ONCE
    ceiling = np.inf if settings.fixes_plan else outside
    best = sorted({law.best_plan(level) for level in levels}) if law else []
    also = [law.plan_at(index) for index in best] if law else []
    cost = inputs.round_cost
    curves = calibrate(rehearsal, levels, settings, ceiling, measured, also, inputs.progress, cost)
    return FitnessForecast(
        owners.sizes.astype(float),
        mechanism,
        curves,
        lower_envelope(curves.curves, ceiling),
        outside,
        dispersion,
        inputs.basis,
        "calibrated",
        weighting=weighting,
    )


def _relative_dispersion(inputs: PlanningInputs, bootstrap: BootstrapSamples | None) -> float:
    """C/f*: from bootstrap samples, or from models of parts of the pooled records."""
    if bootstrap is not None:
        return bootstrap.dispersion / bootstrap.optimum
    x, y = inputs.known_records.records
    rng = Streams(inputs.seed, "data").rng("parts")
    rows = min(len(y) // 2, PART)
    models = []
    for _ in range(PARTS):
        some = rng.permutation(len(y))[:rows]
        models.append(inputs.settings.loss.fit(x[some], y[some], inputs.settings.regularisation)[0])
    excess = [float(inputs.pooled.fitness.relative(model)) for model in models]
    return float(np.mean(excess)) / (1 / rows - 1 / len(y))
