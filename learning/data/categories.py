"""Categories of public texts: rare ones are joined, and only those that tell something are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from learning.data.encoding import Categories
from learning.errors import InputError

FEWEST = 3  # public rows that a category, or what a column adds to others, must rest on
FEW = 20  # one in so many public rows suffices where they are few
RARE = "(rare)"  # first of the categories where rare ones are joined: coded by zeros, like others


def fit_categories(names: Sequence[str], texts: NDArray, encoding: str, least: int) -> Categories:
    """Fit the categories of public texts (n, k); those that fewer rows show than least joined."""
    if encoding not in ("onehot", "integer"):
        raise InputError("data.encoding", "must be 'onehot' or 'integer'", repr(encoding))
    if encoding == "integer":
        made = Categories(tuple(names), tuple(map(np.unique, texts.T)), True)
    else:
        made = Categories(tuple(names), tuple(join_rare(column, least) for column in texts.T))
    several = np.array([len(categories) > 1 for categories in made.categories], dtype=bool)
    return _keep_columns(made, made.categories, several)


def fewest_rows(rows: int) -> int:
    """Fewest of the public rows that tell anything.

    >>> [fewest_rows(rows) for rows in (5, 30, 100)]
    [1, 2, 3]
    """
    return min(FEWEST, -(-rows // FEW))


def fewest_that_fit(texts: NDArray, room: int) -> int:
    """Fewest rows of a category that is not joined, such that texts (n, k) need few columns.

    It is `fewest_rows` if a quarter of the rows is not enough.

    Parameters
    ----------
    room : number of columns that there may be.
    """
    rows = len(texts)
    few = fewest_rows(rows)
    counts = [np.unique(column, return_counts=True)[1] for column in texts.T]
    for least in range(few, rows // 4 + 1):
        if sum(np.count_nonzero(one >= least) for one in counts) <= room:
            return least
    return few


def join_rare(texts: NDArray, least: int) -> NDArray:
    """Categories of some texts (n,), in order, those of fewer rows than least joined.

    The first one is coded by zeros, as what is not listed is. Where any are joined, it stands for
    them, or is the commonest where they are too few together.

    >>> texts = 30 * ["b"] + 20 * ["a"] + 2 * ["c"]
    >>> join_rare(np.array([*texts, "d", "d"], dtype=object), 3).tolist()
    ['(rare)', 'a', 'b']
    >>> join_rare(np.array(texts, dtype=object), 3).tolist()
    ['b', 'a']
    """
    shown, counts = np.unique(texts, return_counts=True)
    common = counts >= least
    if common.all():
        return shown
    if counts[~common].sum() >= least:
        return np.array([RARE, *shown[common]], dtype=object)
    first = int(np.argmax(counts))
    common[first] = False
    return np.array([shown[first], *shown[common]], dtype=object)


def select_categories(categories: Categories, added: NDArray[np.bool_]) -> Categories:
    """Columns of texts of which the categories, or places, that add something (d,) are kept."""
    if categories.places:
        return _keep_columns(categories, categories.categories, added)
    left = []
    for one in categories.categories:
        count = len(one) - 1
        left.append(one[np.append(True, added[:count])])
        added = added[count:]
    return _keep_columns(categories, left, np.array([len(one) > 1 for one in left], dtype=bool))


def _keep_columns(
    made: Categories, categories: Sequence[NDArray], kept: NDArray[np.bool_]
) -> Categories:
    """Some of the columns of texts (k,), with the given categories."""
    pairs = [
        pair
        for pair, keep in zip(zip(made.names, categories, strict=True), kept, strict=True)
        if keep
    ]
    return replace(
        made, names=tuple(name for name, _ in pairs), categories=tuple(one for _, one in pairs)
    )
