"""Proxies of many owners in rehearsals: those alike in noise add theirs as one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learning.arrays import Array

MOST = 32  # proxies of owners who release sums; the excess kurtosis of their noise falls as 1/32


@dataclass(frozen=True)
class Proxies:
    """Proxies of owners, and what they weigh.

    Parameters
    ----------
    weights : array (m,), q of each proxy.
    sizes : array (m,), records of each.
    shares : array (m,), noise term t of each, in the aggregate's noise: sum q^2 t = 1.
    """

    weights: Array
    sizes: Array
    shares: Array

    def merge(self, most: int = MOST) -> Proxies:
        """Merge those alike in noise into so many proxies at most.

        Proxies are ordered by their noise q^2 t in the sum, and cut where the sum of it passes 1 of
        ``most`` equal parts. A merged proxy has the weights and records of all, and one draw of
        noise with the variance of theirs. So the first two moments of the aggregate stay as they
        are, and its further ones nearly so, since many draws add up to nearly Gaussian noise.

        >>> equal = Proxies(np.full(4, 0.25), np.full(4, 30.0), np.full(4, 4.0))
        >>> merged = equal.merge(2)
        >>> merged.weights.tolist(), merged.sizes.tolist(), merged.shares.tolist()
        ([0.5, 0.5], [60.0, 60.0], [2.0, 2.0])
        """
        if len(self.weights) <= most:
            return self
        powers = self.weights**2 * self.shares
        order = np.argsort(-powers, kind="stable")
        ends = np.cumsum(powers[order])
        parts = np.empty(len(order), dtype=int)
        parts[order] = np.clip((ends - powers[order] / 2) * most, 0, most - 1)
        _, parts = np.unique(parts, return_inverse=True)
        weights, sizes, powers = (
            np.bincount(parts, one).astype(float) for one in (self.weights, self.sizes, powers)
        )
        shares = np.divide(powers, weights**2, out=np.zeros_like(powers), where=weights > 0)
        return Proxies(weights, sizes, shares)
