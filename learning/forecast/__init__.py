"""Forecasts of the model's quality before anything is asked, and their uncertainty."""

from learning.forecast.choice import make_planner
from learning.forecast.fitness import FitnessForecast, forecast_fitness
from learning.forecast.inputs import PlanningInputs, PublicOwners, Settings
from learning.forecast.planner import Decomposition, Planner
from learning.forecast.pooled import PooledRecords
from learning.forecast.public_sample import PublicSample

__all__ = [
    "Decomposition",
    "FitnessForecast",
    "Planner",
    "PlanningInputs",
    "PooledRecords",
    "PublicOwners",
    "PublicSample",
    "Settings",
    "forecast_fitness",
    "make_planner",
]
