"""What the learner can know before training: its protocol, its forecast, and how far that may be off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from learning.errors import InputError
from learning.forecast.fitness import FitnessForecast, forecast
from learning.forecast.interval import outside_interval, predictive_interval
from learning.forecast.protocol import Settings, design, whole_bounds
from learning.forecast.public_sample import BootstrapSamples, dispersion, draw_bootstrap, oracle_problem
from learning.losses.coordinates import Coordinates
from learning.losses.linear import Fitness, SquaredStatistics, mixed
from learning.losses.oracle import GradientOracle
from learning.losses.records import make_oracle
from learning.privacy.mechanism import Mechanism
from learning.randomness import Streams
from learning.training.client import make_clients
from learning.training.clocks import Clocks
from learning.training.engine import Client
from learning.training.grouping import grouped
from learning.training.law import Problem, Returned, bias_and_gain, reach
from learning.training.plan import Plan
from scenarios.schema.loading import Scenario
from scenarios.schema.scenario import per_owner
from scenarios.tables.dataset import MarketData
from scenarios.verdict import Law

WORLDS = 200
REFERENCE_EPSILON = 1.0  # the customary budget; clipping bounds are designed for it, inside each owner's interval
EXACT = ("synchronous", "averaged", "sgd2")  # algorithms whose law under squared loss is known


class Planner(Protocol):
    """The protocol in public coordinates, the forecast the market is played on, and how far it may be off.

    ``own_model`` is what the learner has without buying: its public model, or the start where it has no rows.
    ``optimum`` is f* as the forecast has it.
    """

    @property
    def coordinates(self) -> Coordinates: ...
    @property
    def mechanism(self) -> Mechanism: ...
    @property
    def forecast(self) -> FitnessForecast: ...
    @property
    def own_model(self) -> np.ndarray: ...
    @property
    def optimum(self) -> float: ...
    def interval(self, epsilon: np.ndarray) -> tuple[float, float]:
        """95 % interval of relative fitness at the given budgets; the point itself on the oracle basis."""
        ...

    def outside_interval(self) -> tuple[float, float]:
        """The same for the model trained on the public rows alone."""
        ...

    def reach(self, epsilon: np.ndarray) -> float | None:
        """How far from the start training may stray; beyond theta_max the exact law may not hold. None: no such law."""
        ...

    def oracle(self, scenario: Scenario, data: MarketData, epsilon: np.ndarray) -> Law:
        """The same forecast on the pooled records of those who share, under the plan in use: the simulator's privilege."""
        ...


@dataclass(frozen=True)
class ExactPlanner:
    """An outlook by the exact law: squared loss under an algorithm that is linear in its noise.

    ``problem`` and ``bootstrap`` are what the forecast averages over.
    """

    coordinates: Coordinates
    mechanism: Mechanism
    forecast: FitnessForecast
    problem: Problem = field(repr=False)
    own_model: np.ndarray = field(repr=False)
    bootstrap: BootstrapSamples | None = field(repr=False)

    @property
    def optimum(self) -> float:
        return float(self.problem.optimum.mean())

    def noise_power(self, epsilon: np.ndarray, plan: Plan) -> float:
        """S, variance per coordinate of one round's aggregated noise."""
        noise = self.forecast.noise_at(epsilon)
        return noise * self.coordinates.gradient_bound**2 * float(self.mechanism.horizon_factor(plan.priced))

    def interval(self, epsilon: np.ndarray) -> tuple[float, float]:
        plan, point = self.forecast.plan(epsilon), self.forecast.at(epsilon)
        if self.bootstrap is None:
            return point, point
        return predictive_interval(self.bootstrap, self.problem, plan, self.noise_power(epsilon, plan), point)

    def outside_interval(self) -> tuple[float, float]:
        if self.bootstrap is None:
            return self.forecast.outside, self.forecast.outside
        return outside_interval(self.bootstrap, self.forecast.outside)

    def reach(self, epsilon: np.ndarray) -> float | None:
        plan = self.forecast.plan(epsilon)
        power = self.noise_power(epsilon, plan)
        return float(np.quantile(reach(self.problem, plan.steps, power, norm=self.mechanism.norm), 0.9))

    def oracle(self, scenario: Scenario, data: MarketData, epsilon: np.ndarray) -> Law:
        plan, weights = self.forecast.plan(epsilon), self.forecast.weights(epsilon)
        if not plan.asks or not weights.any():
            return Law(float(data.fitness.relative(self.own_model)), 0.0, data.fitness.optimum)
        records = [s for s in records_of(scenario, data, self.coordinates) if isinstance(s, SquaredStatistics)]
        assert isinstance(data.fitness, Fitness)
        problem = oracle_problem(self.coordinates, mixed(records, weights), data.fitness)
        bias, gain = bias_and_gain(problem, plan.steps, plan.returned)
        noise = float(gain[0]) * self.noise_power(epsilon, plan) if gain[0] > 0 else 0.0
        return Law(float(bias[0]) / data.fitness.optimum, noise / data.fitness.optimum, data.fitness.optimum)


