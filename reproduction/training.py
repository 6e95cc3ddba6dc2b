"""Markets of the papers: trained as published, and under this program's own protocol."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.data.owner_data import OwnerData
from learning.forecast.choice import make_planner
from learning.forecast.inputs import PlanningInputs, PublicOwners, Settings
from learning.forecast.planner import Planner
from learning.forecast.pooled import PooledRecords
from learning.forecast.public_sample import PublicSample
from learning.losses.coordinates import Coordinates
from learning.losses.loss import Loss, TrainingCost
from learning.losses.records import GradientOracle
from learning.losses.squared import Fitness, Squared
from learning.privacy.laplace import Laplace
from learning.randomness import Streams
from learning.training.client import make_clients
from learning.training.engine import train
from learning.training.law import Problem, bias_and_gain, quadratic_problem
from learning.training.paths import Paths, Watch, ignore_step
from learning.training.plan import Plan
from learning.training.task import Task
from reproduction.item import NotPossible
from reproduction.tables.records import Records, Table

ROOM = 1.2  # the ball that the bound is taken in, over the largest public parameter
NOISE = Laplace()


def given_bound(table: Table, loss: Loss, regularisation: float = 0.0) -> float:
    """Gradient bound Xi of all items: the largest 1-norm of a public row's gradient in a ball.

    The ball is |theta|_inf <= 1.2 |theta_pub|_inf, theta_pub the best model of the public rows.
    Squared loss: max 2 (r |x|_1 + |y|) |x|_1 over the rows; labels: max |x|_1. Public ranges would
    give a proved bound, and too much noise to learn anything.
    """
    x = table.public_x
    y = table.public_y
    reach = ROOM * float(np.abs(loss.fit(x, y, regularisation)[0]).max())
    lengths = np.abs(x).sum(axis=1)
    if not loss.quadratic:
        return float(loss.steepest * lengths.max())
    return float(np.max(2 * (reach * lengths + np.abs(y)) * lengths))


def step_constant(table: Table, loss: Loss, regularisation: float = 0.0) -> float:
    """Step constant c_1 of all items: one over the largest curvature on the public rows."""
    width = table.public_x.shape[1]
    whole = Coordinates(np.zeros(width), np.eye(width), loss=loss)
    return 1 / loss.largest_curvature(whole, table.public_x, regularisation)


def in_random_order(table: Table, streams: Streams) -> Table:
    """Table with its records in random order, so that all owners are of one kind."""
    order = streams.rng(table.name).permutation(table.n_records)
    return replace(table, x=table.x[order], y=table.y[order], owner=None)


@dataclass(frozen=True)
class Market:
    """Owners' records, trained as published: from 0, raw features, no ball, Laplace noise.

    The papers state neither the bound Xi of their noise nor their step sizes. One rule each is used
    throughout the book, from public rows alone. The bound holds for public rows in a ball that does
    not bind training: no promise rests on it, and nothing here is called private
    (`learning.privacy.wrapped.at_given_bound`).

    Parameters
    ----------
    records : features (n_i, p) and targets (n_i,) of each owner.
    gradient_bound : Xi that noise is scaled to.
    loss : loss that is trained.
    regularisation : r of g_1 = r/2 |theta|^2.
    """

    records: Sequence[Records] = field(repr=False)
    gradient_bound: float
    loss: Loss = Squared()
    regularisation: float = 0.0

    @property
    def sizes(self) -> Array:
        """Records of each owner, (n_owners,)."""
        return np.array([len(y) for _, y in self.records], dtype=float)

    @cached_property
    def coordinates(self) -> Coordinates:
        """Coordinates of raw features, with the start at 0 and the given bound."""
        width = self.records[0][0].shape[1]
        made = Coordinates(np.zeros(width), np.eye(width), loss=self.loss)
        return replace(made, given_bound=self.gradient_bound)

    @cached_property
    def oracles(self) -> list[GradientOracle]:
        """Gradient oracle of each owner."""
        return [self.coordinates.oracle(x, y) for x, y in self.records]

    @cached_property
    def cost(self) -> TrainingCost:
        """Training cost of all records, and its minimum."""
        return self.loss.fitness(self.records, self.regularisation)

    def task(
        self,
        epsilon: ArrayLike,
        plan: Plan,
        *,
        runs: int,
        streams: Streams,
        watch: Watch = ignore_step,
    ) -> Task:
        """Task of trainings at some budgets, all at once.

        Parameters
        ----------
        epsilon : array (n_owners,) or (m, n_owners), profiles of budgets; inf adds no noise.
        plan : plan of the training.
        runs : replications of each profile, each with draws of its own.
        streams : randomness.
        watch : called after every step; runs are profile after profile.
        """
        profiles = np.atleast_2d(np.asarray(epsilon, dtype=float))
        names = [f"owner {i + 1}" for i in range(len(self.records))]
        common = (NOISE, self.gradient_bound, plan.priced)
        clients = [make_clients(names, self.oracles, budgets, *common) for budgets in profiles]
        owners = []
        for same in zip(*clients, strict=True):
            scale = np.repeat([float(one.scale) for one in same], runs)
            owners.append(replace(same[0], scale=scale, epsilon=None))
        total = runs * len(profiles)
        task = Task(tuple(owners), self.coordinates, plan, NOISE, total, streams)
        return replace(task, regularisation=self.regularisation, watch=watch)

    def fitness(self, epsilon: ArrayLike, plan: Plan, *, runs: int, streams: Streams) -> Array:
        """Relative fitness of each run at each profile of budgets, (m, runs)."""
        found = train(self.task(epsilon, plan, runs=runs, streams=streams))
        return np.asarray(self.cost.relative(found.theta)).reshape(-1, runs)

    def paths(self, epsilon: ArrayLike, plan: Plan, *, runs: int, streams: Streams) -> Paths:
        """Relative fitness of all runs at one profile of budgets (n_owners,), step by step."""
        watch = Paths(self.coordinates.model, self.cost)
        train(self.task(epsilon, plan, runs=runs, streams=streams, watch=watch))
        return watch

    def noise_power(self, epsilon: ArrayLike, plan: Plan) -> Array:
        """Noise S at profiles of budgets (..., n_owners): sum q^2 v over the owners, q = n_i/n."""
        shares = self.sizes / self.sizes.sum()
        common = (self.sizes, self.gradient_bound, plan.priced)
        variance = NOISE.variance(epsilon, *common)
        return np.asarray(np.sum(shares**2 * variance, axis=-1))

    @cached_property
    def problem(self) -> Problem:
        """Training problem under squared loss, for the exact law."""
        cost = self.cost
        assert isinstance(cost, Fitness)
        hessian = cost.hessian[None]
        linear = cost.statistics.linear[None]
        optimum = np.array([cost.optimum])
        return quadratic_problem(hessian, linear, hessian, cost.minimiser[None], optimum)

    def law(self, epsilon: ArrayLike, plan: Plan) -> tuple[float, Array]:
        """Bias and noise parts (...) of relative fitness by the exact law, at profiles of budgets.

        It holds under squared loss, for steps that every owner answers, while no ball binds.
        """
        bias, gain = bias_and_gain(self.problem, plan.steps, plan.returned)
        noise = float(gain[0]) / self.cost.optimum * self.noise_power(epsilon, plan)
        return float(bias[0]) / self.cost.optimum, noise


KNOWN = 1_000  # records that the learner knows, as in the library's market of banks
# sgd2: all owners answer in each of T rounds. A free planner takes two rounds at all budgets of the
# book's banks.
SETTINGS = Settings(algorithm="sgd2", weights="precision", horizon=2)


@dataclass(frozen=True)
class OurMarket:
    """Market under this program's protocol: forecasts from the learner's rows, and trainings.

    Owners, sizes, budgets and table are those of the papers; pure epsilon, Laplace noise, basic
    composition, as published. The learner knows a thousand rows, drawn at random among those of the
    owners, who hold the others: features are whitened and records clipped by these rows, training
    starts from their model, steps are chosen on them, all owners answer in both of two rounds, and
    answers are weighted by their noise.

    Parameters
    ----------
    records : features (n_i, p) and targets (n_i,) of each owner.
    known : records that the learner knows.
    table : table of the records, for its public ranges.
    budgets : smallest and largest budget that owners may sell.
    loss : loss that is trained.
    regularisation : r of g_1 = r/2 |theta|^2.
    seed : seed of forecasts and noise.
    settings : protocol, as far as the planner does not choose it.
    """

    records: Sequence[Records] = field(repr=False)
    known: Records = field(repr=False)
    table: Table
    budgets: tuple[float, float] = (0.1, 10.0)
    loss: Loss = Squared()
    regularisation: float = 0.0
    seed: int = 1
    settings: Settings = SETTINGS

    @property
    def sizes(self) -> np.ndarray:
        """Records of each owner, (n_owners,)."""
        return np.array([len(y) for _, y in self.records])

    @cached_property
    def cost(self) -> TrainingCost:
        """Training cost of all owners' records, and its minimum."""
        return self.loss.fitness(list(self.records), self.regularisation)

    @cached_property
    def planner(self) -> Planner:
        """Planner of the learner, from its own rows, public ranges and sizes."""
        count = len(self.records)
        names = tuple(f"owner {i + 1}" for i in range(count))
        parts = zip(names, self.records, strict=True)
        owners = tuple(OwnerData(name, x, y) for name, (x, y) in parts)
        low, high = (np.full(count, end) for end in self.budgets)
        groups = tuple((i,) for i in range(count))
        cost: dict[str, Any] = {"loss": self.loss, "regularisation": self.regularisation}
        return make_planner(
            PlanningInputs(
                replace(self.settings, **cost),
                PublicOwners(names, self.sizes, low, high, groups=groups),
                PublicSample(*self.known, self.regularisation, self.loss),
                self.table.feature_bound,
                self.table.target_bound,
                PooledRecords(owners, self.cost),
                self.seed,
            )
        )

    def isolated_fitness(self, owner: int = 0) -> float:
        """Relative fitness on all records of an owner's own model, without noise (AS, Figure 6)."""
        model = self.loss.fit(*self.records[owner], self.regularisation)[0]
        return float(self.cost.relative(model))

    @property
    def mean_isolated(self) -> float:
        """Mean of the isolated fitness over owners."""
        return float(np.mean([self.isolated_fitness(owner) for owner in range(len(self.records))]))

    @property
    def learner_fitness(self) -> float:
        """Relative fitness on all records of the learner's own model."""
        return float(self.cost.relative(self.planner.own_model))

    def forecast_fitness(self, epsilon: ArrayLike) -> float:
        """Forecast relative fitness at budgets, one for all or (n_owners,)."""
        return self.planner.at(self._expand_budgets(epsilon))

    def train_models(self, epsilon: ArrayLike, runs: int) -> Array:
        """Relative fitness of models trained at budgets, (runs,); without a step the learner's."""
        budgets = self._expand_budgets(epsilon)
        clients, weights, plan = self.planner.clients(budgets)
        task = Task(
            clients,
            self.planner.coordinates,
            plan,
            self.planner.mechanism_at(budgets).training_mechanism,
            runs,
            Streams(self.seed, "ours"),
            self.regularisation,
            weights,
        )
        return np.asarray(self.cost.relative(train(task).theta))

    def _expand_budgets(self, epsilon: ArrayLike) -> Array:
        """Expand budgets to all owners."""
        return np.full(len(self.records), 1.0) * np.asarray(epsilon, dtype=float)


