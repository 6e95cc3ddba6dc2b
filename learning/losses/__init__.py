"""Losses: value, gradient, curvature, bounds and best model of each; coordinates of training."""

from learning.lazy import lazy_names

__getattr__ = lazy_names(
    __name__,
    {"coordinates": ("Coordinates",), "loss": ("Loss",), "losses": ("LOSSES", "make_loss")},
)
