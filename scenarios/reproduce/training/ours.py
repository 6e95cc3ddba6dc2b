"""The papers' markets under this program's own protocol: the same owners, sizes and budgets, the same table.

Pure epsilon, Laplace noise, basic composition, as published. What differs is what the learner makes of rows that it knows, a
thousand drawn at random among those of the owners, who then hold the others: features are whitened and records clipped by
these rows, training starts from their model, steps are chosen on them, all owners answer in both of two rounds, and
answers count by their noise.
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
from learning.forecast.inputs import PlanningInputs, PublicOwners
from learning.forecast.planner import Planner
from learning.forecast.planning import make_planner
from learning.forecast.pooled import PooledRecords
from learning.forecast.public_sample import PublicSample
from learning.forecast.settings import Settings
from learning.losses.loss import Loss
from learning.losses.protocols import TrainingCost
from learning.losses.squared import Squared
from learning.randomness import Streams
from learning.training.engine import train
from learning.training.task import Task
from scenarios.reproduce.item import NotPossible
from scenarios.reproduce.tables import Table
from scenarios.reproduce.tables.records import Records

KNOWN = 1_000  # records that the learner knows, as in the library's market of banks
# sgd2: all owners answer in each of T rounds. Left free, the planner takes two rounds at all budgets of the book's banks.
SETTINGS = Settings(algorithm="sgd2", weights="precision", horizon=2)


@dataclass(frozen=True)
class OurMarket:
    """A market under this program's protocol: what is forecast of it from the learner's rows, and what training gives.

    Parameters
    ----------
    records : features (n_i, p) and targets (n_i,) of each owner.
    known : records that the learner knows.
    table : the table they are of, for its public ranges.
    budgets : the smallest and the largest budget that owners may sell.
    loss : the loss that is trained.
    regularisation : r of g_1 = r/2 |theta|^2.
    seed : of forecasts and noise.
    settings : the protocol, as far as the planner does not choose it.
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
        """The training cost of all owners' records, and its minimum."""
        return self.loss.fitness(list(self.records), self.regularisation)

    @cached_property
    def planner(self) -> Planner:
        """The learner's planner: it sees its own rows, public ranges and sizes."""
        count = len(self.records)
        names = tuple(f"owner {i + 1}" for i in range(count))
        owners = tuple(OwnerData(name, x, y) for name, (x, y) in zip(names, self.records, strict=True))
        low, high = (np.full(count, end) for end in self.budgets)
        return make_planner(
            PlanningInputs(
                replace(self.settings, loss=self.loss, regularisation=self.regularisation),
                PublicOwners(names, self.sizes, low, high, groups=tuple((i,) for i in range(count))),
                PublicSample(*self.known, self.regularisation, self.loss),
                self.table.feature_bound,
                self.table.target_bound,
                PooledRecords(owners, self.cost),
                self.seed,
            )
        )

    def isolated(self, owner: int = 0) -> float:
        """Relative fitness on all records of the model that an owner could train alone, without noise (AS, Figure 6)."""
        return float(self.cost.relative(self.loss.fit(*self.records[owner], self.regularisation)[0]))

    @property
    def mean_isolated(self) -> float:
        """The same on average over owners: what to expect of any where all are alike."""
        return float(np.mean([self.isolated(owner) for owner in range(len(self.records))]))

    @property
    def alone(self) -> float:
        """Relative fitness on all records of the learner's own model."""
        return float(self.cost.relative(self.planner.own_model))

    def forecast(self, epsilon: ArrayLike) -> float:
        """Relative fitness forecast at given budgets, one for all or (n_owners,)."""
        return self.planner.at(self._all(epsilon))

    def interval(self, epsilon: ArrayLike) -> tuple[float, float]:
        """Where it is expected 19 times in 20."""
        return self.planner.predict(self._all(epsilon)).interval()

    def trained(self, epsilon: ArrayLike, runs: int) -> Array:
        """Relative fitness of trained models at given budgets, (runs,); a plan of no step leaves the learner its own."""
        budgets = self._all(epsilon)
        clients, weights, plan = self.planner.clients(budgets)
        law, streams = self.planner.mechanism_at(budgets).law, Streams(self.seed, "ours")
        task = Task(clients, self.planner.coordinates, plan, law, runs, streams, self.regularisation, weights)
        return np.asarray(self.cost.relative(train(task).theta))

    def _all(self, epsilon: ArrayLike) -> Array:
        return np.full(len(self.records), 1.0) * np.asarray(epsilon, dtype=float)


def dealt(
    table: Table, sizes: Sequence[int], rng: np.random.Generator, *, shuffled: bool = False
) -> tuple[list[Records], Records]:
    """Records of owners of such sizes, and those that the learner knows: some of the same stretch of the table, nobody's.

    Parameters
    ----------
    table : the table.
    sizes : records of each owner.
    rng : what draws the learner's.
    shuffled : whether owners' records are drawn at random from all; else they are consecutive, from the first on.

    Raises
    ------
    NotPossible
        If the table has not as many records.
    """
    total = sum(sizes) + KNOWN
    if total > table.n_records:
        raise NotPossible(f"{total:,} records are needed, and {table.name} has {table.n_records:,} here")
    order = rng.permutation(table.n_records if shuffled else total)
    known, others = order[:KNOWN], order[KNOWN:total]
    owners = np.split(others if shuffled else np.sort(others), np.cumsum(sizes)[:-1])
    return [(table.x[rows], table.y[rows]) for rows in owners], (table.x[known], table.y[known])


def spared(parts: Sequence[Records], rng: np.random.Generator) -> tuple[list[Records], Records]:
    """Records of owners who differ in size and kind without those that the learner knows, drawn at random among all."""
    sizes = np.cumsum([len(y) for _, y in parts])
    taken = rng.choice(sizes[-1], KNOWN, replace=False)
    x, y = (np.concatenate(one) for one in zip(*parts, strict=True))
    kept = np.ones(len(y), dtype=bool)
    kept[taken] = False
    owners = [(one[0][rows], one[1][rows]) for one, rows in zip(parts, np.split(kept, sizes[:-1]), strict=True)]
    return owners, (x[taken], y[taken])


def our_market(table: Table, sizes: Sequence[int], seed: int, *, shuffled: bool = False, **setup: Any) -> OurMarket:
    """A market of owners of such sizes; parameters and errors are those of `dealt` and `OurMarket`."""
    records, known = dealt(table, sizes, Streams(seed, "ours").rng("dealt"), shuffled=shuffled)
    return OurMarket(records, known, table, seed=seed, **setup)


def column(market: OurMarket, budgets: Iterable[ArrayLike], runs: int) -> pd.DataFrame:
    """A column of a figure: what is forecast and what training gives at some budgets.

    Parameters
    ----------
    market : the market.
    budgets : each one for all owners, or (n_owners,).
    runs : trainings at each.

    Returns
    -------
    DataFrame
        One row for each: epsilon and n_records of the first owner, owners, law (the forecast), relative_fitness and std_error
        (trained), isolated (the first owner's own model on all records) and alone (the learner's).
    """
    rows, isolated = [], market.isolated()
    for epsilon in budgets:
        found = market.trained(epsilon, runs)
        rows.append(
            {
                "epsilon": float(np.ravel(epsilon)[0]),
                "owners": len(market.records),
                "n_records": int(market.sizes[0]),
                "law": market.forecast(epsilon),
                "relative_fitness": float(found.mean()),
                "std_error": float(found.std(ddof=1) / np.sqrt(len(found))),
                "isolated": isolated,
                "alone": market.alone,
            }
        )
    return pd.DataFrame(rows)
