"""Records for releases of second moments and scores, both bounded record by record."""

from __future__ import annotations

import numpy as np

from learning.arrays import Array


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

    >>> round(noise_stretch(0.5) ** 2, 12), round(noise_stretch(1.0) ** 2, 12)
    (1.25, 2.53125)
    """
    angled = (2 * share + 1 / (4 * share)) ** 2 / 2 if 8 * share**2 >= 1 else 1.0
    return float(np.sqrt(max(1 + share**2, angled)))


def distance_frontier(pairs: int) -> Array:
    """Pairs (score, moments), (pairs, 2), one of which bounds both distances of any two records.

    For one record each: sums over several may lie between the pairs, which are not convex.

    In units of 2 h for scores and R^2 for moments. By the proof of `noise_stretch` two records lie
    at most (sqrt((1 + a)/2), sqrt(max(1, 2 (1 - a^2)))) apart for some a in [0, 1]: (1, 1) covers
    all a from 1/sqrt(2), and as the first grows with a and the second falls, the ends of intervals
    of a cover the rest.

    >>> distance_frontier(3).round(3)
    array([[1.   , 1.   ],
           [0.823, 1.414],
           [0.924, 1.323]])
    """
    a = np.linspace(0.0, np.sqrt(0.5), pairs)
    below = np.column_stack([np.sqrt((1 + a[1:]) / 2), np.sqrt(2 * (1 - a[:-1] ** 2))])
    return np.vstack([[1.0, 1.0], below])
