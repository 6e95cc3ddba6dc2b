"""What figures of the synchronous paper have in common: two tables, three owners, a hundred rounds, one rule a choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.losses.hinge import Hinge
from learning.losses.loss import Loss
from learning.losses.squared import Squared
from learning.training.plan import Plan
from scenarios.reproduce.item import Setting
from scenarios.reproduce.tables import Table, table
from scenarios.reproduce.training.published import Market, given_bound, in_random_order, step_constant

OWNERS, HORIZON = 3, 100
BUDGETS = (0.1, 1.0, 10.0)
DIGITS = 3  # of the largest size that a table allows
DOMINATED = 30.0  # times the bias that noise must be, for a point to count as dominated by noise
WORK, QUICK_WORK = 2e7, 4e6  # records times trainings of one market, where no sums stand for records
FEWEST, AT_LEAST, MOST_QUICK = (
    20,
    40,
    3_000,
)  # trainings at a point, where they cost much and little; records of an owner, where time is short

READINGS = (
    "The paper states neither Ξ nor c₁ nor where training starts. Cells are clipped to the ranges of the public rows but "
    "for half a per cent at either end; loans' columns are standardised before components are taken, and their rates "
    "counted from the public mean, since the model has no constant. Here Ξ is the largest 1-norm of a public row's "
    "gradient in the ball of 1.2 times the public model's largest parameter (of a public row itself under hinge "
    "loss), c₁ one over the largest curvature on the public rows, and training starts at 0, held in no ball: with "
    "one that binds, the slopes vanish. Such a Ξ proves nothing of the owners' records, and no promise is made of "
    "this noise."
)
DEALT = (
    "Records are dealt to the owners at random, which the paper allows, so that few and many are of one kind: it takes "
    "the file's order."
)

THREE = "Three owners; 100 rounds, many trainings."
SAYS = f"\nRecords dealt at random. {THREE}"


@dataclass(frozen=True)
class Setup:
    """One of the two tables of the paper, and what is trained on it.

    Parameters
    ----------
    name : of the table.
    subject : what it is about, for titles.
    loss : that is trained.
    regularisation : r of g_1 = r/2 |theta|^2.
    followed : records of each owner where a path is followed.
    small, large : records of the others in the four scenarios.
    least : the fewest records of an owner.
    replications : trainings at a point that a slope is fitted to, over those that the paper has.
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

    def at(self, setting: Setting) -> Prepared:
        """The setup on the table at hand."""
        return Prepared(self, setting)


@dataclass(frozen=True)
class Prepared:
    """A setup on the table that is there, with what the public rows say."""

    setup: Setup
    setting: Setting

    @cached_property
    def table(self) -> Table:
        """Its records, dealt at random."""
        return dealt(self.setup.name, self.setting)

    @cached_property
    def gradient_bound(self) -> float:
        """Xi."""
        return given_bound(self.table, self.setup.loss, self.setup.regularisation)

    @cached_property
    def plan(self) -> Plan:
        """Algorithm 2 over a hundred rounds."""
        constant = step_constant(self.table, self.setup.loss, self.setup.regularisation)
        return Plan("averaged", "averaged", HORIZON, constant)

    def market(self, sizes: Sequence[int], *, as_filed: bool = False) -> Market:
        """Owners of so many consecutive records each, in the order dealt or as they are filed."""
        source = table(self.setup.name, self.setting) if as_filed else self.table
        return Market(source.slices(sizes), self.gradient_bound, self.setup.loss, self.setup.regularisation)

    def largest(self, held_by_others: int = 0, owners: int = OWNERS) -> int:
        """The most records that each of some owners can hold beside others, to three digits."""
        most = (self.table.n_records - held_by_others) // owners
        if self.setting.quick and not self.setup.loss.quadratic:
            most = min(most, MOST_QUICK)
        unit = 10 ** max(0, len(str(most)) - DIGITS)
        return most // unit * unit

    def sizes(self, wanted: ArrayLike) -> list[int]:
        """Numbers of records of three equal owners: those wanted, or the most that the table has where it lacks some."""
        most, asked = self.largest(), np.round(np.atleast_1d(wanted)).astype(int)
        return sorted({*(min(most, int(one)) for one in asked)})

    def runs(self, records: int, profiles: int, *, sharp: bool = False) -> int:
        """Trainings at each of some profiles of budgets; more where they must be ``sharp``, for a slope is fitted to them."""
        runs = max(AT_LEAST, self.setting.runs) * (self.setup.replications if sharp else 1)
        if self.setup.loss.quadratic:
            return runs
        work = QUICK_WORK if self.setting.quick else WORK
        return int(np.clip(work // (records * profiles), FEWEST, runs))

    def measured(
        self, sizes: Sequence[int], profiles: Array, purpose: str, *, as_filed: bool = False, sharp: bool = False
    ) -> dict[str, Array]:
        """What trainings come to at some profiles of budgets (m, n_owners), in columns of m.

        ``bias`` is what is left without noise, by the exact law under squared loss and by a training elsewhere; ``power`` the
        noise S; ``noise`` what it adds, by the law, nan where there is none; ``optimum`` f*.
        """
        market, runs = self.market(sizes, as_filed=as_filed), self.runs(sum(sizes), len(profiles), sharp=sharp)
        streams = self.setting.streams(f"{self.setup.name} {purpose} {sizes} {as_filed}")
        found = market.fitness(profiles, self.plan, runs=runs, streams=streams)
        power = market.noise_power(profiles, self.plan)
        if self.setup.loss.quadratic:
            bias, noise = market.law(profiles, self.plan)
        else:
            bias = float(market.fitness(np.full(len(sizes), np.inf), self.plan, runs=1, streams=streams)[0, 0])
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
        """What all rows of an item's table have in common."""
        return {
            "owners": OWNERS,
            "horizon": HORIZON,
            "gradient_bound": self.gradient_bound,
            "step_size": self.plan.step_size,
        }


@cache
def dealt(name: str, setting: Setting) -> Table:
    """A table with its records dealt at random; once in a process."""
    return in_random_order(table(name, setting), replace(setting).streams("deal"))


LENDING = Setup("lending", "lending", Squared(), 0.0, 250_000, 1_000, 100_000, 1_000, replications=4)
FRAUD = Setup("fraud", "fraud", Hinge(), 1.0, 30_000, 100, 10_000, 100, replications=2)
