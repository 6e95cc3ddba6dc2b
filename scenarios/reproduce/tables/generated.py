"""Stand-ins for published tables: generated columns of the same kinds, sizes, tails, balance and correlation.

A stand-in is no data. It lets the book be computed where the tables are not, and it is marked on every figure. Its columns
move with a few common factors, as those of the tables do; each has the kind and the spread of its model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from learning.arrays import Array
from learning.data.encoding import Columns
from learning.randomness import Streams

Kind = Callable[[Array], np.ndarray]  # standard normal values (n,) -> cells (n,)
FACTORS = 3
SHARED = 0.5  # share of a column's variance that the factors explain
SEED = 1  # stand-ins, like tables, do not change with the seed of the book


def number(mean: float, spread: float, low: float = -np.inf, high: float = np.inf) -> Kind:
    """Normal numbers within limits."""
    return lambda z: np.clip(mean + spread * z, low, high)


def amount(median: float, spread: float) -> Kind:
    """Sums of money and the like, whose logarithm is normal: the tail is heavy."""
    return lambda z: np.round(median * np.exp(spread * z), 2)


def count(median: float, spread: float) -> Kind:
    """Whole numbers with a heavy tail; below a median of one, most are zero."""
    return lambda z: np.floor(median * np.exp(spread * z))


def kinds(**shares: float) -> Kind:
    """Texts, each with its share of the rows; an underscore in a name stands for a blank."""
    names = np.array([name.replace("_", " ") for name in shares], dtype=object)
    ends = np.cumsum(list(shares.values()))[:-1]
    return lambda z: names[np.searchsorted(ends, ndtr(z))]


def places(how_many: int) -> Kind:
    """Texts of a column with many categories, the first ones the commonest."""
    names = np.array([f"{place:03d}" for place in range(how_many)], dtype=object)
    return lambda z: names[np.minimum((ndtr(z) ** 2 * how_many).astype(int), how_many - 1)]


@dataclass(frozen=True)
class Shape:
    """What a stand-in has in common with its model.

    Parameters
    ----------
    features : name -> kind of each column.
    target : name and kind of the column to predict; of standard normal values that the features explain in part.
    explained : share of their variance that is linear in what lies behind the features.
    """

    features: Mapping[str, Kind]
    target: tuple[str, Kind]
    explained: float


def generated(name: str, shape: Shape, n_rows: int, owner: np.ndarray | None = None, unlike: float = 0.0) -> Columns:
    """Columns of a stand-in.

    Parameters
    ----------
    name : of the table: its randomness.
    shape : its columns.
    n_rows : how many rows.
    owner : (n_rows,), whose each row is, where owners differ in kind.
    unlike : standard deviation between owners of a factor, and of what an owner's targets have of their own.
    """
    streams = Streams(SEED, f"stand-in {name}")
    d = len(shape.features)
    factors = streams.rng("factors").standard_normal((FACTORS, n_rows))
    target, kind = shape.target
    own = 0.0
    if owner is not None:
        between = unlike * streams.rng("owners").standard_normal((FACTORS + 1, int(owner.max()) + 1))
        factors += between[:-1, owner]
        own = between[-1, owner]
    loadings, slopes = (streams.rng(key).standard_normal((d, n)) for key, n in (("loadings", FACTORS), ("slopes", 1)))
    loadings *= np.sqrt(SHARED / (loadings**2).sum(axis=1, keepdims=True))
    slopes /= np.sqrt(((loadings.T @ slopes) ** 2).sum() + (1 - SHARED) * (slopes**2).sum())  # variance 1 in all
    columns: dict[str, np.ndarray] = {}
    behind = np.sqrt(1 - shape.explained) * streams.rng("target").standard_normal(n_rows) + own
    for place, (feature, cells) in enumerate(shape.features.items()):
        z = loadings[place] @ factors
        z += np.sqrt(1 - SHARED) * streams.rng("column", place).standard_normal(n_rows)
        behind += np.sqrt(shape.explained) * slopes[place, 0] * z
        columns[feature] = cells(z)
    return {**columns, target: kind(behind)}


def labels(share: float) -> Kind:
    """Labels -1 and +1, a share of which are +1, the largest."""
    return lambda z: np.where(z > np.quantile(z, 1 - share), 1.0, -1.0)
