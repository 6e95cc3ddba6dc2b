"""Analysis: welfare, social optimum, the learner's problem, regulation, the thesis's games."""

from market.analysis.optimum import social_optimum
from market.analysis.thesis_games import thesis_game
from market.analysis.welfare import learner_surplus, welfare

__all__ = ["learner_surplus", "social_optimum", "thesis_game", "welfare"]
