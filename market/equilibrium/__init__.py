"""Equilibria of a game: the orders in which owners move, the solvers, certificates, and what kind of game it is."""

from market.equilibrium.activation import ACTIVATIONS
from market.equilibrium.diagnostics import diagnose
from market.equilibrium.potential import maximise_potential
from market.equilibrium.solver import Equilibrium, certify, solve

__all__ = ["ACTIVATIONS", "Equilibrium", "certify", "diagnose", "maximise_potential", "solve"]