def deal_records(
    table: Table, sizes: Sequence[int], rng: np.random.Generator, *, shuffled: bool = False
) -> tuple[list[Records], Records]:
    """Deal records to owners, and disjoint ones of the same part of the table to the learner.

    Parameters
    ----------
    table : the table.
    sizes : records of each owner.
    rng : draws the learner's records.
    shuffled : True for owners' records drawn at random from all; else they are consecutive, from
        the first on.

    Raises
    ------
    NotPossible
        If the table has not as many records.
    """
    total = sum(sizes) + KNOWN
    table.require_records(total)
    order = rng.permutation(table.n_records if shuffled else total)
    known = order[:KNOWN]
    others = order[KNOWN:total]
    owners = np.split(others if shuffled else np.sort(others), np.cumsum(sizes)[:-1])
    return [(table.x[rows], table.y[rows]) for rows in owners], (table.x[known], table.y[known])


def spare_records(
    parts: Sequence[Records], rng: np.random.Generator
) -> tuple[list[Records], Records]:
    """Split owners' records into those they keep and those the learner knows, drawn among all.

    Raises
    ------
    NotPossible
        If owners would keep none.
    """
    sizes = np.cumsum([len(y) for _, y in parts])
    if sizes[-1] <= KNOWN:
        raise NotPossible(f"more than {KNOWN:,} records are needed, and there are {sizes[-1]:,}")
    taken = rng.choice(sizes[-1], KNOWN, replace=False)
    x, y = (np.concatenate(one) for one in zip(*parts, strict=True))
    kept = np.ones(len(y), dtype=bool)
    kept[taken] = False
    rows = np.split(kept, sizes[:-1])
    owners = [(px[own], py[own]) for (px, py), own in zip(parts, rows, strict=True)]
    return owners, (x[taken], y[taken])