def records_of(scenario: Scenario, data: MarketData, coordinates: Coordinates) -> list[GradientOracle]:
    """What each owner answers with: its records clipped to the announced bounds, in one pass."""
    learning = scenario.learning
    return [
        make_oracle(coordinates, o.x, o.y, hidden=learning.hidden or 1, one_by_one=learning.algorithm == "sgd1")
        for o in data.owners
    ]


def clients_at(
    scenario: Scenario, data: MarketData, planner: Planner, epsilon: np.ndarray, louder: np.ndarray | None = None
) -> tuple[tuple[Client, ...], np.ndarray, Plan]:
    """Who answers at given budgets, with what weights, and the plan with the clocks of those who do.

    ``louder``, (runs,), multiplies the noise of each run.
    """
    plan, sharing = planner.forecast.plan(epsilon), np.asarray(epsilon) > 0
    owners = make_clients(
        data.names,
        records_of(scenario, data, planner.coordinates),
        epsilon,
        planner.mechanism,
        planner.coordinates.gradient_bound,
        plan.priced,
    )
    if louder is not None:
        owners = tuple(replace(owner, scale=owner.scale * louder) for owner in owners)
    weights = planner.forecast.weights(epsilon)[sharing]
    groups = groups_of(scenario, data.names, sharing)
    together = np.array([weights[group].sum() for group in groups])
    return grouped(owners, groups), together, replace(plan, clocks=clocks_of(scenario, data.names, sharing))


def clocks_of(scenario: Scenario, names: Sequence[str], sharing: np.ndarray) -> Clocks:
    """The clocks of those who share, group by group: a group ticks at its members' mean rate and needs all to answer."""
    if scenario.learning.algorithm != "asynchronous":
        return Clocks()
    told, groups = scenario.learning.ticks(names), groups_of(scenario, names, sharing)
    rates, dropout = told.rates, told.dropout
    if rates is not None:
        kept = np.array(rates)[sharing]
        rates = tuple(float(kept[group].mean()) for group in groups)
    answer = 1 - np.broadcast_to(np.asarray(dropout, dtype=float), sharing.shape)[sharing]
    if np.any(answer < 1):
        dropout = tuple(float(1 - np.prod(answer[group])) for group in groups)
    return replace(told, rates=rates, dropout=dropout)


def groups_of(scenario: Scenario, names: Sequence[str], sharing: np.ndarray) -> list[list[int]]:
    """Which of those who share answer as one, numbered among them; everybody alone but in asynchronous training."""
    place = np.cumsum(sharing) - 1
    groups = [[int(place[i]) for i in group if sharing[i]] for group in scenario.learning.groups(names)]
    return [group for group in groups if group]


def settings_of(scenario: Scenario) -> Settings:
    """The learning section as settings of the protocol; "optimal" becomes None."""
    learning = scenario.learning
    free = {
        name: None if (value := getattr(learning, name)) == "optimal" else value
        for name in ("theta_max", "horizon", "step_size", "clip")
    }
    if free["clip"] == "none":
        free["clip"] = np.inf
    returned: tuple[Returned, ...] = ("last", "averaged") if learning.returned == "optimal" else (learning.returned,)
    if learning.algorithm not in ("averaged", "sgd1") and learning.returned == "optimal":
        returned = ("last",)  # as the papers return it
    return Settings(
        learning.algorithm,
        str(learning.start),
        bool(learning.precondition),
        returned=returned,
        regularisation=learning.regularisation,
        **free,
    )


