"""The game: owners, payoffs, unilateral deviations, best responses by a global search, regret."""

from market.game.deviations import Deviations
from market.game.forecast import Forecast, NoForecast
from market.game.game import CERTIFIED, Game, relative_regret
from market.game.owners import Owners

__all__ = ["CERTIFIED", "Deviations", "Forecast", "Game", "NoForecast", "Owners", "relative_regret"]