def deal_market(
    table: Table, sizes: Sequence[int], seed: int, *, shuffled: bool = False, **setup: Any
) -> OurMarket:
    """Deal a market; parameters and errors are those of `deal_records` and `OurMarket`."""
    rng = Streams(seed, "ours").rng("dealt")
    return OurMarket(*deal_records(table, sizes, rng, shuffled=shuffled), table, seed=seed, **setup)


def measure_budgets(market: OurMarket, budgets: Iterable[ArrayLike], runs: int) -> pd.DataFrame:
    """Forecast and trained fitness of a market at some budgets.

    Parameters
    ----------
    market : the market.
    budgets : each one for all owners, or (n_owners,).
    runs : trainings at each.

    Returns
    -------
    DataFrame
        One row for each: epsilon and n_records of the first owner, owners, law (the forecast),
        relative_fitness and std_error (trained), isolated (the first owner's own model on all
        records) and alone (the learner's).
    """
    rows = []
    isolated = market.isolated_fitness()
    for epsilon in budgets:
        found = market.train_models(epsilon, runs)
        row = {
            "epsilon": float(np.ravel(epsilon)[0]),
            "owners": len(market.records),
            "n_records": int(market.sizes[0]),
            "law": market.forecast_fitness(epsilon),
            "relative_fitness": float(found.mean()),
            "std_error": float(found.std(ddof=1) / np.sqrt(len(found))),
            "isolated": isolated,
            "alone": market.learner_fitness,
        }
        rows.append(row)
    return pd.DataFrame(rows)
