"""Bounds of second moments that are released with scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learning.arrays import Array


@dataclass(frozen=True)
class Scores:
    """Bounds of a release of sum xx' and of scores sum ux, u = y - centre'x, in the coordinates.

    Under a loss of labels x and u are those of `Loss.working_records`, to which the same bounds
    apply: a record's score lies along its moments' direction, whatever the loss, and that is all
    that `noise_stretch` and `distance_frontier` rest on.

    A record's second moments are held to |x|_2^2 <= R^2, R the radius of the coordinates, its score
    to |u x|_2 <= h. With ``alike`` a record counts w = min(1, R^2/|x|^2, h/|u x|), in w xx' and in
    w u x, so that moments and scores stay those of one weighted least-squares problem. Otherwise
    each is bounded by itself: clipped moments with an unclipped score make steps too long, the
    reverse makes them too short.

    Parameters
    ----------
    bound : h, above 0.
    share : t > 0, of the noise: that on sum xx' has R^2/(2 h t) times the deviation of that on sum
        ux. Small: little is spent on the moments.
    alike : whether a record has one weight in both.

    Source: ours. Weights that fall with leverage and with residual: Mallows and Schweppe weights of
        bounded-influence regression (Krasker and Welsch, Efficient Bounded-Influence Regression
        Estimation).
    """

    bound: float
    share: float
    alike: bool = True

    def joint_bound(self, targets: int) -> float:
        """Bound on the scores of a record's rows for several targets together, h sqrt(k).

        The proof is beside `learning.losses.statistics.share_moments`.
        """
        return float(self.bound * np.sqrt(targets))

    def records(self, x: Array, u: Array, lengths: Array, radius: float) -> tuple[Array, Array]:
        """Bound records (..., n, p) of given lengths and targets (..., n) for plain sums xx', ux.

        >>> x, u = np.array([[3.0, 4.0]]), np.array([2.0])
        >>> x, u = Scores(1.0, 0.5).records(x, u, np.array([5.0]), 1.0)
        >>> (x.T @ x).round(6).tolist(), (u @ x).round(6).tolist()
        ([[0.36, 0.48], [0.48, 0.64]], [0.24, 0.32])
        """
        with np.errstate(over="ignore", invalid="ignore"):  # of lengths that overflow
            score = lengths * np.abs(u)
        # of a record whose length overflows nothing is left, and no number that is none
        held = np.divide(self.bound, score, out=np.ones_like(score), where=score > self.bound)
        short = np.divide(radius, lengths, out=np.ones_like(lengths), where=lengths > radius)
        if self.alike:
            kept = np.sqrt(np.minimum(short**2, held))
            return x * kept[..., None], np.multiply(
                u, kept, out=np.zeros_like(score), where=kept > 0
            )
        kept = np.multiply(u, held, out=np.zeros_like(score), where=held > 0)
        left = np.divide(kept, short, out=np.zeros_like(score), where=short > 0)
        return x * short[..., None], left


def noise_stretch(share: float) -> float:
    """Factor on Gaussian noise on scores for second moments released in the same query.

    Let t be the share. The vector (sum ux, (2 h t/R^2) sum xx') moves by at most 2 h stretch(t) in
    2-norm when one record is replaced; the score alone moves by 2 h, and sum xx' alone by sqrt(2)
    R^2: two semi-definite matrices of norm R^2 are furthest apart when they are orthogonal.
    stretch^2 is 1 + t^2, or (2t + 1/(4t))^2/2 where that is more, from t = 0.653. No pair is worst
    for both parts: two budgets would pay for 1 + 2 t^2.

    Proof. Let the records be x and z of lengths r, s <= R with |cosine| a. Their scores lie along
    them, each of length h at most, so the scores' squared distance is at most 2 h^2 (1 + a). That
    of the moments is r^4 + s^4 - 2 r^2 s^2 a^2, convex in (r^2, s^2) and so largest at a corner:
    R^4 max(1, 2(1 - a^2)) (a corner with one record of length almost 0: its score is h all the
    same). In units of 4 h^2 the sum is at most (1 + a)/2 + t^2 max(1, 2 (1 - a^2)). The first is
    largest at a = 1, opposite scores of a long record and a short one: 1 + t^2. The second, (1 +
    a)/2 + 2 t^2 (1 - a^2), at a = 1/(8 t^2), or at a = 1 where that is beyond 1: 2 t^2 (1 + 1/(8
    t^2))^2, or 1. For p = 1 it is an upper bound.

    Source: ours.

    >>> round(noise_stretch(1.0) ** 2, 12)
    2.53125
    """
    angled = (2 * share + 1 / (4 * share)) ** 2 / 2 if 8 * share**2 >= 1 else 1.0
    return float(np.sqrt(max(1 + share**2, angled)))


def distance_frontier(pairs: int) -> Array:
    """Pairs (score, moments), (pairs, 2), one of which bounds both distances of any two records.

    This holds of single records: the set is not convex, so that distances of two sums over several
    may lie between the pairs. Units are 2 h for scores and R^2 for moments. By the proof of
    `noise_stretch` two records lie at most (sqrt((1 + a)/2), sqrt(max(1, 2 (1 - a^2)))) apart for
    some a in [0, 1]. (1, 1) covers all a from 1/sqrt(2). As the first grows with a and the second
    falls, the ends of intervals of a cover the rest.

    >>> distance_frontier(3).round(3)
    array([[1.   , 1.   ],
           [0.823, 1.414],
           [0.924, 1.323]])
    """
    a = np.linspace(0.0, np.sqrt(0.5), pairs)
    below = np.column_stack([np.sqrt((1 + a[1:]) / 2), np.sqrt(2 * (1 - a[:-1] ** 2))])
    return np.vstack([[1.0, 1.0], below])
