"""Forecasts of the model's quality before anything is asked, and their uncertainty.

inputs, public_sample, pooled: settings, public facts and rows; all records, for the oracle basis
weighting, shared_noise: weights of the answers; those under one noise that owners make together
fitness: the forecast as a function of all budgets
law, exact_planner: plans by the exact law
rehearsal, calibration, calibrated_planner: plans by rehearsal, where no law is known; kept on disk
protocol, one_step: bounds and ball that are announced; tail: gradients longer than the rows show
choice, planner: the way to train, and the planner that is made for it
bootstrap, prediction: resampled rows; intervals
homogeneity, loss_reports, own_check: differences between owners; answers tested by the learner
measures, decisions: the model in a user's own terms
"""

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
