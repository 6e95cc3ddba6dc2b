"""Forecasts: what the learner knows before it asks, how good the model will be, and how far that may be off."""

from learning.forecast.fitness import FitnessForecast, forecast
from learning.forecast.inputs import PlanningInputs, PublicOwners
from learning.forecast.planner import Decomposition, Planner
from learning.forecast.planning import make_planner
from learning.forecast.pooled import PooledRecords
from learning.forecast.public_sample import PublicSample
from learning.forecast.settings import Settings

__all__ = [
    "Decomposition",
    "FitnessForecast",
    "Planner",
    "PlanningInputs",
    "PooledRecords",
    "PublicOwners",
    "PublicSample",
    "Settings",
    "forecast",
    "make_planner",
]
