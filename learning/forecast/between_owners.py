"""How far owners lie apart in kind, as far as public rows that carry their names show it, before anything is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.forecast.homogeneity import DRAWS, Homogeneity

SIGNIFICANT = 0.05  # p-value up to which owners are said to differ
CHANCE = 0.25  # p-value above which what is seen is taken for chance: to miss kinds costs more than to weigh by records


@dataclass(frozen=True)
class BetweenOwners:
    """How far the owners' mean gradients lie apart, by public rows that carry their names.

    Parameters
    ----------
    test : of the hypothesis that rows are alike whoever's they are.
    ratio : variance of the owners' means over that of a record, 0 where chance explains what is seen (`CHANCE`).
    ratios : array (draws,), what the ratio may be, by what F is by chance.
    rows : array (n_owners,), public rows of each owner.
    means : array (n_owners, p), their mean gradient less that of all, in units of a record's spread; 0 without rows.
    """

    test: Homogeneity
    ratio: float
    ratios: Array = field(repr=False)
    rows: Array = field(repr=False)
    means: Array = field(repr=False)

    @property
    def differ(self) -> bool:
        """Whether owners are said to differ in kind."""
        return self.test.p_value <= SIGNIFICANT

    @property
    def by_names(self) -> bool:
        """Whether public rows with the owners' names told so; else the owners' loss reports did."""
        return bool(self.rows.any())

    def shifts(self, away: Array, count: int, *, rng: np.random.Generator) -> Array:
        """What |sum_l away_l g_l|^2 may be, g the owners' mean gradients, in units of a record's variance: (count,) draws.

        The ratio is as uncertain as the permutations leave it. In every other draw the owners' means then vary by it,
        independently of each other and of the weights; in the others, since owners who weigh little may well be of one kind,
        they are what their own rows suggest, shrunk by their number (normal prior of that ratio).

        Parameters
        ----------
        away : array (n_owners,), weights less shares of the records.
        count : number of draws.
        rng : of the draws.
        """
        ratio, width = rng.choice(self.ratios, count)[:, None], self.means.shape[1]
        seen = self.rows > 0  # of thousands of owners, few
        kept = ratio * self.rows[seen] / (ratio * self.rows[seen] + 1)
        kept[::2] = 0.0
        doubt = ratio * (away @ away - kept @ away[seen, None] ** 2) / width
        drawn = (kept * away[seen]) @ self.means[seen] + np.sqrt(doubt) * rng.standard_normal((count, width))
        return np.asarray(np.sum(drawn**2, axis=1))


def between_owners(
    gradients: Array, owner: NDArray[np.str_], names: Sequence[str], *, rng: np.random.Generator
) -> BetweenOwners | None:
    """One-way analysis of variance of the public rows' gradients by owner; None where fewer than two owners are in them.

        F = (between mean square)/(within mean square),    ratio = (F - 1)/m_0,    m_0 = (m - sum m_l^2/m)/(k - 1),

    summed over coordinates. What F is by chance is told by permuting the names: exact, whatever the tails. Few rows have
    little power: 275 rows of 84 hospitals do not show that a hospital's mean lies apart by a fifth of a record's spread.

    Parameters
    ----------
    gradients : array (m, p), of the public rows.
    owner : array (m,), whose each row is.
    names : the owners in the market; rows of others are left out.
    rng : of the permutations.

    Source: Fisher's analysis of variance, by permutation; the method of moments for its component of variance; Bancroft
    (1964) on the level of a test before pooling.
    """
    known = np.isin(owner, list(names))
    order = np.argsort(owner[known], kind="stable")
    rows = gradients[known][order]
    present, first, counts = np.unique(owner[known][order], return_index=True, return_counts=True)
    groups, count = len(first), len(rows)
    if groups < 2 or count <= groups:
        return None
    rows = rows - rows.mean(axis=0)
    whole = float(np.sum(rows**2))

    def ratio_of_squares(some: Array) -> float:
        between = float(np.sum(np.add.reduceat(some, first) ** 2 / counts[:, None]))
        return between / (groups - 1) / max((whole - between) / (count - groups), 1e-300)

    found = ratio_of_squares(rows)
    null = np.array([ratio_of_squares(rows[rng.permutation(count)]) for _ in range(DRAWS)])
    p_value = float((1 + np.count_nonzero(null >= found)) / (1 + DRAWS))
    each = (count - float(np.sum(counts**2)) / count) / (groups - 1)
    ratios = np.maximum(found / null - 1, 0.0) / each
    test = Homogeneity(found, (groups - 1) * rows.shape[1], p_value)
    sums, places = np.add.reduceat(rows, first), [list(names).index(name) for name in present]
    held, means = np.zeros(len(names)), np.zeros((len(names), rows.shape[1]))
    within = (whole - float(np.sum(sums**2 / counts[:, None]))) / (count - groups)
    held[places], means[places] = counts, sums / counts[:, None] / np.sqrt(max(within, 1e-300))
    ratio = max(0.0, (found - 1) / each) if p_value <= CHANCE else 0.0
    return BetweenOwners(test, ratio, ratios, held, means)
