"""Common set-up of the synchronous paper: tables, owners, rounds, and laws of measured fitness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.losses.loss import Loss
from learning.losses.margin import Hinge
from learning.losses.squared import Squared
from learning.training.plan import Plan
from reproduction.checks import log_slope, slope_error
from reproduction.item import NotPossible, Setting
from reproduction.specification import Found
from reproduction.tables import load_table
from reproduction.tables.records import Table
from reproduction.training import Market, given_bound, in_random_order, step_constant

FEWEST_POINTS = 3  # of a fitted slope
DOMINATED = 30.0  # ratio of noise to bias from which noise dominates a point
DEALT_ANEW = 0.03  # change of a slope between one random order of the records and another


def add_law(frame: pd.DataFrame) -> pd.DataFrame:
    """Add the values of the law, domination by noise, and the forms of both theorems.

    Theorem 2 bounds by a multiple of S, Theorem 3 by one of its root, both drawn through the
    noisiest point; where no exact law is known, noise is the same multiple of S/f*.
    """
    noisiest = frame.loc[frame["power"].idxmax()]
    top = noisiest["relative_fitness"]
    share = frame["power"] / noisiest["power"]
    added = (top - noisiest["bias"]) * share * noisiest["optimum"] / frame["optimum"]
    noise = frame["noise"].fillna(added)
    return frame.assign(
        noise=noise,
        law=frame["bias"] + noise,
        dominated=(noise >= DOMINATED * frame["bias"]).astype(int),
        theorem_2=top * share,
        theorem_3=top * np.sqrt(share),
        exact_law=int(frame["noise"].notna().all()),
        protocol="published",
    )


def fit_slope(frame: pd.DataFrame, x: str, y: str = "relative_fitness") -> tuple[float, float, int]:
    """Logarithmic slope over all points, its standard error, and the number of points.

    >>> points = pd.DataFrame({"x": [1, 10, 100], "relative_fitness": [8.0, 0.08, 8e-4]})
    >>> [round(value, 9) for value in fit_slope(points.assign(std_error=0.0), "x")]
    [-2.0, 0.0, 3]
    """
    if len(frame) < FEWEST_POINTS:
        return np.nan, np.nan, len(frame)
    error = slope_error(frame[x], frame["std_error"] / frame["relative_fitness"])
    return log_slope(frame[x], frame[y]), error, len(frame)


def check_slopes(frame: pd.DataFrame, by: str, x: str, what: str) -> Found:
    """Check a slope of -2 in each group."""
    for value, part in frame.groupby(by):
        found, error, points = fit_slope(part, x)
        if points >= FEWEST_POINTS:
            words = {"what": what.format(value), "points": points}
            words |= {"tolerance": 4 * error + DEALT_ANEW, "std_error": error}
            yield "slope", found, words


def check_fit(frame: pd.DataFrame) -> Found:
    """Check all points against the exact law, or the noisy ones against that of one constant."""
    if frame["exact_law"].all():
        distance = (frame["relative_fitness"] - frame["law"]) / frame["std_error"]
        yield "furthest", distance.abs().max(), {"points": len(frame)}
        return
    part = frame[frame["dominated"] > 0]
    ratio = part["relative_fitness"] / part["law"]
    tolerance = 4 * (part["std_error"] / part["law"]).max() + 0.05
    for word, value in (("least", ratio.min()), ("most", ratio.max())):
        yield "near", value, {"word": word, "tolerance": tolerance}


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
    loss : loss that is trained.
    regularisation : r of g_1 = r/2 |theta|^2.
    followed : records of each owner where a path is followed.
    small, large : records of the others in the four scenarios.
    least : fewest records of an owner.
    replications : trainings at a point that a slope is fitted to, over those of the paper.
    """

    name: str
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

    def require_larger(self, size: int) -> None:
        """Refuse a table in which three owners cannot have more than some records each.

        Raises
        ------
        NotPossible
        """
        most = self.largest_size()
        if most <= size:
            raise NotPossible(
                f"more than {size:,} records of each owner are needed, and {self.table.name} has "
                f"{most:,} for each here"
            )

    def limit_sizes(self, wanted: ArrayLike) -> list[int]:
        """Sizes of three equal owners as wanted, larger ones replaced by the most possible.

        Raises
        ------
        NotPossible
            If owners cannot have a record each.
        """
        self.require_larger(0)
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


LENDING = Setup("lending", Squared(), 0.0, 250_000, 1_000, 100_000, 1_000, replications=4)
FRAUD = Setup("fraud", Hinge(), 1.0, 30_000, 100, 10_000, 100, replications=2)
