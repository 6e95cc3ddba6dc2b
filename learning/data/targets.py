"""Several targets of one table: every row becomes a row for each target.

Row j of a record has the record's features in places of its own, so that one linear model of all
these rows is a model for each target. Targets are measured from their public mean in units of their
public spread, in which errors of different units add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Literal

import numpy as np

from learning.arrays import Array
from learning.data.encoding import Bounds, Columns, Counts, Encoder, Target
from learning.data.fitting import number_target
from learning.data.owner_data import OwnerData
from learning.data.rows import Rows
from learning.errors import InputError


@dataclass(frozen=True)
class SeveralTargets(Encoder):
    """Encoder of a table with k targets; ``target`` is all of them together, in public spreads.

    Parameters
    ----------
    Beside those of `Encoder`:

    one : the encoder of a row's p features.
    each : the targets, in their own units.
    spreads : array (k,), the standard deviation of each in the public rows.
    """

    one: Encoder = field(kw_only=True)
    each: tuple[Target, ...] = field(kw_only=True)
    spreads: Array = field(kw_only=True)

    @property
    def targets(self) -> tuple[Target, ...]:
        """The targets, in their own units."""
        return self.each

    @property
    def n_parameters(self) -> int:
        """Number of features of all targets, k p."""
        return len(self.each) * self.one.n_parameters

    def records(
        self, columns: Columns, rows: Rows, order: Literal["C", "F"] = "C"
    ) -> tuple[Array, Array, Counts]:
        """Features (n k, k p) and targets (n k,) of rows, k of each row, and clipped cells (n,)."""
        features, outside = self.one.encode(columns, rows)
        count, width = features.shape
        k = len(self.each)
        x = np.zeros((count, k, k, width), order=order)
        y = np.empty((count, k))
        for place, target in enumerate(self.each):
            unknown = np.isnan(columns[target.name][rows].astype(float, copy=False))
            x[:, place, place] = np.where(unknown[:, None], self.one.mean, features)
            y[:, place], beyond = target.encode(columns, rows)
            outside = outside + beyond
        y /= self.spreads
        return x.reshape(count * k, k * width), y.ravel(), outside


def join_rows(owner: OwnerData, targets: int) -> OwnerData:
    """Records of an owner with k targets as one row each, (n, k^2 p + k), whose place is no matter.

    >>> join_rows(OwnerData("a", np.eye(2), np.array([5.0, 6.0])), 2).x.tolist()
    [[1.0, 0.0, 0.0, 1.0, 5.0, 6.0]]
    """
    count = owner.n_records // targets
    cells = np.column_stack([owner.x.reshape(count, -1), owner.y.reshape(count, -1)])
    return OwnerData(owner.name, cells, np.zeros(count), owner.clipped)


def join_targets(
    encoder: Encoder, columns: Columns, names: Sequence[str], public: Rows, bounds: Bounds
) -> Encoder:
    """Encoder of the target of an encoder and of further ones together; as it is without any.

    Raises
    ------
    InputError
        If a further target's range would have to be read from private records, or all public rows
        have the same value of one.
    """
    if not names:
        return encoder
    each = (encoder.target, *(number_target(name, columns, public, bounds) for name in names))
    spreads = np.array([one.encode(columns, public)[0].std() for one in each])
    for target, spread in zip(each, spreads, strict=True):
        if not spread > 0:
            rule = "must have two values or more among the public rows, which tell its spread"
            raise InputError("data.more_targets", rule, repr(target.name))
    ends = np.array([one.ends for one in each]) / spreads[:, None]
    low, high = float(ends[:, 0].min()), float(ends[:, 1].max())
    joint = Target(", ".join(one.name for one in each), low, high, 0.0, 0.0)
    parts = {one.name: getattr(encoder, one.name) for one in fields(Encoder)}
    return SeveralTargets(**parts | {"target": joint}, one=encoder, each=each, spreads=spreads)
