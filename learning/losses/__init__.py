"""Losses: value, gradient, curvature and bounds of each, the coordinates they are trained in, and the best model."""

from learning.losses.coordinates import Coordinates
from learning.losses.loss import Loss
from learning.losses.losses import LOSSES, make_loss

__all__ = ["LOSSES", "Coordinates", "Loss", "make_loss"]
