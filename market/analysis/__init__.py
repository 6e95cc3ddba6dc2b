"""Analysis: welfare, the learner's problem, regulation, and the thesis's own games."""

from market.analysis.assessment import assess
from market.analysis.design import Family, best_policy
from market.analysis.frontier import compare_at_spending, frontier
from market.analysis.optimum import Optimum, price_of_anarchy, social_optimum
from market.analysis.regulation import cap_epsilon, floor_prices, tax_leakage
from market.analysis.thesis_games import thesis_game
from market.analysis.welfare import gini, learner_surplus, participation, welfare

__all__ = [
    "Family",
    "Optimum",
    "assess",
    "best_policy",
    "cap_epsilon",
    "compare_at_spending",
    "floor_prices",
    "frontier",
    "gini",
    "learner_surplus",
    "participation",
    "price_of_anarchy",
    "social_optimum",
    "tax_leakage",
    "thesis_game",
    "welfare",
]
