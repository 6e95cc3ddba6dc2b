"""Rows that nobody trains on, to try models on: held in memory, or as their sums alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from learning.arrays import Array
from learning.losses.loss import Loss
from learning.losses.squared import SquaredStatistics


class Fresh(Protocol):
    """What is asked of rows that nobody trains on."""

    @property
    def n_records(self) -> int: ...
    def error(self, loss: Loss, theta: Array) -> float:
        """`learning.losses.loss.Loss.error` of models theta (runs, p) on them."""
        ...

    def unexplained(self, loss: Loss) -> float:
        """The error of one who knows nothing of a row: the smaller share of a label, or the variance of a number."""
        ...


@dataclass(frozen=True)
class FreshRecords:
    """Rows x (n, p) and y (n,) in memory."""

    x: Array = field(repr=False)
    y: Array = field(repr=False)

    @property
    def n_records(self) -> int:
        """How many they are."""
        return len(self.y)

    def error(self, loss: Loss, theta: Array) -> float:
        """Share of wrong labels or mean squared error of models theta (runs, p)."""
        return loss.error(self.x, self.y, theta)

    def unexplained(self, loss: Loss) -> float:
        """The smaller share of a label, or the variance of a number."""
        return float(min(np.mean(self.y > 0), np.mean(self.y < 0)) if loss.labels else self.y.var())


@dataclass(frozen=True)
class FreshSums:
    """Rows of which ``told`` gives the sums under squared loss, the last column of x being the constant 1.

    >>> from learning.losses.losses import make_loss
    >>> from learning.losses.squared import squared_statistics
    >>> x, y, loss = np.array([[2.0, 1.0], [0.0, 1.0], [1.0, 1.0]]), np.array([1.0, 2.0, 6.0]), make_loss("squared")
    >>> by_sums, by_rows = FreshSums(lambda: squared_statistics(x, y)), FreshRecords(x, y)
    >>> [round(fresh.error(loss, np.ones((1, 2))), 9) for fresh in (by_sums, by_rows)]
    [7.0, 7.0]
    >>> [round(fresh.unexplained(loss), 9) for fresh in (by_sums, by_rows)]
    [4.666666667, 4.666666667]
    """

    told: Callable[[], SquaredStatistics] = field(repr=False)

    @property
    def n_records(self) -> int:
        """How many they are."""
        return self.told().n_records

    def error(self, loss: Loss, theta: Array) -> float:
        """Mean squared error of models theta (runs, p)."""
        return float(np.mean(self.told().mean_loss(theta)))

    def unexplained(self, loss: Loss) -> float:
        """The variance of the number."""
        sums = self.told()
        return sums.yy / sums.n_records - float(sums.xy[-1] / sums.n_records) ** 2
