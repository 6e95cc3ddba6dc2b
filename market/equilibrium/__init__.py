"""Equilibria of a game: the orders in which owners move, the solvers, certificates, and what kind of game it is."""

from market.equilibrium.activation import ACTIVATIONS, Activation
from market.equilibrium.diagnostics import Diagnosis, diagnose
from market.equilibrium.potential import maximise_potential
from market.equilibrium.solver import Equilibrium, certify, solve

__all__ = [
    "ACTIVATIONS",
    "Activation",
    "Diagnosis",
    "Equilibrium",
    "certify",
    "diagnose",
    "maximise_potential",
    "solve",
]
