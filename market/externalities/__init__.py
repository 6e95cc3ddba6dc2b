"""Externalities: correlated owners, whose sales leak about each other, and the model as a public good."""

from market.externalities.correlated_loss import CorrelatedLoss, welfare_after_loss
from market.externalities.correlation import Correlated, extreme_sets, purchase, selling_equilibria
from market.externalities.public_good import PublicGood, public_good, solve_public_good
from market.externalities.spillover import Externalities, Spillover, spilling

__all__ = [
    "Correlated",
    "CorrelatedLoss",
    "Externalities",
    "PublicGood",
    "Spillover",
    "extreme_sets",
    "public_good",
    "purchase",
    "selling_equilibria",
    "solve_public_good",
    "spilling",
    "welfare_after_loss",
]
