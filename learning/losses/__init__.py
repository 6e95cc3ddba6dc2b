"""Losses: value, gradient, curvature, bounds and best model of each; coordinates of training."""
