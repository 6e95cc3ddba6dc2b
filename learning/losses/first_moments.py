"""Bounds of second moments that owners release beside their first clipped gradient."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learning.arrays import Array


@dataclass(frozen=True)
class Moments:
    """Bounds of second moments that owners release once, beside their first clipped gradient.

    A record counts w = min(1, R^2/|x|^2) in w xx' and in its gradient, before that is clipped, so
    that the moments are the curvature of what is trained.

    Parameters
    ----------
    radius : R, above 0.
    share : t > 0, of the noise: that on sum xx' has R^2/(c t) times the deviation of that on the
        sum of half gradients, c their radius.
    spread : standard deviation of a diagonal entry of the learner's own moments, known from its
        rows; released and own moments are averaged by their precision.
    """

    radius: float
    share: float
    spread: float
    alike: bool = True

    def shorten(self, lengths: Array) -> Array:
        """Factors that shorten records of given lengths (..., n) to the radius."""
        return self.radius / np.maximum(lengths, self.radius)

    def weights(self, lengths: Array) -> Array:
        """Weights of the gradients of records of given lengths (..., n)."""
        return self.shorten(lengths) ** 2 if self.alike else np.ones_like(lengths)
