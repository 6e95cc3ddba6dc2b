"""The best that all columns of a table would allow: a yardstick that no party could compute.

The market trains one kind of model on the columns that a scenario names. This is another kind of
model, of every column, fitted without noise to the owners' records: it shows what the market's
columns and its kind of model leave out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd
import scipy

from learning.arrays import Array
from learning.cells import Columns
from learning.data.division import Division
from learning.data.rows import Rows
from scenarios.schema.data import Data
from scenarios.tables.reading import Table
from scenarios.tables.selection import Selection, distinct_texts, read_as

FITTED = 10_000  # rows that a model is fitted to, at most
TRIED = 20_000  # held-out rows that it is tried on, at most
MOST_TEXTS = 30  # of a column, coded each by itself; a column of more than a hundred is left out
MOST_DIFFERENT = 100
LEAST_SHOWN = 10  # rows that a text must have to be coded
KNOTS = (0.2, 0.4, 0.6, 0.8)  # quantiles at which the line of a number bends
OUTERMOST = 0.005  # share of rows at either end of a number that count as its end
RIDGE = 1e-3  # on standardised columns
STEPS = 100  # of the logistic fit, at most


@dataclass(frozen=True)
class EveryColumn:
    """Rows of the owners and rows to try a model on, with every column of the table.

    Parameters
    ----------
    columns : name -> (n,), floats, NaN where missing, or texts, None where missing.
    target : (n,), the target as it is; labels are -1 and +1.
    ends : public range of the target in training, to which it is cut.
    owned : rows of the owners, to fit to.
    tried : held-out rows; empty where there are none.
    labels : whether the target is a label.
    """

    columns: Columns = field(repr=False)
    target: Array = field(repr=False)
    owned: Rows = field(repr=False)
    tried: Rows = field(repr=False)
    labels: bool
    ends: tuple[float, float] = (-np.inf, np.inf)

    @property
    def cut(self) -> float:
        """Share of the rows that models are tried on whose target lies beyond its range."""
        rows = self.tried if len(self.tried) else self.owned
        return float(np.mean(self.target[rows] != np.clip(self.target[rows], *self.ends)))

    @property
    def n_columns(self) -> int:
        """Number of columns that the model looks at."""
        return len(self.columns)

    @cached_property
    def predicted(self) -> tuple[Array, Array]:
        """Predictions for rows that the model was not fitted to, (m,), and their targets, (m,).

        For labels they are log-odds of +1; numbers are held to the target's range. Where no rows
        are held out, each half of the owners' rows is predicted by a model of the other half.
        """
        pairs = [(self.owned, self.tried)]
        if not len(self.tried):
            halves = self.owned[::2], self.owned[1::2]
            pairs = [halves, halves[::-1]]
        scores = np.concatenate([self._fit_and_predict(*pair) for pair in pairs])
        if not self.labels:
            scores = np.clip(scores, *self.ends)
        target = self.target[np.concatenate([rows for _, rows in pairs])]
        return scores, np.clip(target, *self.ends)

    def _fit_and_predict(self, fitted: Rows, others: Rows) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            coded = np.column_stack([np.zeros(len(self.target)), *self._code_columns(fitted)])
            centre = coded[fitted].mean(axis=0)
            spread = coded[fitted].std(axis=0)
        varies = (spread > 0) & np.isfinite(spread)
        x = (coded[:, varies] - centre[varies]) / spread[varies]
        fit = _fit_log_odds if self.labels else _fit_mean
        slopes, constant = fit(x[fitted], np.clip(self.target[fitted], *self.ends))
        return np.asarray(x[others] @ slopes + constant)

    def _code_columns(self, fitted: Rows) -> Iterator[Array]:
        """Yield the coded columns (n,): a number with its bends, a column for each common text."""
        for column in self.columns.values():
            if column.dtype == object:
                counts = pd.Series(column[fitted]).value_counts()
                for text in counts.index[counts >= LEAST_SHOWN][:MOST_TEXTS]:
                    yield (column == text).astype(float)
                continue
            known = column[fitted][np.isfinite(column[fitted])]
            if not len(known):
                continue
            ends = np.quantile(known, (OUTERMOST, 1 - OUTERMOST))
            cells = np.clip(np.where(np.isfinite(column), column, np.median(known)), *ends)
            yield cells
            for knot in np.unique(np.quantile(known, KNOTS)):
                yield np.maximum(cells - knot, 0.0)


def every_column(
    table: Table, data: Data, selection: Selection, division: Division, ends: tuple[float, float]
) -> EveryColumn | None:
    """Collect rows with every column but the target, and those that tell owners and persons.

    Columns of many different texts are left out, since they name rows.

    Parameters
    ----------
    table, data : the whole table and what a scenario says of it.
    selection : how the target is read.
    division : whose each row is.
    ends : range of the target in training.

    Returns
    -------
    None where fewer than four of the owners' rows have a target.
    """
    owned = np.concatenate(list(division.owners.values()))
    most = FITTED if len(division.holdout) else 2 * FITTED
    chosen = [_spread_rows(owned, most), _spread_rows(division.holdout, TRIED)]
    taken = table.read_rows(np.concatenate(chosen))
    target = selection.meaning.read_columns({data.target: taken.columns[data.target]})[data.target]
    known = np.flatnonzero(np.isfinite(target))
    first, others = np.split(known, [np.searchsorted(known, len(chosen[0]))])
    if len(first) < 4:
        return None
    columns = {}
    for name, cells in taken.columns.items():
        if name in (data.target, data.owner, data.person):
            continue
        column = read_as(cells, distinct_texts(cells), table.commas)
        if column.dtype != object or len(distinct_texts(column)) <= MOST_DIFFERENT:
            columns[name] = column
    return EveryColumn(columns, target, first, others, selection.labels is not None, ends)


def _spread_rows(rows: Rows, most: int) -> Rows:
    """Take so many rows at most, spread evenly over all."""
    if len(rows) <= most:
        return rows
    return rows[np.linspace(0, len(rows) - 1, most).astype(int)]


def _fit_mean(x: Array, y: Array) -> tuple[Array, float]:
    """Fit slopes (p,) to standardised columns by ridge regression, and the constant."""
    squares = x.T @ x / len(x) + RIDGE * np.eye(x.shape[1])
    return np.linalg.solve(squares, x.T @ (y - y.mean()) / len(x)), float(y.mean())


def _fit_log_odds(x: Array, y: Array) -> tuple[Array, float]:
    """Fit slopes (p,) by logistic regression with a ridge, and the constant."""

    def cost(given: Array) -> tuple[float, Array]:
        margins = y * (x @ given[:-1] + given[-1])
        slopes = -y * scipy.special.expit(-margins) / len(y)
        ridge = np.append(RIDGE * given[:-1], 0.0)
        value = np.logaddexp(0.0, -margins).mean() + 0.5 * ridge @ given
        return float(value), np.append(x.T @ slopes, slopes.sum()) + ridge

    start = np.zeros(x.shape[1] + 1)
    options = {"maxiter": STEPS}
    found = scipy.optimize.minimize(cost, start, jac=True, method="L-BFGS-B", options=options).x
    return found[:-1], float(found[-1])
