"""The outlook where no law is known: the learner rehearses the training on its own rows before it buys."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from learning.errors import InputError
from learning.forecast.calibrated import lower_envelope
from learning.forecast.fitness import FitnessForecast
from learning.forecast.interval import outside_interval
from learning.forecast.public_sample import BootstrapSamples
from learning.forecast.rehearsal import MEASURED, Rehearsal, calibrate, noise_levels, rehearse
from learning.forecast.weighting import Weighting
from learning.losses.coordinates import Coordinates
from learning.losses.fitness import TrainingCost, best_model
from learning.privacy.mechanism import Mechanism
from learning.randomness import Streams
from learning.training.engine import train
from scenarios.designed import bounded, designed, noise_at
from scenarios.outlook import (
    budget_intervals,
    clients_at,
    clocks_of,
    groups_of,
    public_worlds,
    settings_of,
    stated_coordinates,
    weighed,
)
from scenarios.schema.loading import Scenario
from scenarios.tables.dataset import MarketData
from scenarios.verdict import Law, fitted_at_one

WORLDS = 24
MEASURED_IN_ONE_WORLD = 60  # draws on the oracle basis, where no worlds are averaged over
REPEATS = 6  # draws per world, of the interval
FACTORS = (0.0, 0.4, 0.8, 1.25, 2.5)  # of the noise power, at which the pooled records are trained for the oracle
PARTS, PART = 12, 2000  # parts of the pooled records, and records of each, that tell C where there are no public rows
ORACLE_RUNS = 40  # at each of them


@dataclass(frozen=True)
class CalibratedPlanner:
    """An outlook by rehearsal: curves fitted to the training itself, on records one may look at."""

    coordinates: Coordinates
    mechanism: Mechanism
    forecast: FitnessForecast
    rehearsal: Rehearsal = field(repr=False)
    own_model: np.ndarray = field(repr=False)
    bootstrap: BootstrapSamples | None = field(repr=False)

    @property
    def optimum(self) -> float:
        return float(self.rehearsal.cost.optimum)

    def interval(self, epsilon: np.ndarray) -> tuple[float, float]:
        plan, point = self.forecast.plan(epsilon), self.forecast.at(epsilon)
        if self.bootstrap is None:
            return point, point
        if not plan.asks:
            return self.outside_interval()
        level, step = np.array([self.forecast.noise_at(epsilon)]), np.array([plan.step_size])
        found = rehearse(self.rehearsal, plan.horizon, step, level, repeats=REPEATS, returned=(plan.returned,))
        each = found[0, 0, 0].mean(axis=1) * self.bootstrap.optimum / self.bootstrap.estimated
        low, high = np.quantile(each / each.mean(), [0.025, 0.975])
        return float(low * point), float(high * point)

    def outside_interval(self) -> tuple[float, float]:
        if self.bootstrap is None:
            return self.forecast.outside, self.forecast.outside
        return outside_interval(self.bootstrap, self.forecast.outside)

    def reach(self, epsilon: np.ndarray) -> float | None:
        return None

    def oracle(self, scenario: Scenario, data: MarketData, epsilon: np.ndarray) -> Law:
        """The published form, fitted to trainings on the pooled records at other levels of noise, read off at this one."""
        plan, optimum = self.forecast.plan(epsilon), data.fitness.optimum
        if not plan.asks or not np.any(epsilon > 0):
            return Law(float(data.fitness.relative(self.own_model)), 0.0, optimum)
        louder = np.repeat(np.sqrt(FACTORS), ORACLE_RUNS)
        owners, weights, plan = clients_at(scenario, data, self, epsilon, louder)
        trained = train(
            owners,
            self.coordinates,
            plan,
            self.mechanism,
            runs=len(louder),
            streams=Streams(scenario.seed, "oracle"),
            regularisation=scenario.learning.regularisation,
            weights=weights,
        )
        measured = data.fitness.relative(trained.theta).reshape(len(FACTORS), ORACLE_RUNS)
        bias, noise, error = fitted_at_one(np.array(FACTORS), measured)
        return Law(bias, noise, optimum, error)


@dataclass(frozen=True)
class Known:
    """What a rehearsal may look at: a population, where training starts in each world, and what the learner has already."""

    x: np.ndarray = field(repr=False)
    y: np.ndarray = field(repr=False)
    cost: TrainingCost = field(repr=False)
    coordinates: Coordinates
    starts: tuple[Coordinates, ...] = field(repr=False)
    own_model: np.ndarray = field(repr=False)
    bootstrap: BootstrapSamples | None = field(repr=False)

    @property
    def basis(self) -> str:
        return "oracle" if self.bootstrap is None else "public"

    @property
    def outside(self) -> float:
        """Relative fitness of what the learner has already."""
        if self.bootstrap is None:
            return float(self.cost.relative(self.own_model))
        return float(self.bootstrap.outside.mean()) / self.bootstrap.optimum


def calibrated_planner(scenario: Scenario, data: MarketData, mechanism: Mechanism) -> CalibratedPlanner:
    """Protocol and forecast by rehearsal, on the public rows where there are any, else on the pooled records."""
    known = (_pooled if data.public is None else _public)(scenario, data, mechanism)
    everybody = np.ones(len(data.owners), dtype=bool)
    groups = groups_of(scenario, data.names, everybody)
    sizes = np.array([data.sizes[group].sum() for group in groups], dtype=float)
    learning = scenario.learning
    rehearsal = Rehearsal(
        known.x,
        known.y,
        known.cost,
        known.starts,
        sizes,
        np.full(len(sizes), 1 / len(sizes)) if learning.weights == "equal" else sizes / sizes.sum(),
        mechanism,
        learning.algorithm,
        clocks_of(scenario, data.names, everybody),
        learning.hidden or 1,
        scenario.seed,
    )
    made = _curved(scenario, data, known, rehearsal)
    return CalibratedPlanner(
        known.coordinates, mechanism, weighed(made, scenario, data), rehearsal, known.own_model, known.bootstrap
    )


def _public(scenario: Scenario, data: MarketData, mechanism: Mechanism) -> Known:
    """The learner's own rows, and what they might have been."""
    sample = data.public
    assert sample is not None
    bootstrap = public_worlds(scenario, data, mechanism, WORLDS)
    coordinates = designed(scenario, data, mechanism, bootstrap)
    x, y = sample.population()
    return Known(x, y, sample.fitness, coordinates, bounded(bootstrap, coordinates), sample.model, bootstrap)


