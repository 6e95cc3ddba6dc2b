"""Competition: several learners buy from the same owners, whose budgets add up."""

from market.competition.market import Competition, Learner
from market.competition.solver import solve_competition

__all__ = ["Competition", "Learner", "solve_competition"]
