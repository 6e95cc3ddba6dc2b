"""The game: its owners, what they look at before they choose, best responses, regret."""

from market.game.deviations import Deviations
from market.game.forecast import Forecast
from market.game.game import Game
from market.game.owners import Owners

__all__ = ["Deviations", "Forecast", "Game", "Owners"]
