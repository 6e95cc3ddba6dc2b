"""WD's tables: records of norm 1, a test set held out, and sizes of owners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.losses.loss import RecordFitness
from learning.losses.losses import LOSSES
from reproduction.item import NotPossible, Setting
from reproduction.tables import load_table

TABLES = {
    "kdd": "KDD Cup 99",
    "adult": "Adult",
    "bank": "Bank",
    "cancer": "Breast cancer",
    "balanced_fraud": "Card fraud",
}
ONE_HOT = "adult_one_hot"
SMALL = ("cancer", "balanced_fraud")  # under a thousand rows: a skew of 1 to 5
TESTED = 0.2  # share of the rows in the test set
LEAST = 0.25  # of an equal share, for every owner of a random size
RIDGE = 1e-4  # of the cost: separable records have no best model without one
LOSS = LOSSES["logistic"]


@dataclass(frozen=True)
class Rows:
    """One of WD's tables with records of norm 1, so that logistic gradients have norm 1 at most.

    Parameters
    ----------
    name : of the table.
    x, y : (n, p) and (n,), the owners' rows in random order.
    public_x, public_y : rows without an owner, for the choice of the step.
    test_x, test_y : rows for accuracy.
    record_ids : (n,), the same number for the same record.
    stand_in : True where the table is generated.
    """

    name: str
    x: Array = field(repr=False)
    y: Array = field(repr=False)
    public_x: Array = field(repr=False)
    public_y: Array = field(repr=False)
    test_x: Array = field(repr=False)
    test_y: Array = field(repr=False)
    record_ids: NDArray[np.intp] = field(repr=False)
    stand_in: bool

    @cached_property
    def cost(self) -> RecordFitness:
        """Cost on the rows of all owners; its minimiser is WD's theta*."""
        return RecordFitness(LOSS, ((self.x, self.y),), RIDGE)


def load_rows(name: str, setting: Setting) -> Rows:
    """A table, split at random into rows of owners and test rows; made once in a process.

    Raises
    ------
    NotPossible
        If there is a folder of data and the table is not in it.
    """
    return _load_rows(name, setting.data, setting.quick)


def load_available(names: Sequence[str], setting: Setting) -> list[Rows]:
    """The tables that are available.

    Raises
    ------
    NotPossible
        If none is.
    """
    found = []
    missing = None
    for name in names:
        try:
            found.append(load_rows(name, setting))
        except NotPossible as error:
            missing = error
    if missing and not found:
        raise missing
    return found


@cache
def _load_rows(name: str, data: Path | None, quick: bool) -> Rows:
    setting = Setting(data, quick)
    read = load_table(name, setting)
    order = setting.streams("weighted").rng("rows", name).permutation(read.n_records)
    x = normalise_rows(read.x[order])
    y = read.y[order]
    trained = len(y) - round(TESTED * len(y))
    _, ids = np.unique(np.column_stack([x, y])[:trained], axis=0, return_inverse=True)
    return Rows(
        name,
        x[:trained],
        y[:trained],
        normalise_rows(read.public_x),
        read.public_y,
        x[trained:],
        y[trained:],
        ids.ravel(),
        read.stand_in,
    )


def normalise_rows(x: Array) -> Array:
    """Every row divided by its own norm, independently of other rows.

    >>> normalise_rows(np.array([[3.0, 4.0], [0.0, 2.0]])).tolist()
    [[0.6, 0.8], [0.0, 1.0]]
    """
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def sample_sizes(total: int, owners: int, *, rng: np.random.Generator) -> list[int]:
    """Random sizes: a quarter of an equal share each, and the rest cut at random places.

    >>> sizes = sample_sizes(1000, 4, rng=np.random.default_rng(1))
    >>> sum(sizes), min(sizes) >= 62
    (1000, True)
    """
    least = int(LEAST * total / owners)
    cuts = np.sort(rng.integers(0, total - owners * least + 1, owners - 1))
    return (least + np.diff(cuts, prepend=0, append=total - owners * least)).tolist()


def skewed_sizes(total: int, owners: int, skew: float) -> list[int]:
    """Sizes of two equal groups of owners, ``skew`` times as large in the first.

    >>> skewed_sizes(1000, 4, 4)
    [400, 400, 100, 100]
    """
    small = int(2 * total / (owners * (1 + skew)))
    return [int(skew * small)] * (owners // 2) + [small] * (owners - owners // 2)
