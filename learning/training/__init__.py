"""Training: plans, the exact law of descent, clients, algorithms and baselines."""

from learning.training.algorithms import ALGORITHMS, Algorithm
from learning.training.client import Client, make_clients
from learning.training.clocks import Clocks
from learning.training.engine import train
from learning.training.plan import Plan
from learning.training.task import Task, Trajectory

__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "Client",
    "Clocks",
    "Plan",
    "Task",
    "Trajectory",
    "make_clients",
    "train",
]
