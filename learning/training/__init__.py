"""Training: plans, the exact law of descent, clients, algorithms and baselines.

task, plan, engine: what is trained, by which schedule, and the one entry point
client, conduct, clocks: the owners' side: noise and answers, how honest they are, when they talk
algorithms: the interface and the table; descent, weighted, asynchronous, sgd1 (lots), adassp
aggregation: the answers of a round as one gradient
law, bounds: the exact law of descent; theorems of the papers
paths, baselines, model: watchers; trainings to compare with; the model to hand over
"""

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
