"""Noise on second moments: the difference of two Wishart matrices, pure DP in trace norm.

With A and B independent Wishart matrices of p columns, nu >= p + 1 degrees of freedom and scale b,
A = b sum g g' over nu standard Gaussian vectors g, the noise on sum xx' is D = A - B. For p = 1 and
nu = 2 that is Laplace noise. A shift S of the sums costs at most |S|_1/(2 b), |S|_1 the sum of
absolute eigenvalues.

Proof. The density of A is q(A) ~ det(A)^((nu - p - 1)/2) exp(-tr A/(2 b)) on positive definite A,
and that of D is f(D) = int q(B + D) q(B) dB. Let S = P - M with positive semi-definite P and M, so
that |S|_1 = tr P + tr M. As det(A + P) >= det(A), q(A + P) >= exp(-tr P/(2 b)) q(A). With B = C +
M,

    f(D + S) = int q(C + D + P) q(C + M) dC >= exp(-(tr P + tr M)/(2 b)) f(D),

where C runs over at least all matrices that B ran over in f(D). With -S in place of S the bound
holds the other way round.

The covariance is that of symmetric Gaussian noise: 4 nu b^2 on the diagonal, half of it off the
diagonal, and entries are uncorrelated. At one epsilon the variance grows as p, that of l2 noise on
the p (p + 1)/2 numbers of the matrix as p^2/2: one record moves sums of xx' by rank one, which the
2-norm of all numbers does not see.

Source: ours. Wishart noise on second moments, by itself not private since it has one sign: Jiang,
    Xie and Zhang, Wishart Mechanism for Differentially Private Principal Components Analysis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from learning.arrays import Array
from learning.declaration import Count
from learning.privacy.l2 import L2
from learning.privacy.mechanism import NoiseSettings
from learning.privacy.noise import NoiseLaw

ALONE = np.pi / 6  # angle up to which a long record and a short one move moments furthest


above_diagonal = lru_cache(maxsize=64)(partial(np.triu_indices, k=1))  # of a square, by its width


def draw_wishart_difference(width: int, freedom: int, *, rng: np.random.Generator) -> Array:
    """Draw A - B of scale 1, (width, width)."""
    columns = rng.standard_normal((2, width, freedom))
    both = columns @ columns.swapaxes(1, 2)
    return np.asarray(both[0] - both[1])


def wishart_deviation(freedom: int) -> float:
    """Standard deviation 2 sqrt(nu) of a diagonal entry at scale 1; off it smaller by sqrt(2)."""
    return float(2 * np.sqrt(freedom))


def trace_frontier(pairs: int) -> Array:
    """Pairs (score, moments), (pairs, 2), one of which bounds both distances of any two records.

    In units of 2 h for scores, and of 2 R^2 in trace norm for moments. Records x and z at an angle
    g, of lengths r, t <= R, have scores along them, at most h long, hence cos(g/2) apart at most.
    The eigenvalues of xx' - zz' give |xx' - zz'|_1^2 = r^4 + t^4 - 2 r^2 t^2 cos(2 g), which is
    convex in (r^2, t^2) and so largest at a corner: max(1/2, sin g) in these units. (1, 1/2) covers
    angles up to 30 degrees. Beyond, the first falls with g and the second grows, so the ends of
    intervals cover the rest. This holds of single records, not of sums over several.

    >>> trace_frontier(3).round(3)
    array([[1.   , 0.5  ],
           [0.966, 0.866],
           [0.866, 1.   ]])
    """
    angle = np.linspace(ALONE, np.pi / 2, pairs)
    beyond = np.column_stack([np.cos(angle[:-1] / 2), np.sin(angle[1:])])
    return np.vstack([[1.0, 0.5], beyond])


@dataclass(frozen=True)
class Wishart(L2):
    """L2 noise on scores and Wishart noise on second moments, released together: pure epsilon-DP.

    Records move scores by 2 h D and moments by 2 R^2 E in trace norm, at most, for one of the pairs
    (D, E) of `trace_frontier`. Noise of scale b on scores and B on moments spends the largest 2 h
    D/b + R^2 E/B.

    Parameters
    ----------
    width: p.
    overlap: kappa >= 1, the owners one record may sit with; each spends epsilon/kappa.
    pairs: the ratios of scores and moments, over that of scores alone, at each pair.
    makers: the most owners that may make the noise together. Each then draws whole columns of A and
        B, so that nu may be larger than p + 1.

    Source: ours.

    >>> Wishart(10).with_moments(0.3).total_ratio < L2(10).with_moments(0.3).total_ratio
    True
    """

    name = "wishart"
    title = "Wishart noise"
    widens = False
    draw_further = NoiseLaw.draw_further

    makers: Count = 1

    @classmethod
    def suits_settings(cls, settings: NoiseSettings) -> bool:
        """Check that owners release second moments with their scores."""
        return settings.moments

    def release_budget(self, epsilon: float, horizon: int) -> float | None:
        """None: no exact sampler is known."""
        return None

    @property
    def freedom(self) -> int:
        """Degrees of freedom nu that are priced: p + 1, or the most that so many makers draw."""
        return max(count * self.columns_of(count) for count in range(1, self.makers + 1))

    def columns_of(self, parts: int) -> int:
        """Columns that each of ``parts`` makers draws, so that all have p + 1 or more."""
        return -(-(self.width + 1) // parts)

    def made_by(self, owners: int) -> Any:
        """Price the noise for up to so many owners who make it together."""
        return replace(self, makers=owners)

    def with_moments(self, share: float, rows: int = 1, part: float = 1.0) -> Any:
        """Price the mechanism for scores with l2 noise and second moments with Wishart noise.

        Noise on moments whose deviation, on the diagonal, is R^2/(2 h t) of that on a score, t the
        share, has a ratio R^2/b of 2 t sqrt(nu/(p + 1)) times the score's, 2 h/b.
        """
        moments = self.width * (self.width + 1) // 2
        factor = part * share * wishart_deviation(self.freedom) / np.sqrt(self.unit_variance)
        distances = np.ones((1, 2))
        if self.overlap == rows == part == 1:
            distances = trace_frontier(self.choices)
        pairs = tuple(((float(s), self.width), (float(m * factor), moments)) for s, m in distances)
        return replace(self, pairs=pairs)

    def draw_release(self, widths: Sequence[int], *, rng: np.random.Generator) -> Array:
        """Draw noise of variance 1: on a score, and on moments (diagonal, sqrt(2) times above)."""
        if not self.pairs:
            return super().draw_release(widths, rng=rng)
        on_score = self.draw(1 / np.sqrt(self.unit_variance), (self.width,), rng=rng)
        return np.concatenate([on_score, self._draw_moments(1, rng)])

    def draw_release_part(
        self, parts: int, widths: Sequence[int], *, rng: np.random.Generator
    ) -> Array:
        """Draw one owner's part, with some columns of A and of B.

        Raises
        ------
        ValueError
            If more owners make the noise than it is priced for.
        """
        if parts > self.makers:
            raise ValueError(f"noise priced for {self.makers} makers cannot have {parts}")
        scale = np.sqrt(parts / self.unit_variance)
        on_score = self.draw_part(parts, scale, (self.width,), rng=rng)
        return np.concatenate([on_score, self._draw_moments(parts, rng)])

    def _draw_moments(self, parts: int, rng: np.random.Generator) -> Array:
        """Draw numbers of variance 1: the diagonal, and sqrt(2) times those above it."""
        columns = self.columns_of(parts)
        matrix = draw_wishart_difference(self.width, columns, rng=rng) / wishart_deviation(columns)
        above = np.sqrt(2) * matrix[above_diagonal(self.width)]
        return np.concatenate([np.diagonal(matrix), above])
