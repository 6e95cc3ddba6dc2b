"""Kinds of features: coded columns as they are, as splines or bins with public knots, products,
or random features of a Gaussian kernel.

Knots, products and frequencies come from public rows alone, so that no private cell moves them.
Every feature lies within the range that its columns have, whatever cells an owner holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array

LEAST_GAP = 1e-6  # between two knots


@dataclass(frozen=True)
class Expansion:
    """Splines, bins, products and kernel features of coded columns, from public facts.

    Parameters
    ----------
    degree : degree of the polynomial on each piece; 0 for bins.
    knots : for each column of numbers its rising knots on [-1, 1], both ends among them; none
        where the column stays as it is.
    pairs : places of the two columns of each product among the coded ones.
    kept : places, among all features that these make, of those that are used.
    frequencies : array (m, d) of a kernel's random features; none where there is no kernel.
    """

    degree: int
    knots: tuple[Array, ...] = field(repr=False)
    pairs: tuple[tuple[int, int], ...] = field(repr=False)
    kept: NDArray[np.intp] = field(repr=False)
    frequencies: Array = field(default_factory=lambda: np.empty((0, 0)), repr=False)

    def encode(self, coded: Array) -> Array:
        """Make the features (n, k) of coded columns (n, d), numbers first."""
        made = [
            spline_columns(column, knots, self.degree) if len(knots) else column[:, None]
            for column, knots in zip(coded.T, self.knots, strict=False)
        ]
        made.append(coded[:, len(self.knots) :])
        made += [coded[:, one : one + 1] * coded[:, other : other + 1] for one, other in self.pairs]
        if len(self.frequencies):
            made.append(kernel_columns(coded, self.frequencies))
        return np.ascontiguousarray(np.concatenate(made, axis=1)[:, self.kept])


def read_expansion(content: Mapping[str, Any]) -> Expansion:
    """Make the expansion of a description; a KeyError or TypeError for another content."""
    return Expansion(
        content["degree"],
        tuple(np.array(knots, dtype=float) for knots in content["knots"]),
        tuple((int(one), int(other)) for one, other in content["pairs"]),
        np.array(content["kept"], dtype=np.intp),
        np.array(content.get("frequencies") or [], dtype=float),
    )


def count_columns(knots: Sequence[float] | Array, degree: int) -> int:
    """Number of features of a column of numbers: pieces + degree, or 1 without knots."""
    return len(knots) - 1 + degree if len(knots) else 1


def spline_columns(values: Array, knots: Array, degree: int) -> Array:
    """B-splines (n, pieces + degree) of values (n,) between the first and the last knot.

    They add up to 1 and lie in [0, 1]. Each row is computed by itself, so that it has the same
    bits whichever rows are coded with it.

    Source: de Boor, A Practical Guide to Splines, IX (14), with every end knot repeated.

    >>> spline_columns(np.array([-1.0, 0.0, 1.0]), np.array([-1.0, 0.0, 1.0]), 1).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    >>> spline_columns(np.array([-1.0, 0.0, 1.0]), np.array([-1.0, 0.0, 1.0]), 0).tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    """
    inner = len(knots) - 1
    piece = np.clip(np.searchsorted(knots, values, side="right") - 1, 0, inner - 1)
    full = np.concatenate([np.repeat(knots[0], degree), knots, np.repeat(knots[-1], degree)])
    made = np.zeros((len(values), inner + 2 * degree))
    made[np.arange(len(values)), piece + degree] = 1.0
    for order in range(1, degree + 1):
        width = inner + 2 * degree - order
        raised = np.zeros((len(values), width))
        for j in range(width):
            for place, first, sign in ((j, full[j], 1), (j + 1, full[j + order + 1], -1)):
                span = full[place + order] - full[place]
                if span > 0:
                    raised[:, j] += sign * (values - first) / span * made[:, place]
        made = raised
    return made


def kernel_columns(coded: Array, frequencies: Array) -> Array:
    """Random features (n, 2m) of rows (n, d): the cosines and sines of w'x, over sqrt(m).

    With m frequencies w drawn from N(0, I/h^2), inner products of two rows' features have the mean
    exp(-|x - x'|^2/(2 h^2)), a Gaussian kernel of width h, and a deviation of order 1/sqrt(m). Each
    row of features has the length 1. Terms of w'x are added one by one, so that a row has the same
    bits whichever rows are coded with it.

    Source: Rahimi and Recht, Random Features for Large-Scale Kernel Machines.

    >>> kernel_columns(np.array([[0.0], [2.0]]), np.array([[np.pi / 4]])).round(9).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    phase = np.zeros((len(coded), len(frequencies)))
    for column, weights in zip(coded.T, frequencies.T, strict=True):
        phase += column[:, None] * weights
    return np.concatenate([np.cos(phase), np.sin(phase)], axis=1) * len(frequencies) ** -0.5
