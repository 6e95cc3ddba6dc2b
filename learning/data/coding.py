"""Coding of texts and principal components, without the second that scikit-learn takes to load."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy
from numpy.typing import NDArray

from learning.arrays import Array


@dataclass(frozen=True)
class CategoryCoder:
    """Columns of texts as one column per category but the first, or as places among categories.

    Parameters
    ----------
    names : names of the columns, (k,).
    categories : categories of each column in order; other texts are coded by zeros, or by -1.
    places : whether a text becomes its place, and not a column of its own.

    >>> coder = CategoryCoder(("kind",), (np.array(["a", "b", "c"]),))
    >>> coder.code_texts(np.array([["c"], ["a"], ["z"]], dtype=object))
    array([[0., 1.],
           [0., 0.],
           [0., 0.]])
    """

    names: tuple[str, ...]
    categories: tuple[NDArray, ...] = field(repr=False)
    places: bool = False

    @classmethod
    def of(cls, names: tuple[str, ...], texts: NDArray, places: bool) -> CategoryCoder:
        """Make the coder with the categories of some texts (n, k)."""
        return cls(names, tuple(np.unique(column) for column in texts.T), places)

    @property
    def coded_names(self) -> tuple[str, ...]:
        """Names of the coded columns (d,)."""
        if self.places:
            return self.names
        columns = zip(self.names, self.categories, strict=True)
        return tuple(f"{name}_{one}" for name, categories in columns for one in categories[1:])

    @property
    def bound(self) -> Array:
        """Bound on the size of each coded column (d,); places run from -1 to the last category."""
        if self.places:
            return np.array([max(1.0, len(categories) - 1.0) for categories in self.categories])
        return np.ones(len(self.coded_names))

    def code_texts(self, texts: NDArray) -> Array:
        """Code texts (n, k) as numbers (n, d)."""
        coded = [np.empty((len(texts), 0))]
        for at, categories in zip(self._find_places(texts), self.categories, strict=True):
            coded.append(
                at[:, None] if self.places else at[:, None] == np.arange(1, len(categories))
            )
        return np.column_stack(coded).astype(float, copy=False)

    def count_unseen(self, texts: NDArray) -> int:
        """Count the texts (n, k) that are in no category."""
        return sum(int((at < 0).sum()) for at in self._find_places(texts))

    def _find_places(self, texts: NDArray) -> list[Array]:
        """Place of each text (n,) among its categories, from 0, or -1, for each column."""
        found = []
        for column, categories in zip(texts.T, self.categories, strict=True):
            place = {one: at for at, one in enumerate(categories.tolist())}
            found.append(np.array([place.get(text, -1) for text in column.tolist()], dtype=float))
        return found


def principal_axes(x: Array, count: int) -> Array:
    """Directions of largest variance of rows (n, d), (count, d), largest entries above 0."""
    axes = scipy.linalg.svd(x - x.mean(axis=0), full_matrices=False)[2]
    largest = np.argmax(np.abs(axes), axis=1)
    return np.asarray(axes * np.sign(axes[np.arange(len(axes)), largest])[:, None])[:count]
