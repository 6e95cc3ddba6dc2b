"""Records of each owner that have arrived by each period of a market that repeats."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from learning.errors import InputError
from learning.forecast.pooled import PooledRecords, check_imperfect
from learning.phrases import format_value
from scenarios.features.time import Time
from scenarios.schema.scenario import Scenario
from scenarios.tables.dataset import MarketData
from scenarios.tables.paths import open_scenario_table


@dataclass(frozen=True)
class Arrivals:
    """Records of all owners, and how many of each have arrived by each period.

    Parameters
    ----------
    data : the records, each owner's in the order in which they arrive.
    counts : array (periods, n_owners).
    fresh : whether a period asks only about records that no period before has asked about.
    """

    data: MarketData
    counts: np.ndarray
    fresh: bool

    def span(self, sold: np.ndarray) -> np.ndarray:
        """First record, and one beyond the last, that the next period asks of each owner, (2, n).

        Parameters
        ----------
        sold : array (k, n_owners), what was sold in each period before; 0 where nothing was asked.
        """
        now = self.counts[len(sold)]
        if not self.fresh or not len(sold):
            return np.stack([np.zeros_like(now), now])
        return np.stack([np.where(sold > 0, self.counts[: len(sold)], 0).max(axis=0), now])

    def of(self, span: np.ndarray) -> MarketData:
        """The market's data with those records alone.

        Raises
        ------
        InputError
            If the table is read in parts, or some model predicts all records without any error.
        """
        first, last = span
        if not first.any() and (last == self.data.sizes).all():
            return self.data
        pooled = self.data.pooled
        if not isinstance(pooled, PooledRecords):
            left = "must be left out for a table that is read in parts"
            rule = f"growth and arrived {left}, whose records have no order in memory"
            raise InputError("time", rule, f"{self.data.n_rows:,} rows", "Leave them out.")
        spans = zip(pooled.owners, first.tolist(), last.tolist(), strict=True)
        owners = tuple(replace(one, x=one.x[i:j], y=one.y[i:j]) for one, i, j in spans)
        penalty = self.data.fitness.regularisation
        fitness = self.data.loss.fitness([(one.x, one.y) for one in owners], penalty)
        check_imperfect(fitness, float(np.mean(np.concatenate([one.y for one in owners]) ** 2)))
        now = replace(pooled, owners=owners, fitness=fitness, counted_overlap=None)
        return replace(self.data, pooled=now)


def arriving(scenario: Scenario, time: Time, data: MarketData) -> Arrivals:
    """The records of a scenario as they arrive over its periods.

    Raises
    ------
    InputError
        If a period has no record of an owner, or, where only new records are asked about, none that
        is new.
    """
    fresh = time.composition == "fresh"
    if time.arrived is None:
        left = np.arange(time.periods - 1, -1, -1)[:, None]
        counts = np.maximum(np.rint(data.sizes / (1 + time.growth) ** left), 1).astype(int)
    else:
        data, counts = by_arrival(scenario, time, data)
    new = np.diff(counts, axis=0, prepend=0) if fresh else counts
    if (new < 1).any():
        period, owner = np.argwhere(new < 1)[0].tolist()
        key = "time.growth" if time.arrived is None else "time.arrived"
        record = f"{'new ' * fresh}record in each of the {time.periods} periods"
        found = f"none of {data.names[owner]} in period {period + 1}"
        rule = f"every owner must have a {record}"
        raise InputError(key, rule, found, "Ask for fewer periods.")
    return Arrivals(data, counts, fresh)


def by_arrival(scenario: Scenario, time: Time, data: MarketData) -> tuple[MarketData, np.ndarray]:
    """Data in order of arrival, and records arrived by each period (periods, n_owners)."""
    division = data.division
    pooled = data.pooled
    arrived = open_scenario_table(scenario).whose_rows(str(time.arrived), "arrived")
    if not isinstance(pooled, PooledRecords):
        rule = "must be left out for a table that is read in parts"
        raise InputError("time.arrived", rule, f"{data.n_rows:,} rows", "Leave it out.")
    rows = [division.owners[name] for name in data.names]
    known = np.unique(np.concatenate([arrived.of_row[some] for some in rows]))
    values = [arrived.names[code] for code in known.tolist()]
    check_values(time, values)
    place = np.zeros(len(arrived.names), dtype=int)
    place[known[in_order(values)]] = np.arange(len(values))
    periods = [place[arrived.of_row[some]] for some in rows]
    orders = [np.argsort(of, kind="stable") for of in periods]
    owners = tuple(
        replace(one, x=one.x[order], y=one.y[order])
        for one, order in zip(pooled.owners, orders, strict=True)
    )
    whose = {name: some[order] for name, some, order in zip(data.names, rows, orders, strict=True)}
    ordered = replace(
        data, pooled=replace(pooled, owners=owners), division=replace(division, owners=whose)
    )
    arriving = [np.bincount(of, minlength=time.periods) for of in periods]
    return ordered, np.cumsum(np.array(arriving).T, axis=0)


def check_values(time: Time, values: list[str]) -> None:
    """Refuse missing values of the column of arrivals, and more of them than periods."""
    if "" in values:
        rule = "must have a value for every record of an owner"
        raise InputError("time.arrived", rule, "a missing cell", "Fill it in.")
    if len(values) > time.periods:
        rule = f"must take at most time.periods = {time.periods} values, one for each period"
        found = f"{len(values)} in column {format_value(time.arrived)}"
        raise InputError("time.arrived", rule, found, "Raise time.periods.")


def in_order(values: list[str]) -> np.ndarray:
    """Order of texts: as numbers where all are numbers, else lexical, as of ISO 8601 dates.

    >>> in_order(["10", "9"]).tolist(), in_order(["2021-10", "2021-09"]).tolist()
    ([1, 0], [1, 0])
    """
    try:
        return np.argsort([float(value) for value in values], kind="stable")
    except ValueError:
        return np.argsort(values, kind="stable")