def public_exact(scenario: Scenario, data: MarketData, mechanism: Mechanism) -> ExactPlanner:
    """Everything from the public rows: the learner's own knowledge."""
    settings, sample = settings_of(scenario), data.public
    assert sample is not None
    bootstrap = public_worlds(scenario, data, mechanism, WORLDS)
    coordinates = design(
        sample,
        bootstrap,
        settings,
        mechanism,
        sizes=data.sizes,
        reference=reference(scenario, data),
        feature_bound=data.encoder.feature_bound,
        target_bound=data.encoder.target_bound,
    )
    problem = bootstrap.problem(coordinates.radius, coordinates.target_bound, corrected=True)
    alone = float(bootstrap.outside.mean()) / bootstrap.optimum
    made = _forecast(scenario, problem, settings, mechanism, coordinates, data, bootstrap.dispersion, "public", alone)
    return ExactPlanner(coordinates, mechanism, made, problem, sample.model, bootstrap)


def public_worlds(scenario: Scenario, data: MarketData, mechanism: Mechanism, count: int) -> BootstrapSamples:
    """Bootstrap worlds of the learner's own rows."""
    settings = settings_of(scenario)
    assert data.public is not None
    return draw_bootstrap(
        data.public,
        start=settings.start,
        precondition=settings.precondition,
        total_size=int(data.sizes.sum()),
        bootstrap=count,
        rng=Streams(scenario.seed, "data").rng("worlds"),
        norm=mechanism.norm,
    )


def oracle_exact(
    scenario: Scenario, data: MarketData, mechanism: Mechanism, coordinates: Coordinates | None = None
) -> ExactPlanner:
    """The same law with the pooled records: the simulator's privilege, assumed known where there is no public row."""
    settings = settings_of(scenario)
    coordinates = coordinates or stated_coordinates(scenario, data, mechanism)
    records = [s for s in records_of(scenario, data, coordinates) if isinstance(s, SquaredStatistics)]
    assert isinstance(data.fitness, Fitness)
    problem = oracle_problem(coordinates, mixed(records, data.sizes / data.sizes.sum()), data.fitness)
    x, y = (np.concatenate([getattr(owner, name) for owner in data.owners]) for name in ("x", "y"))
    spread = dispersion(x, y, data.fitness.minimiser)
    made = _forecast(scenario, problem, settings, mechanism, coordinates, data, spread, "oracle")
    return ExactPlanner(coordinates, mechanism, made, problem, coordinates.centre, None)


def stated_coordinates(scenario: Scenario, data: MarketData, mechanism: Mechanism) -> Coordinates:
    """Coordinates without public rows: start at zero, features as they are, the ball as the scenario states it."""
    settings, width = settings_of(scenario), data.encoder.n_parameters
    whole = Coordinates(np.zeros(width), np.eye(width), norm=mechanism.norm, loss=scenario.learning.loss)
    if settings.theta_max is None:
        raise InputError(
            "learning.theta_max",
            "must be a number where there are no public rows to choose it from",
            "optimal",
            "Set learning.theta_max, or data.public_rows.",
        )
    radius, target = whole_bounds(whole, data.encoder.feature_bound, data.encoder.target_bound)
    radius = min(radius, settings.clip) if settings.clip else radius
    return whole.bounded(radius, target, settings.theta_max)


def _forecast(
    scenario: Scenario,
    problem: Problem,
    settings: Settings,
    mechanism: Mechanism,
    coordinates: Coordinates,
    data: MarketData,
    spread: float,
    basis: str,
    outside: float | None = None,
) -> FitnessForecast:
    made = forecast(
        problem,
        sizes=data.sizes,
        mechanism=mechanism,
        gradient_bound=coordinates.gradient_bound,
        dispersion=spread,
        basis=basis,
        algorithm=settings.algorithm,
        horizon=settings.horizon,
        step_size=settings.step_size,
        returned=settings.returned,
        outside=outside,
    )
    return weighed(made, scenario, data)


def weighed(made: FitnessForecast, scenario: Scenario, data: MarketData) -> FitnessForecast:
    """The same forecast under the weights that the scenario asks for, announced at the reference budgets."""
    kind = scenario.learning.weights
    return made if kind == "size" else made.under(kind, reference(scenario, data))


def reference(scenario: Scenario, data: MarketData) -> np.ndarray:
    """The customary budget, inside each owner's interval, (n_owners,)."""
    intervals = budget_intervals(scenario, data)
    return np.clip(REFERENCE_EPSILON, intervals[:, 0], intervals[:, 1])


def budget_intervals(scenario: Scenario, data: MarketData) -> np.ndarray:
    """Lowest and highest budget of each owner, (n_owners, 2)."""
    return np.array(per_owner(scenario.owners.epsilon, len(data.owners), "owners.epsilon"), dtype=float)
