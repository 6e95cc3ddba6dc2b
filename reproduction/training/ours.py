"""Markets of the papers under this program's own protocol: same owners, sizes, budgets and table.

Pure epsilon, Laplace noise, basic composition, as published. The learner knows a thousand rows,
drawn at random among those of the owners, who hold the others: features are whitened and records
clipped by these rows, training starts from their model, steps are chosen on them, all owners answer
in both of two rounds, and answers are weighted by their noise.
"""

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
from learning.losses.loss import Loss, TrainingCost
from learning.losses.squared import Squared
from learning.randomness import Streams
from learning.training.engine import train
from learning.training.task import Task
from reproduction.tables import Table
from reproduction.tables.records import Records

KNOWN = 1_000  # records that the learner knows, as in the library's market of banks
# sgd2: all owners answer in each of T rounds. A free planner takes two rounds at all budgets of the
# book's banks.
SETTINGS = Settings(algorithm="sgd2", weights="precision", horizon=2)


@dataclass(frozen=True)
class OurMarket:
    """Market under this program's protocol: forecasts from the learner's rows, and trainings.

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
    """Split owners' records into those they keep and those the learner knows, drawn among all."""
    sizes = np.cumsum([len(y) for _, y in parts])
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
