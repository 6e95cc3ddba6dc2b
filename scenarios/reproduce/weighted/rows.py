"""WD's five tables as its experiments take them: records of norm 1, a test set, and owners of unequal size."""

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
from scenarios.reproduce.item import NotPossible, Setting
from scenarios.reproduce.tables import table

TABLES = {
    "kdd": "KDD Cup 99",
    "adult": "Adult",
    "bank": "Bank",
    "cancer": "Breast cancer",
    "balanced_fraud": "Card fraud",
}
ONE_HOT = "adult_one_hot"
TITLES = TABLES | {ONE_HOT: "Adult, one-hot"}
SMALL = ("cancer", "balanced_fraud")  # under a thousand rows: a skew of 1 to 5
TESTED = 0.2  # share of the rows that nobody trains on
LEAST = 0.25  # of an equal share, that every owner of a random size has at least
RIDGE = 1e-4  # of the cost: without one the best model of separable records does not exist
LOSS = LOSSES["logistic"]


@dataclass(frozen=True)
class Rows:
    """One of WD's tables, every record divided by its own length: no gradient of logistic loss is then longer than G = 1.

    Parameters
    ----------
    name : of the table.
    x, y : (n, p) and (n,), the rows that owners hold, in random order.
    public_x, public_y : rows of nobody, on which the step is chosen.
    test_x, test_y : rows that accuracy is measured on.
    alike : (n,), the same number for the same record.
    stand_in : whether it is generated.
    """

    name: str
    x: Array = field(repr=False)
    y: Array = field(repr=False)
    public_x: Array = field(repr=False)
    public_y: Array = field(repr=False)
    test_x: Array = field(repr=False)
    test_y: Array = field(repr=False)
    alike: NDArray[np.intp] = field(repr=False)
    stand_in: bool

    @cached_property
    def cost(self) -> RecordFitness:
        """The cost on the rows of all owners, whose best model is WD's theta*."""
        return RecordFitness(LOSS, ((self.x, self.y),), RIDGE)


def rows_of(name: str, setting: Setting) -> Rows:
    """A table, divided by chance into rows of owners and test rows; made once in a process.

    Raises
    ------
    NotPossible
        If there is a folder of data and the table is not in it.
    """
    return _rows(name, setting.data, setting.quick)


def there(names: Sequence[str], setting: Setting) -> list[Rows]:
    """Those of the tables that can be had.

    Raises
    ------
    NotPossible
        If none can.
    """
    found = []
    for name in names:
        try:
            found.append(rows_of(name, setting))
        except NotPossible as error:
            why = error
    if not found:
        raise why
    return found


@cache
def _rows(name: str, data: Path | None, quick: bool) -> Rows:
    setting = Setting(data, quick)
    read = table(name, setting)
    order = setting.streams("weighted").rng("rows", name).permutation(read.n_records)
    x, y = of_norm_one(read.x[order]), read.y[order]
    trained = len(y) - round(TESTED * len(y))
    _, alike = np.unique(np.column_stack([x, y])[:trained], axis=0, return_inverse=True)
    own, test = slice(trained), slice(trained, None)
    public = of_norm_one(read.public_x), read.public_y
    return Rows(name, x[own], y[own], *public, x[test], y[test], alike.ravel(), read.stand_in)


def of_norm_one(x: Array) -> Array:
    """Every row divided by its own length, which takes no look at any other row.

    >>> of_norm_one(np.array([[3.0, 4.0], [0.0, 2.0]])).tolist()
    [[0.6, 0.8], [0.0, 1.0]]
    """
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def random_sizes(total: int, owners: int, *, rng: np.random.Generator) -> list[int]:
    """Records of owners of random size: a quarter of an equal share each, and the rest cut at random places.

    >>> sizes = random_sizes(1000, 4, rng=np.random.default_rng(1))
    >>> sum(sizes), min(sizes) >= 62
    (1000, True)
    """
    least = int(LEAST * total / owners)
    cuts = np.sort(rng.integers(0, total - owners * least + 1, owners - 1))
    return (least + np.diff(cuts, prepend=0, append=total - owners * least)).tolist()


def two_groups(total: int, owners: int, skew: float) -> list[int]:
    """Records of owners in two groups of as many owners, each of the one with ``skew`` times the records of the other.

    >>> two_groups(1000, 4, 4)
    [400, 400, 100, 100]
    """
    small = int(2 * total / (owners * (1 + skew)))
    return [int(skew * small)] * (owners // 2) + [small] * (owners - owners // 2)
