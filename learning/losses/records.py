"""An owner's records as training sees them, under any loss."""

from __future__ import annotations

from learning.arrays import Array
from learning.losses.coordinates import Coordinates
from learning.losses.losses import LOSSES
from learning.losses.oracle import GradientOracle


def make_oracle(
    coordinates: Coordinates, x: Array, y: Array, *, hidden: int | None = None, one_by_one: bool = False
) -> GradientOracle:
    """One owner's records as training sees them, clipped to the announced bounds: the one pass over its data.

    Parameters
    ----------
    coordinates: the Coordinates of training, whose loss is the one trained.
    x: array (n, p), the features.
    y: array (n,), the target.
    one_by_one: whether single records will be asked for (SGD1).

    Returns
    -------
    GradientOracle: sufficient statistics for squared loss, unless records are asked for one by one.
    """
    return LOSSES[coordinates.loss].oracle(coordinates, x, y, one_by_one=one_by_one)
