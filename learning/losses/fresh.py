"""Rows to test models on: held in memory, or as their sums alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from learning.arrays import Array
from learning.losses.loss import Loss
from learning.losses.squared import SquaredStatistics


class Fresh(Protocol):
    """Rows that are not trained on."""

    @property
    def n_records(self) -> int: ...

    def error(self, loss: Loss, theta: Array) -> float:
        """`learning.losses.loss.Loss.error` of models theta (runs, p) on the rows."""
        ...

    def baseline_error(self, loss: Loss) -> float:
        """Error of the best constant: the smaller share of a label, or the variance of a number."""
        ...


@dataclass(frozen=True)
class FreshRecords:
    """Rows x (n, p) and y (n,) in memory."""

    x: Array = field(repr=False)
    y: Array = field(repr=False)

    @property
    def n_records(self) -> int:
        return len(self.y)

    def error(self, loss: Loss, theta: Array) -> float:
        return loss.error(self.x, self.y, theta)

    def baseline_error(self, loss: Loss) -> float:
        if loss.labels:
            return float(min(np.mean(self.y > 0), np.mean(self.y < 0)))
        return float(self.y.var())


@dataclass(frozen=True)
class FreshSums:
    """Rows with ``told`` sums under squared loss; the last column of x is the constant 1.

    >>> from learning.losses.losses import make_loss
    >>> from learning.losses.squared import squared_statistics
    >>> x = np.array([[2.0, 1.0], [0.0, 1.0], [1.0, 1.0]])
    >>> y, loss = np.array([1.0, 2.0, 6.0]), make_loss("squared")
    >>> kinds = FreshSums(lambda: squared_statistics(x, y)), FreshRecords(x, y)
    >>> [round(fresh.error(loss, np.ones((1, 2))), 9) for fresh in kinds]
    [7.0, 7.0]
    >>> [round(fresh.baseline_error(loss), 9) for fresh in kinds]
    [4.666666667, 4.666666667]
    """

    told: Callable[[], SquaredStatistics] = field(repr=False)

    @property
    def n_records(self) -> int:
        return self.told().n_records

    def error(self, loss: Loss, theta: Array) -> float:
        return float(np.mean(self.told().mean_loss(theta)))

    def baseline_error(self, loss: Loss) -> float:
        sums = self.told()
        return sums.yy / sums.n_records - float(sums.xy[-1] / sums.n_records) ** 2
