"""Losses: value, gradient, curvature and bounds of each, the coordinates they are trained in, and the best model."""
