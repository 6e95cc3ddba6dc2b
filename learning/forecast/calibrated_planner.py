"""Planning where no law is known: the learner rehearses the training on its own rows before it buys."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from learning.arrays import Array
from learning.forecast.bootstrap import BootstrapSamples
from learning.forecast.calibrated import Curves, fit_at_one, lower_envelope
from learning.forecast.calibrated_protocol import beside_moments, calibrated_protocol, noise_at
from learning.forecast.calibration import MEASURED, WORLDS_SCREENED, calibrate, noise_levels
from learning.forecast.decided import decision_cost
from learning.forecast.exact_planner import resamples
from learning.forecast.fitness import FitnessForecast
from learning.forecast.inputs import PlanningInputs
from learning.forecast.interval import by_hindsight, predict_dealt
from learning.forecast.measures import Decisions, Measure
from learning.forecast.plan_set import Candidates
from learning.forecast.planner import Decomposition, Planner, among_kinds, kinds_told
from learning.forecast.printed_step import with_printed_step
from learning.forecast.rehearsal import Rehearsal, rehearsals, rehearse
from learning.forecast.tail import shown_by
from learning.losses.coordinates import RECORD, Coordinates
from learning.privacy.given_bound import at_given_bound
from learning.privacy.mechanism import Mechanism
from learning.progress import Did, counting, unnoticed
from learning.randomness import Streams
from learning.training.engine import Trained, train
from learning.training.task import Task

RESAMPLES = 24
COMPARED = 1200  # trainings with owners' own noise, and with that of all alike, over all resamples
ALIKE = 1e-3  # of the largest noise term: others that differ by less are the same
MEASURED_ONCE = 120  # draws on the oracle basis, where no resamples are averaged over
MEASURED_CHEAPLY = 300  # the same where sums stand for the records, and a round costs next to nothing
DEALS, RUNS = 16, 240  # of the interval on the oracle basis: deals of the records among the owners, and runs in all
REPEATS = 6  # draws per resample, of the interval
REPEATED_WITHIN = 2  # draws per resample of a resample
FACTORS = (0.0, 0.4, 0.8, 1.25, 2.5)  # of the noise power, at which the pooled records are trained for the oracle
ORACLE_RUNS = 40  # at each of them
PARTS, PART = 36, 1000  # parts of the pooled records, and records of each, that tell C where there are no public rows


@dataclass(frozen=True)
class CalibratedPlanner(Planner):
    """A planner whose forecast is fitted to rehearsals of the training itself, on records one may look at.

    Parameters
    ----------
    rehearsal : how the training is rehearsed.
    """

    rehearsal: Rehearsal = field(repr=False)

    @property
    def optimum(self) -> float:
        return float(self.rehearsal.cost.optimum)

    @property
    def curvatures(self) -> tuple[float, float]:
        smallest, largest = self.rehearsal.smallest_curvature, self.rehearsal.curvature
        return smallest, largest if self.coordinates.loss.smooth else np.inf

    @property
    def start_excess(self) -> float:
        starts = np.array([start.centre for start in self.rehearsal.starts])
        return self.optimum * float(np.mean(self.rehearsal.cost.relative(starts)))

    def at(self, epsilon: Array) -> float:
        """That of the market, which takes all answers to be alike in noise; where sums do not say all, with their own."""
        return self.forecast.at(epsilon) * self._as_they_are(np.asarray(epsilon, dtype=float))

    def noise_part(self, epsilon: Array) -> float:
        return self.forecast.noise_part(epsilon) * self._as_they_are(np.asarray(epsilon, dtype=float))

    def _as_they_are(self, epsilon: Array) -> float:
        """Relative fitness rehearsed with each owner's own noise and weight, over the same where all are alike."""
        known, key = self._rehearsed_ratios, epsilon.tobytes()
        if key not in known:
            known[key] = 1.0 if self.rehearsal.aggregation.sums or not self.asks(epsilon) else self._compared(epsilon)
        return known[key]

    def _compared(self, epsilon: Array) -> float:
        stage, sharing = self.rehearsal, epsilon > 0
        terms, weights = self.mechanism.noise_term(epsilon[sharing]), self.forecast.weights(epsilon)
        if sharing.all() and np.ptp(terms) <= ALIKE * terms.max() and np.allclose(weights, stage.weights):
            return 1.0
        own = replace(stage, sizes=stage.sizes[sharing], weights=weights[sharing], noises=terms)
        plan, level = self.forecast.plan(epsilon), np.array([self.forecast.noise_at(epsilon)])
        starts = stage.starts * -(-DEALS // len(stage.starts))  # as many draws of the owners' records at least
        how: Any = {"repeats": -(-COMPARED // len(starts)), "returned": (plan.returned,), "growth": plan.growth}
        as_is, alike = (
            rehearse(replace(one, starts=starts), plan.horizon, np.array([plan.step_size]), level, **how).mean()
            for one in (own, stage)
        )
        return float(as_is / alike)

    @cached_property
    def _rehearsed_ratios(self) -> dict[bytes, float]:
        return {}

    def predict_trained(self, epsilon: Array, point: float) -> Array:
        plan = self.forecast.plan(epsilon)
        level, step = np.array([self.forecast.noise_at(epsilon)]), np.array([plan.step_size])

        learners = self.hindsight
        work = REPEATED_WITHIN * sum(len(one.starts) for one in learners) + REPEATS * len(self.rehearsal.starts)
        did = counting(self.inputs.progress, "forecasting: how sure it is", plan.horizon * work)

        def rehearsed(stage: Rehearsal, repeats: int) -> Array:
            stage = replace(stage, did=did)
            how: Any = {"repeats": repeats, "returned": (plan.returned,), "growth": plan.growth}
            found = rehearse(stage, plan.horizon, step, level, **how)
            return np.asarray(found[0, 0, 0].mean(axis=1))

        told = np.array([rehearsed(learner, REPEATED_WITHIN).mean() for learner in learners])
        came = np.concatenate([rehearsed(world, REPEATS) for world in self.worlds])
        return by_hindsight(point, came, told)

    @cached_property
    def worlds(self) -> list[Rehearsal]:
        """What may be true: the rows as they are; one for each start where clipped gradients have a tail that few show."""
        if self.bootstrap is None or self.coordinates.clipping != RECORD:
            return [self.rehearsal]
        stages, streams = [], Streams(self.inputs.seed, "tails")
        for world, start in enumerate(self.rehearsal.starts):
            shown = shown_by(self.bootstrap.sample, self.coordinates, streams.rng(world))
            x, y = shown.population()
            drawn = replace(
                self.rehearsal, x=x, y=y, cost=shown.fitness, starts=(start,), seed=self.inputs.seed + world
            )
            stages.append(drawn)
        return stages

    @cached_property
    def hindsight(self) -> list[Rehearsal]:
        """What the learner of each resample would rehearse: on its own rows, from resamples of these."""
        stages = []
        for learner in self.learners:
            shown, starts = shown_by(learner.sample, self.coordinates), learner.under(self.coordinates)
            x, y = shown.population()
            stages.append(replace(self.rehearsal, x=x, y=y, cost=shown.fitness, starts=starts))
        return stages

    def predict_known(self, epsilon: Array, point: float) -> Array:
        matters = self.forecast.apart_at(epsilon) > 0 or not self.rehearsal.as_one
        deals, fitness = DEALS if matters else 1, self.inputs.pooled.fitness
        did = counting(self.inputs.progress, "forecasting: how sure it is", deals)
        dealt = [
            self.dealt(world).trained(epsilon, RUNS // deals, f"deal {world}", did=did).theta for world in range(deals)
        ]
        return predict_dealt(np.array([fitness.relative(theta) for theta in dealt]), point)

    def projected(self, epsilon: Array) -> float:
        if not self.asks(epsilon):
            return 0.0
        plan = self.forecast.plan(epsilon)
        few = replace(self.rehearsal, starts=self.rehearsal.starts[:WORLDS_SCREENED])
        level, step = np.array([self.forecast.noise_at(epsilon)]), np.array([plan.step_size])
        done = rehearsals(few, plan.horizon, step, level, REPEATS, plan.growth)
        return float(np.mean([trained.projected for _, trained in done]))

    def decision_cost(self, decisions: Decisions) -> Measure:
        curves = self.forecast.plan_set
        assert isinstance(curves, Curves)
        return decision_cost(self.rehearsal, curves, self.own_model, self.bootstrap, decisions)

    def dealt(self, world: int) -> CalibratedPlanner:
        """The same planner where the records are dealt anew among the owners."""
        return replace(self, inputs=self.inputs.dealt(Streams(self.inputs.seed, "deals").rng(world)))

    def trained(
        self, epsilon: Array, runs: int, purpose: str, noise_scale: Array | None = None, *, did: Did = unnoticed
    ) -> Trained:
        """Trainings on the pooled records at given budgets (n_owners,), with draws of their own for every purpose."""
        clients, weights, plan = self.clients(epsilon, noise_scale)
        streams, penalty = Streams(self.inputs.seed, purpose), self.inputs.settings.regularisation
        law = self.mechanism_at(epsilon).law
        task = Task(clients, self.coordinates, plan, law, runs, streams, penalty, weights, did=did)
        return train(replace(task, aggregation=self.inputs.settings.aggregation))

    def oracle(self, epsilon: Array) -> Decomposition:
        """The published form, fitted to trainings on the pooled records at other levels of noise, read off at this one."""
        plan, fitness = self.forecast.plan(epsilon), self.inputs.pooled.fitness
        if not plan.asks or not np.any(epsilon > 0):
            return self.unbought()
        noise_scale = np.repeat(np.sqrt(FACTORS), ORACLE_RUNS)
        did = counting(self.inputs.progress, "counting up: trainings to compare with", 1)
        trained = self.trained(epsilon, len(noise_scale), "oracle", noise_scale, did=did)
        measured = fitness.relative(trained.theta).reshape(len(FACTORS), ORACLE_RUNS)
        bias, noise, error = fit_at_one(np.array(FACTORS), measured)
        return Decomposition(bias, noise, fitness.optimum, error)


def calibrated_planner(
    inputs: PlanningInputs, mechanism: Mechanism, law: Candidates | None = None
) -> CalibratedPlanner:
    """Protocol and forecast by rehearsal: on the learner's own rows and on what they might have been.

    Without public rows on the pooled records: the simulator's privilege, assumed known. Where there is a law that does not
    quite hold, the plans that are best by it at some noise are measured too: its grid is finer than that of rehearsals.
    """
    settings, sample, bootstrap = inputs.settings, inputs.sample, None
    if sample is None:
        coordinates, (x, y), cost = inputs.stated_coordinates(mechanism), inputs.known.records, inputs.pooled.fitness
        own_model = coordinates.centre
        starts: tuple[Coordinates, ...] = (coordinates,)
    else:
        bootstrap = resamples(inputs, mechanism, RESAMPLES)
        coordinates = calibrated_protocol(inputs, mechanism, bootstrap)
        shown = shown_by(bootstrap.sample, coordinates)
        (x, y), cost = shown.population(), shown.fitness
        starts, own_model = bootstrap.under(coordinates), sample.model
    everybody = np.ones(len(inputs.owners), dtype=bool)
    groups = inputs.owners.groups_among(everybody)
    sizes = np.array([inputs.owners.sizes[group].sum() for group in groups], dtype=float)
    weights = np.full(len(sizes), 1 / len(sizes)) if settings.weights == "equal" else sizes / sizes.sum()
    clocks = inputs.owners.clocks_among(everybody)
    mechanism = at_given_bound(beside_moments(mechanism, coordinates), coordinates)
    rehearsal = Rehearsal(x, y, cost, starts, sizes, weights, mechanism, settings.algorithm, clocks, inputs.seed)
    rehearsal = replace(rehearsal, aggregation=settings.aggregation, decline=settings.step_decline)
    inputs = with_printed_step(inputs, coordinates, mechanism, (rehearsal.smallest_curvature, rehearsal.curvature))
    outside = float(cost.relative(own_model)) if bootstrap is None else bootstrap.relative_outside
    made = _calibrated(inputs, rehearsal, outside, _dispersion(inputs, bootstrap), law)
    between = kinds_told(inputs, coordinates)
    made = among_kinds(made, inputs, between)
    return CalibratedPlanner(inputs, coordinates, mechanism, made, own_model, bootstrap, rehearsal, between=between)


def _calibrated(
    inputs: PlanningInputs, rehearsal: Rehearsal, outside: float, dispersion: float, law: Candidates | None
) -> FitnessForecast:
    """The forecast on curves calibrated over all the noise that budgets may cause."""
    settings, owners, mechanism = inputs.settings, inputs.owners, rehearsal.mechanism
    weighting = inputs.weighting
    most, least = (
        noise_at(owners, mechanism, weighting, budgets) for budgets in (owners.epsilon_min, owners.epsilon_max)
    )
    measured = MEASURED
    if inputs.sample is None:
        measured = MEASURED_CHEAPLY if settings.keeps_sums else MEASURED_ONCE
    ceiling = np.inf if settings.fix_the_plan else outside
    levels = noise_levels(least, most)
    also = [] if law is None else [law.plans[best] for best in sorted({law.best(level) for level in levels})]
    curves = calibrate(
        rehearsal, levels, settings, ceiling=ceiling, measured=measured, also=also, progress=inputs.progress
    )
    envelope = lower_envelope(curves.curves, ceiling)
    sizes = owners.sizes.astype(float)
    return FitnessForecast(
        sizes, mechanism, curves, envelope, outside, dispersion, inputs.basis, "calibrated", weighting=weighting
    )


def _dispersion(inputs: PlanningInputs, bootstrap: BootstrapSamples | None) -> float:
    """C/f*: from the resamples, or on the oracle basis from models of parts of the pooled records."""
    if bootstrap is not None:
        return bootstrap.dispersion / bootstrap.optimum
    (x, y), settings = inputs.known.records, inputs.settings
    rng, rows = Streams(inputs.seed, "data").rng("parts"), min(len(y) // 2, PART)
    excess = []
    for _ in range(PARTS):
        some = rng.permutation(len(y))[:rows]
        model, _ = settings.loss.fit(x[some], y[some], settings.regularisation)
        excess.append(float(inputs.pooled.fitness.relative(model)))
    return float(np.mean(excess)) / (1 / rows - 1 / len(y))
