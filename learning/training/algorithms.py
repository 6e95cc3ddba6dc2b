"""The training algorithms, by the names that scenario files use."""

from __future__ import annotations

from learning.training.adassp import AdaSSP
from learning.training.algorithm import Algorithm
from learning.training.asynchronous import Asynchronous
from learning.training.averaged import Averaged
from learning.training.one_step import OneStep
from learning.training.sgd1 import SGD1
from learning.training.sgd2 import SGD2
from learning.training.synchronous import Synchronous
from learning.training.weighted import Weighted

DEFAULT = Averaged.name  # where a scenario names none
ALGORITHMS: dict[str, Algorithm] = {
    one.name: one
    for one in (Synchronous(), Averaged(), Asynchronous(), SGD1(), SGD2(), Weighted(), AdaSSP(), OneStep())
}


def compared() -> list[str]:
    """The algorithms that ``learning.algorithm = "best"`` compares."""
    return [name for name, one in ALGORITHMS.items() if one.compared]
