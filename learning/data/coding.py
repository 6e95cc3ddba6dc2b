"""Texts as numbers, and principal components: what scikit-learn does, without the second that loading it takes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy
from numpy.typing import NDArray

from learning.arrays import Array


@dataclass(frozen=True)
class CategoryCoder:
    """Columns of texts as numbers: a column for each category but the first, or the place among them.

    Parameters
    ----------
    names : names of the columns, (k,).
    categories : for each column, its categories in order; a text that is none of them is coded by zeros, or by -1.
    places : whether a text becomes its place, and not a column of its own.

    >>> CategoryCoder(("kind",), (np.array(["a", "b", "c"]),)).code(np.array([["c"], ["a"], ["z"]], dtype=object))
    array([[0., 1.],
           [0., 0.],
           [0., 0.]])
    """

    names: tuple[str, ...]
    categories: tuple[NDArray, ...] = field(repr=False)
    places: bool = False

    @classmethod
    def of(cls, names: tuple[str, ...], texts: NDArray, places: bool) -> CategoryCoder:
        """The coder whose categories are those of some texts (n, k)."""
        return cls(names, tuple(np.unique(column) for column in texts.T), places)

    @property
    def coded_names(self) -> tuple[str, ...]:
        """The names of the coded columns (d,)."""
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

    def code(self, texts: NDArray) -> Array:
        """Texts (n, k) as numbers (n, d)."""
        coded = [self._code(column, categories) for column, categories in zip(texts.T, self.categories, strict=True)]
        return np.column_stack([np.empty((len(texts), 0)), *coded])

    def unseen(self, texts: NDArray) -> int:
        """How many of the texts (n, k) are none of the categories."""
        columns = zip(texts.T, self.categories, strict=True)
        return sum(int((_places(column, categories) < 0).sum()) for column, categories in columns)

    def _code(self, texts: NDArray, categories: NDArray) -> Array:
        at = _places(texts, categories)
        return at if self.places else (at[:, None] == np.arange(1, len(categories))).astype(float)


def _places(texts: NDArray, categories: NDArray) -> Array:
    """Where each text (n,) stands among its categories, from 0; -1 where it is none of them."""
    place = {one: at for at, one in enumerate(categories.tolist())}
    return np.array([place.get(text, -1) for text in texts.tolist()], dtype=float)


def principal_axes(x: Array, count: int) -> Array:
    """Directions in which rows (n, d) vary most, (count, d), the largest entry of each above 0."""
    axes = scipy.linalg.svd(x - x.mean(axis=0), full_matrices=False)[2]
    largest = np.argmax(np.abs(axes), axis=1)
    return np.asarray(axes * np.sign(axes[np.arange(len(axes)), largest])[:, None])[:count]
