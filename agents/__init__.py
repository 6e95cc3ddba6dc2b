"""The market as a Mesa model: data owners who choose, a learner who pays, a model that orders their moves."""

from agents.behaviours import BEHAVIOURS, Behaviour
from agents.learner import Learner
from agents.model import DataMarket
from agents.owner import DataOwner

__all__ = ["BEHAVIOURS", "Behaviour", "DataMarket", "DataOwner", "Learner"]
