"""Competition: several learners buy from the same owners, whose budgets add up."""

from market.competition.market import Competition, Learner
from market.competition.price_competition import PriceCompetition, compete
from market.competition.solver import solve_competition

__all__ = ["Competition", "Learner", "PriceCompetition", "compete", "solve_competition"]
