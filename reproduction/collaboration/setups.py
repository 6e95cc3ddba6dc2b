"""Common set-up of the synchronous paper: two tables, three owners, a hundred rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.losses.loss import Loss
from learning.losses.margin import Hinge
from learning.losses.squared import Squared
from learning.training.plan import Plan
from reproduction.item import Setting
from reproduction.tables import Table, load_table
from reproduction.training.published import Market, given_bound, in_random_order, step_constant

OWNERS = 3
HORIZON = 100
BUDGETS = (0.1, 1.0, 10.0)
DIGITS = 3  # of the largest size that a table allows
WORK = (2e7, 4e6)  # records times trainings of a market without sufficient statistics; quick
FEWEST = 20  # trainings at a point, where they cost much
AT_LEAST = 40
MOST_QUICK = 3_000  # records of an owner, where time is short


@dataclass(frozen=True)
class Setup:
    """One of the two tables of the paper, and the training on it.

    Parameters
    ----------
    name : name of the table.
    subject : subject of the table, for titles.
    loss : loss that is trained.
    regularisation : r of g_1 = r/2 |theta|^2.
    followed : records of each owner where a path is followed.
    small, large : records of the others in the four scenarios.
    least : fewest records of an owner.
    replications : trainings at a point that a slope is fitted to, over those of the paper.
    """

    name: str
    subject: str
    loss: Loss
    regularisation: float
    followed: int
    small: int
    large: int
    least: int
    replications: int = 1


@dataclass(frozen=True)
class Prepared:
    """A setup on the table at hand, with bound and step from the public rows."""

    setup: Setup
    setting: Setting

    @cached_property
    def table(self) -> Table:
        """Records in random order."""
        return shuffled_table(self.setup.name, self.setting)

    @cached_property
    def gradient_bound(self) -> float:
        """Gradient bound Xi."""
        return given_bound(self.table, self.setup.loss, self.setup.regularisation)

    @cached_property
    def plan(self) -> Plan:
        """Algorithm 2 over a hundred rounds."""
        constant = step_constant(self.table, self.setup.loss, self.setup.regularisation)
        return Plan("averaged", "averaged", HORIZON, constant)

    def make_market(self, sizes: Sequence[int], *, as_filed: bool = False) -> Market:
        """Make a market of owners with consecutive records, in random order or that of the file."""
        source = self.table
        if as_filed:
            source = load_table(self.setup.name, self.setting)
        setup = self.setup
        parts = source.slices(sizes)
        return Market(parts, self.gradient_bound, setup.loss, setup.regularisation)

    def largest_size(self, held_by_others: int = 0, owners: int = OWNERS) -> int:
        """Most records that each of some owners can hold besides others, to three digits."""
        most = (self.table.n_records - held_by_others) // owners
        if self.setting.quick and not self.setup.loss.quadratic:
            most = min(most, MOST_QUICK)
        unit = 10 ** max(0, len(str(most)) - DIGITS)
        return most // unit * unit

    def limit_sizes(self, wanted: ArrayLike) -> list[int]:
        """Sizes of three equal owners as wanted, larger ones replaced by the most possible."""
        most = self.largest_size()
        asked = np.round(np.atleast_1d(wanted)).astype(int)
        return sorted({min(most, int(one)) for one in asked})

    def count_runs(self, records: int, profiles: int, *, sharp: bool = False) -> int:
        """Trainings at each profile of budgets; more where ``sharp``, for a slope."""
        runs = max(AT_LEAST, self.setting.runs)
        if sharp:
            runs *= self.setup.replications
        if self.setup.loss.quadratic:
            return runs
        work = self.setting.pick_value(*WORK)
        return int(np.clip(work // (records * profiles), FEWEST, runs))

    def measure_fitness(
        self,
        sizes: Sequence[int],
        profiles: Array,
        purpose: str,
        *,
        as_filed: bool = False,
        sharp: bool = False,
    ) -> dict[str, Array]:
        """Relative fitness of trainings at profiles of budgets (m, n_owners), in columns of m.

        ``bias`` is the fitness without noise, by the exact law under squared loss and by a training
        elsewhere; ``power`` the noise S; ``noise`` its effect by the law, nan where there is none;
        ``optimum`` f*.
        """
        market = self.make_market(sizes, as_filed=as_filed)
        runs = self.count_runs(sum(sizes), len(profiles), sharp=sharp)
        streams = self.setting.streams(f"{self.setup.name} {purpose} {sizes} {as_filed}")
        found = market.fitness(profiles, self.plan, runs=runs, streams=streams)
        power = market.noise_power(profiles, self.plan)
        if self.setup.loss.quadratic:
            bias, noise = market.law(profiles, self.plan)
        else:
            free = np.full(len(sizes), np.inf)
            bias = float(market.fitness(free, self.plan, runs=1, streams=streams)[0, 0])
            noise = np.full(len(profiles), np.nan)
        return {
            "relative_fitness": found.mean(axis=1),
            "std_error": found.std(axis=1, ddof=1) / np.sqrt(runs),
            "bias": np.full(len(profiles), bias),
            "noise": noise,
            "power": power,
            "optimum": np.full(len(profiles), market.cost.optimum),
            "runs": np.full(len(profiles), runs),
        }

    @property
    def constants(self) -> dict[str, float]:
        """Columns that all rows of an item share."""
        return {
            "owners": OWNERS,
            "horizon": HORIZON,
            "gradient_bound": self.gradient_bound,
            "step_size": self.plan.step_size,
        }


@cache
def shuffled_table(name: str, setting: Setting) -> Table:
    """Table with its records in random order; once in a process."""
    return in_random_order(load_table(name, setting), setting.streams("deal"))


LENDING = Setup(
    "lending", "lending", Squared(), 0.0, 250_000, 1_000, 100_000, 1_000, replications=4
)
FRAUD = Setup("fraud", "fraud", Hinge(), 1.0, 30_000, 100, 10_000, 100, replications=2)
