"""Equilibria of a game: orders of moves, solvers, certificates and diagnostics."""

from market.equilibrium.activation import ACTIVATIONS
from market.equilibrium.solver import Equilibrium, certify, solve

__all__ = ["ACTIVATIONS", "Equilibrium", "certify", "solve"]
