"""Stand-ins for published tables: generated columns of the same kinds, sizes, tails and balance.

A stand-in is no data. It allows a computation without the tables, and it is marked on every figure.
Its columns share a few common factors, as those of the tables do; each has the kind and the spread
of its model.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtr

from learning.arrays import Array
from learning.data.encoding import Columns
from learning.randomness import Streams

Kind = Callable[[Array], np.ndarray]  # standard normal values (n,) -> cells (n,)
FACTORS = 3
SHARED = 0.5  # share of a column's variance that the factors explain
SEED = 1  # of stand-ins and of orders of rows, whatever the seed of the book
TABLES = tomllib.loads((Path(__file__).parent / "tables.toml").read_text(encoding="utf-8"))


def make_numbers(
    z: Array, mean: float, spread: float, low: float = -np.inf, high: float = np.inf
) -> np.ndarray:
    """Make normal numbers within limits."""
    return np.clip(mean + spread * z, low, high)


def make_amounts(z: Array, median: float, spread: float) -> np.ndarray:
    """Make sums of money with a lognormal tail."""
    return np.round(median * np.exp(spread * z), 2)


def make_counts(
    z: Array, median: float, spread: float, low: float = 0.0, high: float = np.inf
) -> np.ndarray:
    """Make whole numbers with a heavy tail; below a median of one, most are zero."""
    return np.clip(np.floor(median * np.exp(spread * z)), low, high)


def make_grades(z: Array, median: float, spread: float, low: float, high: float) -> np.ndarray:
    """Make whole numbers within limits."""
    return np.clip(np.rint(median * np.exp(spread * z)), low, high)


def make_places(z: Array, number: int) -> np.ndarray:
    """Make texts of many categories, the first ones the commonest."""
    names = np.array([f"{place:03d}" for place in range(number)], dtype=object)
    return names[np.minimum((ndtr(z) ** 2 * number).astype(int), number - 1)]


def make_labels(z: Array, share: float) -> np.ndarray:
    """Make labels -1 and +1, a share of which are +1, the largest."""
    return np.where(z > np.quantile(z, 1 - share), 1.0, -1.0)


def make_texts(z: Array, shares: Mapping[str, float]) -> np.ndarray:
    """Make texts, each with its share of the rows."""
    names = np.array(list(shares), dtype=object)
    return names[np.searchsorted(np.cumsum(list(shares.values()))[:-1], ndtr(z))]


MAKERS: dict[str, Callable[..., np.ndarray]] = {
    "number": make_numbers,
    "amount": make_amounts,
    "count": make_counts,
    "grade": make_grades,
    "places": make_places,
    "labels": make_labels,
}


def read_kind(text: Any) -> Kind:
    """Read the kind of a column: a name with arguments, or shares of texts.

    >>> read_kind(["number", 10, 2, 0, 11])(np.array([-9.0, 0.0, 9.0]))
    array([ 0., 10., 11.])
    """
    if isinstance(text, Mapping):
        return partial(make_texts, shares=text)
    name, *arguments = text
    return lambda z: MAKERS[name](z, *arguments)


@dataclass(frozen=True)
class Shape:
    """Properties that a stand-in shares with its model.

    Parameters
    ----------
    features : name -> kind of each column.
    target : name and kind of the column to predict, a function of standard normal values that the
        features explain in part.
    explained : share of their variance that is linear in what lies behind the features.
    """

    features: Mapping[str, Kind]
    target: tuple[str, Kind]
    explained: float


def read_shape(name: str, target: str) -> Shape:
    """Shape of the stand-in of a table, from tables.toml."""
    text = TABLES[name]["stand_in"]
    features = {column: read_kind(kind) for column, kind in text["columns"].items()}
    return Shape(features, (target, read_kind(text["target"])), text["explained"])


def generate_columns(
    name: str, shape: Shape, n_rows: int, owner: np.ndarray | None = None, unlike: float = 0.0
) -> Columns:
    """Generate the columns of a stand-in.

    Parameters
    ----------
    name : name of the table: its randomness.
    shape : its columns.
    n_rows : number of rows.
    owner : (n_rows,), owner of each row, where owners differ in kind.
    unlike : standard deviation between owners of a factor, and of the owner's own part of targets.
    """
    streams = Streams(SEED, f"stand-in {name}")
    width = len(shape.features)
    factors = streams.rng("factors").standard_normal((FACTORS, n_rows))
    own = 0.0
    if owner is not None:
        size = (FACTORS + 1, int(owner.max()) + 1)
        between = unlike * streams.rng("owners").standard_normal(size)
        factors += between[:-1, owner]
        own = between[-1, owner]
    loadings = streams.rng("loadings").standard_normal((width, FACTORS))
    loadings *= np.sqrt(SHARED / (loadings**2).sum(axis=1, keepdims=True))
    slopes = streams.rng("slopes").standard_normal((width, 1))
    common = ((loadings.T @ slopes) ** 2).sum()
    slopes /= np.sqrt(common + (1 - SHARED) * (slopes**2).sum())  # variance 1 in all
    columns: dict[str, np.ndarray] = {}
    behind = np.sqrt(1 - shape.explained) * streams.rng("target").standard_normal(n_rows) + own
    for place, (feature, make_cells) in enumerate(shape.features.items()):
        z = loadings[place] @ factors
        z += np.sqrt(1 - SHARED) * streams.rng("column", place).standard_normal(n_rows)
        behind += np.sqrt(shape.explained) * slopes[place, 0] * z
        columns[feature] = make_cells(z)
    target, make_target = shape.target
    return {**columns, target: make_target(behind)}