def _pooled(scenario: Scenario, data: MarketData, mechanism: Mechanism) -> Known:
    """The pooled records: the simulator's privilege, assumed known where there is no public row."""
    if scenario.learning.loss == "network":
        raise InputError(
            "data.public_rows",
            "must be above 0 with loss 'network': zero is no start for a network",
            0,
            "Set data.public_rows, or another loss.",
        )
    coordinates = stated_coordinates(scenario, data, mechanism)
    x, y = (np.concatenate([getattr(owner, name) for owner in data.owners]) for name in ("x", "y"))
    return Known(x, y, data.fitness, coordinates, (coordinates,), coordinates.centre, None)


def _curved(scenario: Scenario, data: MarketData, known: Known, rehearsal: Rehearsal) -> FitnessForecast:
    """The forecast on curves calibrated over all the noise that budgets may cause."""
    settings, outside = settings_of(scenario), known.outside
    weighting = Weighting("picks" if rehearsal.trains_by.one_by_one else "size")
    intervals = budget_intervals(scenario, data)
    low, high = (noise_at(data, rehearsal.mechanism, weighting, intervals[:, i]) for i in (1, 0))
    fixed = settings.horizon is not None and settings.step_size is not None and len(settings.returned) == 1
    curves = calibrate(
        rehearsal,
        noise_levels(low, high),
        ceiling=outside,
        horizon=settings.horizon,
        step_size=settings.step_size,
        returned=settings.returned,
        measured=MEASURED if known.bootstrap is not None else MEASURED_IN_ONE_WORLD,
    )
    return FitnessForecast(
        data.sizes.astype(float),
        rehearsal.mechanism,
        curves,
        lower_envelope(curves.curves, np.inf if fixed else outside),
        outside,
        _dispersion(scenario, data, known.bootstrap),
        known.basis,
        "calibrated",
        weighting=weighting,
    )


def _dispersion(scenario: Scenario, data: MarketData, bootstrap: BootstrapSamples | None) -> float:
    """C/f*: from the worlds, or on the oracle basis from models of parts of the pooled records."""
    if bootstrap is not None:
        return bootstrap.dispersion / bootstrap.optimum
    x, y = (np.concatenate([getattr(owner, name) for owner in data.owners]) for name in ("x", "y"))
    rng, rows = Streams(scenario.seed, "data").rng("parts"), min(len(y) // 2, PART)
    excess = []
    for _ in range(PARTS):
        some = rng.permutation(len(y))[:rows]
        model, _ = best_model(scenario.learning.loss, x[some], y[some], scenario.learning.regularisation)
        excess.append(float(data.fitness.relative(model)))
    return float(np.mean(excess)) / (1 / rows - 1 / len(y))
